use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    ClientCapabilities, DownstreamFault, DownstreamSession, Era, Error, Exchange, ListKind, ListPage,
    Outcome, Params, PeerInfo, Session, Subject,
};
use gateway_protocol::{
    RequestId, Response, Revision,
    client::{self, Patience, list_page, outcome},
    meta::Hop,
    method, write,
};
use tokio::time::Instant;

use crate::{StdioConfig, process::Process};

/// A session with an MCP server that runs as a child process. Dropping it ends the process group in the
/// background; [`Session::close`] waits for that.
#[derive(Debug)]
pub struct StdioSession {
    pub(crate) process: Process,
    pub(crate) config: Arc<StdioConfig>,
    pub(crate) peer: PeerInfo,
}

impl StdioSession {
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
        self.process.link.ask(patience, None, message).await
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
        let link = &self.process.link;
        let (quiet, total) = (self.config.call_timeout, self.config.max_call_time);
        let patience = Patience::new(Instant::now().into(), quiet, total);
        let events = exchange.wants_progress.then(|| Arc::clone(&exchange.events));
        let hop = self.hop(&exchange.capabilities);
        let response =
            link.ask(patience, events, |id| client::call(&hop, id, subject, params, exchange)).await?;
        outcome(self.peer.era, response.answer)
            .map_err(|error| DownstreamFault::Nonsense { reason: error.reason }.during(&link.name))
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
}
