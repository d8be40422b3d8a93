use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    ClientCapabilities, DownstreamFault, DownstreamSession, Era, Error, Exchange, Outcome, ParamHeader,
    Params, PeerInfo, Session, ToolPage,
};
use gateway_protocol::{
    Revision,
    client::{call_params, list_params, outcome, ping_params, tool_page},
    meta::Hop,
    method,
};

use crate::{StdioConfig, link::Patience, process::Process};

/// A session with an MCP server that runs as a child process. Dropping it ends the process group in the
/// background; [`Session::close`] waits for that.
#[derive(Debug)]
pub struct StdioSession {
    pub(crate) process: Process,
    pub(crate) config: Arc<StdioConfig>,
    pub(crate) peer: PeerInfo,
    pub(crate) capabilities: ClientCapabilities,
}

impl StdioSession {
    /// The process id of the server, which leads its process group.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// How many messages have been dropped: noise, late answers, what found no room in a queue.
    pub fn dropped(&self) -> u64 {
        self.process.link.dropped()
    }

    fn hop<'a>(&'a self, capabilities: &'a ClientCapabilities) -> Hop<'a> {
        Hop { revision: self.revision(), client: &self.config.client, capabilities }
    }

    fn revision(&self) -> Revision {
        self.process.link.revision.get().copied().unwrap_or(Revision::NEWEST_LEGACY)
    }

    fn request_patience(&self) -> Patience {
        Patience { quiet: self.config.request_timeout, total: self.config.request_timeout }
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

    async fn call_tool(
        &self,
        tool: &str,
        _headers: &[ParamHeader],
        params: &Params,
        exchange: &Exchange,
    ) -> Result<Outcome, Error> {
        let link = &self.process.link;
        let patience = Patience { quiet: self.config.call_timeout, total: self.config.max_call_time };
        let events = exchange.wants_progress.then(|| Arc::clone(&exchange.events));
        let hop = self.hop(&exchange.capabilities);
        let response = link
            .ask(method::TOOLS_CALL, patience, events, |id| {
                call_params(&hop, tool, params, exchange, exchange.wants_progress.then_some(id))
            })
            .await?;
        outcome(self.peer.era, response.answer)
            .map_err(|error| DownstreamFault::Nonsense { reason: error.reason }.during(&link.name))
    }

    async fn list_tools(&self, cursor: Option<&str>) -> Result<ToolPage, Error> {
        let link = &self.process.link;
        let params = list_params(&self.hop(&self.capabilities), cursor);
        let response = link.ask(method::TOOLS_LIST, self.request_patience(), None, |_| params).await?;
        tool_page(response)
            .map_err(|error| DownstreamFault::Nonsense { reason: error.reason }.during(&link.name))
    }

    async fn ping(&self) -> Result<(), Error> {
        let method = match self.peer.era {
            Era::Legacy => method::PING,
            Era::Modern => method::DISCOVER,
        };
        let params = ping_params(&self.hop(&self.capabilities));
        self.process.link.ask(method, self.request_patience(), None, |_| params).await.map(drop)
    }
}
