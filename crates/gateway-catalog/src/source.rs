use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_aggregate::{Listing, fit};
use gateway_domain::{
    DownstreamFault, DownstreamName, DownstreamSession, DownstreamState, DownstreamStatus, Error,
    OfferedTool, Tool, ToolRef,
};
use gateway_protocol::param_headers;
use gateway_registry::Manager;
use tokio::time::Instant;

use crate::{
    CatalogConfig, Source, definition,
    walk::{Bounds, Walk, walk},
    warnings::Warnings,
};

/// Gives the session that a downstream's lists are read from.
#[async_trait]
pub trait Listings: Send + Sync {
    /// The session, opened if need be.
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error>;
}

#[async_trait]
impl Listings for Manager {
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error> {
        Ok(self.listing(name).await?.session().clone())
    }
}

/// A downstream and what was last read from it.
pub(crate) struct Tracked {
    pub(crate) source: Source,
    state: Mutex<Listed>,
    /// Whether the first attempt has ended, well or not, and its tools are in the snapshot.
    settled: AtomicBool,
}

struct Listed {
    status: DownstreamStatus,
    /// The last list that could be read; kept while the downstream fails.
    tools: Vec<Arc<OfferedTool>>,
    warnings: Warnings,
}

impl Tracked {
    pub(crate) fn new(source: Source) -> Self {
        let (state, reason) = match source.enabled {
            true => (DownstreamState::Starting, None),
            false => (DownstreamState::Disabled, Some("`enabled` is false in its configuration".to_owned())),
        };
        let status = DownstreamStatus {
            name: source.name.clone(),
            state,
            reason,
            protocol: None,
            server: None,
            tools: 0,
            aliases: Vec::new(),
            dropped: Vec::new(),
            started: None,
            required: source.required,
            list_age: None,
            is_stale: false,
            sessions: gateway_domain::SessionCounts::default(),
        };
        let settled = AtomicBool::new(!source.enabled);
        Self {
            source,
            state: Mutex::new(Listed { status, tools: Vec::new(), warnings: Warnings::default() }),
            settled,
        }
    }

    pub(crate) fn status(&self) -> DownstreamStatus {
        self.state().status.clone()
    }

