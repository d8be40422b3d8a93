use std::sync::{Arc, Weak};

use async_trait::async_trait;
use gateway_domain::{
    CallerError, ClientCapabilities, ClientLink, DownstreamFault, DownstreamSession, Era, Error, Exchange,
    ListKind, ListPage, LogLevel, Outcome, Params, PeerInfo, Session, Subject, Subscription, Updates,
};
use gateway_protocol::{
    RequestId, Response, Revision,
    client::{self, Patience, level_params, list_page},
    meta::Hop,
    method, write,
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::{
    StdioConfig,
    conversation::{Conversation, Limits},
    link::CallState,
    process::Process,
    turns::Turns,
};

/// A session with an MCP server that runs as a child process. Dropping it ends the process group in the
/// background; [`Session::close`] waits for that.
#[derive(Debug)]
pub struct StdioSession {
    process: Process,
    config: Arc<StdioConfig>,
    peer: PeerInfo,
    /// The calls that must be told apart.
    turns: Arc<Turns>,
    /// The lowest log level that the server was told.
    level: Mutex<Option<LogLevel>>,
}

impl StdioSession {
    pub(crate) fn new(
        process: Process,
        config: &Arc<StdioConfig>,
        peer: PeerInfo,
        declared: &ClientCapabilities,
    ) -> Self {
        let apart = peer.era == Era::Legacy && declared.is_interactive();
        let turns = Arc::new(Turns::new(apart, config.max_pending));
        Self { process, config: Arc::clone(config), peer, turns, level: Mutex::default() }
    }

    /// The process id of the server, which leads its session and its process group.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// How many messages have been dropped: noise, late answers, what found no room in a queue.
    pub fn dropped(&self) -> u64 {
        self.process.link.dropped()
    }

    /// How requests introduce themselves; those on nobody's behalf declare nothing.
    fn hop<'a>(&'a self, capabilities: &'a ClientCapabilities) -> Hop<'a> {
        Hop { revision: self.revision(), client: &self.config.client, capabilities }
    }

    fn revision(&self) -> Revision {
        self.process.link.revision.get().copied().unwrap_or(Revision::NEWEST_LEGACY)
    }

    /// A request that is no call.
    async fn ask(&self, method: &str, params: &[u8]) -> Result<Response, Error> {
        let patience = Patience::fixed(Instant::now().into(), self.config.request_timeout);
        let message = |id| write::request(&RequestId::from(id), method, params);
        self.process.link.ask(patience, message).await
    }

    /// Has a legacy server log at this level at least, for the whole session (protocol.md §11.8). It is asked once,
    /// whatever it answers: a call does not fail for its log.
    async fn log_at(&self, wanted: Option<LogLevel>) {
        let Some(wanted) = wanted.filter(|_| self.peer.era == Era::Legacy) else { return };
        let mut told = self.level.lock().await;
        if told.is_none_or(|told| wanted < told) && self.peer.capabilities.contains("logging") {
            if let Err(error) = self.ask(method::SET_LEVEL, &level_params(wanted)).await {
                tracing::debug!(downstream = %self.process.link.name, "no log level was set: {error}");
            }
            *told = Some(wanted);
        }
    }
}

#[async_trait]
impl Session for StdioSession {
    async fn close(&self) {
        self.process.close().await;
    }

    fn is_open(&self) -> bool {
        self.process.link.is_open()
    }
}

#[async_trait]
impl DownstreamSession for StdioSession {
    fn peer(&self) -> &PeerInfo {
        &self.peer
    }

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        self.log_at(exchange.log_level).await;
        let limits = Limits { quiet: self.config.call_timeout, total: self.config.max_call_time };
        let call = CallState::new(self.peer.era, subject, exchange);
        let capabilities = exchange.here();
        let hop = self.hop(&capabilities);
        let message = |id| client::call(&hop, id, subject, params, exchange);
        let on = (limits, &self.turns);
        let call = Conversation::begin(&self.process.link, on, call, exchange, message).await?;
        call.go_on().await
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        let link = &self.process.link;
        let params = client::list_params(&self.hop(&ClientCapabilities::none()), cursor);
        let response = self.ask(method::of_list(list), &params).await?;
        list_page(list, response)
            .map_err(|error| DownstreamFault::Nonsense { reason: error.reason }.during(&link.name))
    }

    async fn ping(&self) -> Result<(), Error> {
        let method = match self.peer.era {
            Era::Legacy => method::PING,
            Era::Modern => method::DISCOVER,
        };
        let params = client::ping_params(&self.hop(&ClientCapabilities::none()));
        self.ask(method, &params).await.map(drop)
    }

    async fn subscribe(&self, uri: &str, updates: Arc<dyn Updates>) -> Result<Subscription, Error> {
        let link = &self.process.link;
        if !self.peer.may_have_subscriptions() {
            return Err(CallerError::UnknownMethod { method: method::SUBSCRIBE.into() }.into());
        }
        let watch = link.watching.add(uri, updates, || link.why_closed().before(&link.name))?;
        match timeout(self.config.request_timeout, watch.granted()).await {
            Ok(Some(granted)) => granted,
            Ok(None) => Err(link.why_closed().before(&link.name)),
            Err(_) => {
                Err(DownstreamFault::TimedOut { after: self.config.request_timeout }.during(&link.name))
            }
        }
    }

    fn attend(&self, client: Weak<dyn ClientLink>) {
        self.process.link.attend(client);
    }

    async fn roots_changed(&self) {
        let link = &self.process.link;
        if self.peer.era == Era::Legacy && link.declares_root_changes() {
            link.tell(write::notification(method::ROOTS_LIST_CHANGED, b"{}"));
        }
    }
}
