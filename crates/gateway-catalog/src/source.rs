use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use gateway_aggregate::{Listing, fit};
use gateway_domain::{
    DownstreamFault, DownstreamName, DownstreamSession, DownstreamState, DownstreamStatus, Error,
    OfferedTool, Tool,
};
use gateway_protocol::param_headers;
use gateway_registry::Manager;
use tokio::time::Instant;

use crate::{CatalogConfig, Source, walk::walk};

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
}

struct Listed {
    status: DownstreamStatus,
    /// The last list that could be read; kept while the downstream fails.
    tools: Vec<Arc<OfferedTool>>,
    /// Whether the first attempt has ended, well or not.
    settled: bool,
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
        };
        let settled = !source.enabled;
        Self { source, state: Mutex::new(Listed { status, tools: Vec::new(), settled }) }
    }

    pub(crate) fn status(&self) -> DownstreamStatus {
        self.state().status.clone()
    }

    pub(crate) fn tools(&self) -> Vec<Arc<OfferedTool>> {
        self.state().tools.clone()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.state().settled
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
            let pages = walk(name, session.as_ref(), config.max_pages, config.rules.max_tools);
            match tokio::time::timeout(config.list_timeout, pages).await {
                Ok(walked) => Ok((session.clone(), walked?)),
                Err(_) => Err(DownstreamFault::TimedOut { after: config.list_timeout }.before(name)),
            }
        };
        match read.await {
            Ok((session, walked)) => {
                self.accept(session.as_ref(), walked.tools, walked.remarks, begun.elapsed(), config);
                Ok(())
            }
            Err(error) => {
                self.fail(&error.to_string());
                Err(error)
            }
        }
    }

    /// Notes that the downstream cannot be used now. Its last list stays.
    pub(crate) fn fail(&self, reason: &str) {
        let mut listed = self.state();
        if listed.status.reason.as_deref() != Some(reason) {
            tracing::warn!(downstream = %self.source.name, reason, "downstream broken");
        }
        listed.status.state = DownstreamState::Broken;
        listed.status.reason = Some(reason.to_owned());
        listed.settled = true;
    }

    fn accept(
        &self,
        session: &dyn DownstreamSession,
        tools: Vec<Tool>,
        mut remarks: Vec<String>,
        took: Duration,
        config: &CatalogConfig,
    ) {
        let name = &self.source.name;
        let admitted = tools.into_iter().filter(|tool| self.source.filter.admits(tool.original()));
        let fitted = fit(Listing::new(name.as_str(), admitted), &config.rules);
        for change in &fitted.report.changes {
            tracing::warn!(downstream = %name, "{change}");
        }
        let aliases =
            fitted.report.aliases().map(|(alias, original)| (alias.to_owned(), original.to_owned()));
        let aliases = aliases.collect();
        let mut dropped: Vec<_> =
            fitted.report.dropped().map(|(tool, cause)| (tool.to_owned(), cause.to_string())).collect();
        let offered: Vec<_> =
            fitted.listing.tools.into_iter().filter_map(|tool| self.offer(tool, &mut dropped)).collect();
        let mut listed = self.state();
        if !listed.settled || listed.status.state != DownstreamState::Ready {
            tracing::info!(
                downstream = %name, protocol = session.peer().protocol,
                tools = offered.len(), took_ms = took.as_millis(), "downstream ready"
            );
        }
        remarks.dedup();
        let status = &mut listed.status;
        status.state = if remarks.is_empty() { DownstreamState::Ready } else { DownstreamState::Degraded };
        status.reason = Some(remarks.join("; ")).filter(|reason| !reason.is_empty());
        status.protocol = Some(session.peer().protocol.clone());
        status.server = session.peer().server.clone();
        status.tools = offered.len();
        status.aliases = aliases;
        status.dropped = dropped;
        status.started.get_or_insert(took);
        listed.tools = offered;
        listed.settled = true;
    }

    /// The tool with what calls to it need; `None` if it cannot be called over this transport.
    fn offer(&self, tool: Tool, dropped: &mut Vec<(String, String)>) -> Option<Arc<OfferedTool>> {
        let headers = match tool.input_schema().map(|schema| param_headers::find(&schema)) {
            None => Vec::new(),
            Some(Ok(headers)) => headers,
            Some(Err(error)) if self.source.mirrors_headers => {
                tracing::warn!(downstream = %self.source.name, tool = tool.name(), %error, "tool left out");
                dropped.push((tool.name().to_owned(), error.to_string()));
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