    pub(crate) fn tools(&self) -> Vec<Arc<OfferedTool>> {
        self.state().tools.clone()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state().status.state, DownstreamState::Ready | DownstreamState::Degraded)
    }

    /// Reads the list once and takes note of how it went.
    pub(crate) async fn refresh(&self, listings: &dyn Listings, config: &CatalogConfig) -> Result<(), Error> {
        let begun = Instant::now();
        let name = &self.source.name;
        let read = async {
            let session = listings.session(name).await?;
            // Opening has its own bound; from here the list has to come in time.
            let bounds = Bounds { pages: config.max_pages, tools: config.rules.max_tools };
            let pages = walk(name, session.as_ref(), &self.source.filter, bounds);
            let after = self.source.list_timeout;
            match tokio::time::timeout(after, pages).await {
                Ok(walked) => Ok((session.clone(), walked?)),
                Err(_) => Err(DownstreamFault::TimedOut { after }.before(name)),
            }
        };
        match read.await {
            Ok((session, walked)) => {
                self.accept(session.as_ref(), walked, begun.elapsed(), config);
                Ok(())
            }
            Err(error) => {
                self.fail(&error);
                Err(error)
            }
        }
    }

    /// Notes that the downstream cannot be used now. Its last list stays.
    fn fail(&self, error: &Error) {
        let fault = match error {
            Error::Downstream(error) => Some(&error.fault),
            _ => None,
        };
        // The downstream's name, and that it is broken, stand beside the reason wherever it is shown.
        let (is_broken, reason) = match fault {
            Some(DownstreamFault::Broken { reason, .. }) => (true, reason.clone()),
            Some(fault) => (false, fault.to_string()),
            None => (false, error.to_string()),
        };
        let kind = fault.map_or("gateway", DownstreamFault::kind);
        let mut listed = self.state();
        if listed.warnings.admits(kind, is_broken, Instant::now()) {
            tracing::warn!(downstream = %self.source.name, reason, "downstream broken");
        } else {
            tracing::debug!(downstream = %self.source.name, reason, "downstream broken");
        }
        listed.status.state = DownstreamState::Broken;
        listed.status.reason = Some(reason);
    }

    /// Notes that the gateway itself failed to read the list, which the log tells more about.
    pub(crate) fn break_off(&self, panics: u64) {
        let mut listed = self.state();
        listed.status.state = DownstreamState::Broken;
        listed.status.reason = Some(format!(
            "reading its list panicked in the gateway ({panics} times so far); please report it"
        ));
    }

    fn accept(&self, session: &dyn DownstreamSession, walk: Walk, took: Duration, config: &CatalogConfig) {
        let reason = walk.reason();
        let fitted = fit(Listing::new(self.source.name.as_str(), walk.tools), &config.rules);
        let exposed = |(alias, original): (&str, &str)| {
            (ToolRef::new(self.source.name.as_str(), alias).to_string(), original.to_owned())
        };
        let aliases: Vec<_> = fitted.report.aliases().map(exposed).collect();
        let mut dropped: Vec<_> =
            fitted.report.dropped().map(|(tool, cause)| (tool.to_owned(), cause.to_string())).collect();
        let offered: Vec<_> =
            fitted.listing.tools.into_iter().filter_map(|tool| self.offer(tool, &mut dropped)).collect();
        let mut status = self.status();
        let was_usable = matches!(status.state, DownstreamState::Ready | DownstreamState::Degraded);
        let other_names = status.aliases != aliases || status.dropped != dropped;
        let other_reason = status.reason != reason;
        status.state = if reason.is_none() { DownstreamState::Ready } else { DownstreamState::Degraded };
        status.reason = reason;
        status.protocol = Some(session.peer().protocol.clone());
        status.server = session.peer().server.clone();
        status.tools = offered.len();
        status.aliases = aliases;
        status.dropped = dropped;
        status.started.get_or_insert(took);
        if !was_usable {
            log_ready(&status, took);
        }
        if let Some(reason) = status.reason.as_ref().filter(|_| other_reason) {
            tracing::warn!(downstream = %status.name, reason, "list of tools degraded");
        }
        if other_names {
            log_names(&status);
        }
        let mut listed = self.state();
        (listed.status, listed.tools) = (status, offered);
        listed.warnings.recovered();
    }

    /// The tool with what calls to it need; `None` if it cannot be called over this transport.
    fn offer(&self, tool: Tool, dropped: &mut Vec<(String, String)>) -> Option<Arc<OfferedTool>> {
        if let Some(fault) = definition::fault(tool.definition()) {
            dropped.push((tool.original().to_string(), fault));
            return None;
        }
        let headers = match tool.input_schema().map(|schema| param_headers::find(&schema)) {
            None => Vec::new(),
            Some(Ok(headers)) => headers,
            Some(Err(error)) if self.source.mirrors_headers => {
                dropped.push((tool.original().to_string(), error.to_string()));
                return None;
            }
            Some(Err(_)) => Vec::new(),
        };
        Some(Arc::new(OfferedTool { downstream: self.source.name.clone(), tool, headers: headers.into() }))
    }

    fn state(&self) -> MutexGuard<'_, Listed> {
        // Every critical section is a few assignments.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log_ready(status: &DownstreamStatus, took: Duration) {
    let (protocol, tools, took_ms) = (status.protocol.as_deref(), status.tools, took.as_millis());
    tracing::info!(downstream = %status.name, protocol, tools, took_ms, "downstream ready");
}

/// Names are the downstream's text, so they are written with their controls escaped.
fn log_names(status: &DownstreamStatus) {
    let downstream = &status.name;
    for (alias, name) in status.aliases.iter().take(LOGGED_NAMES) {
        tracing::warn!(%downstream, alias, ?name, "tool offered under another name");
    }
    for (name, reason) in status.dropped.iter().take(LOGGED_NAMES) {
        tracing::warn!(%downstream, ?name, ?reason, "tool left out");
    }
    let more = [&status.aliases, &status.dropped].map(|names| names.len().saturating_sub(LOGGED_NAMES));
    if more != [0, 0] {
        tracing::warn!(%downstream, renamed = more[0], left_out = more[1], "more tools renamed or left out");
    }
}

/// So many aliases and so many tools left out are logged one by one; the status has them all.
const LOGGED_NAMES: usize = 20;
