use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;

use crate::{
    ClientCapabilities, ClientLink, Era, Error, Exchange, Incoming, InternalError, ListKind, Outcome,
    ParamHeader, Params, RawJson, RawObject, Subject, Subscription, TaskSupport, Tool, Updates,
};

/// A session that a pool can keep.
#[async_trait]
pub trait Session: Send + Sync {
    /// Ends the session and releases what it holds. Idempotent; returns when everything is gone.
    async fn close(&self);

    /// Whether the session can still be used, as far as is known without asking (R-W12).
    fn is_open(&self) -> bool {
        true
    }
}

/// A live session to one downstream, whatever carries it.
///
/// Cancel-safe: dropping a future of any method cancels the request with that hop's id and keeps the session.
#[async_trait]
pub trait DownstreamSession: Session {
    /// What the downstream said when the session was opened.
    fn peer(&self) -> &PeerInfo;

    /// Makes a request of a client's, in the downstream's own words. `params` are the client's; the member that the
    /// subject names and `_meta` are replaced. A modern downstream is passed `inputResponses` and `requestState` as
    /// they stand there. What a legacy downstream asks meanwhile comes back as [`crate::State::Waiting`].
    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error>;

    /// One page of a list. A downstream that says it does not have the list is still asked.
    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error>;

    /// As [`Self::list`], for the caller of this exchange, whom a downstream that is proved to who calls it has to
    /// know. By default the list is the same for everybody.
    async fn list_for(
        &self,
        list: ListKind,
        cursor: Option<&str>,
        _exchange: &Exchange,
    ) -> Result<ListPage, Error> {
        self.list(list, cursor).await
    }

    /// Asks for a sign of life. A JSON-RPC error is one.
    async fn ping(&self) -> Result<(), Error>;

    /// Has `updates` told of changes of a resource, by its own URI, until the result is dropped. Several for one
    /// URI are one on the wire. Ends with the session, and then [`Updates::lost`] is called.
    ///
    /// # Errors
    /// The downstream refuses, or has no subscriptions.
    async fn subscribe(&self, _uri: &str, _updates: Arc<dyn Updates>) -> Result<Subscription, Error> {
        Err(InternalError { what: "a session that cannot watch resources was asked to" }.into())
    }

    /// As [`Self::subscribe`], for the caller of this exchange, whom a downstream that is proved to who calls it has to
    /// know. By default the resource is the same for everybody.
    async fn subscribe_for(
        &self,
        uri: &str,
        updates: Arc<dyn Updates>,
        _exchange: &Exchange,
    ) -> Result<Subscription, Error> {
        self.subscribe(uri, updates).await
    }

    /// Says whose session this is, if it is one client's own: who hears what the downstream says outside any call,
    /// and whose roots it is told. Nobody's until then; then what it asks outside a call is refused.
    fn attend(&self, _client: Weak<dyn ClientLink>) {}

    /// Passes on that the client's roots are others now, if the downstream was told that it would be told.
    async fn roots_changed(&self) {}

    /// Calls a tool by its own name.
    async fn call_tool(
        &self,
        tool: &str,
        headers: &[ParamHeader],
        params: &Params,
        exchange: &Exchange,
    ) -> Result<Outcome, Error> {
        let (name, headers) = (tool.into(), headers.into());
        let subject = Subject::Tool { name, headers, task: TaskSupport::Forbidden };
        self.call(&subject, params, exchange).await
    }

    /// One page of the downstream's tools.
    async fn list_tools(&self, cursor: Option<&str>) -> Result<ToolPage, Error> {
        self.list(ListKind::Tools, cursor).await.map(ToolPage::from)
    }
}

/// A call that waits inside a legacy session for answers. Dropping it, answered or not, gives the call up: what the
/// downstream asked is answered that nobody will, and the call is cancelled.
#[async_trait]
pub trait ParkedCall: Send + Sync + fmt::Debug {
    /// Gives the downstream its answers and waits for what comes next: the end of the call, or more questions.
    /// Progress and logs that came meanwhile are told first, then those of the rest. Questions that `responses` do
    /// not answer are asked again. Good for one use at a time; after an end there is nothing more to resume.
    ///
    /// Cancel-safe: dropping the future cancels the call.
    async fn resume(&self, responses: &RawObject, exchange: &Exchange) -> Result<Outcome, Error>;

    /// Whether no answer is waited for any more: the call has ended, or the downstream has taken its questions back.
    /// Resuming without answers then tells what came of it. Never blocks.
    fn is_over(&self) -> bool {
        false
    }
}

/// What a downstream says about itself when a session is opened.
#[derive(Debug, Clone)]
pub struct PeerInfo {
    /// Legacy sessions belong to whoever opened them; a modern one serves everybody.
    pub era: Era,
    /// The negotiated revision.
    pub protocol: String,
    /// `serverInfo`, for display only.
    pub server: Option<RawJson>,
    /// The server's `capabilities` object.
    pub capabilities: RawObject,
    /// `instructions`, if given.
    pub instructions: Option<String>,
}

impl PeerInfo {
    /// Whether the server says that it tells of changes of this list.
    pub fn announces_changes(&self, list: ListKind) -> bool {
        let member = match list {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources | ListKind::ResourceTemplates => "resources",
        };
        let capability = self.capabilities.get_object(member);
        capability.and_then(|capability| capability.get("listChanged")?.to_bool()).unwrap_or(false)
    }

    /// Whether the server says that its resources can be watched.
    pub fn has_subscriptions(&self) -> bool {
        let resources = self.capabilities.get_object("resources");
        resources.and_then(|resources| resources.get("subscribe")?.to_bool()).unwrap_or(false)
    }

    /// Whether it is worth asking the server to tell of changes of a resource. There are legacy ones that say they do
    /// not and do, so of those any with resources is asked.
    pub fn may_have_subscriptions(&self) -> bool {
        self.has_subscriptions() || (self.era == Era::Legacy && self.capabilities.contains("resources"))
    }
}

/// One page of a downstream's own list.
#[derive(Debug, Clone, Default)]
pub struct ListPage {
    /// The entries as they stood in the answer, each checked to be an object without repeated members.
    pub items: Vec<RawObject>,
    /// The downstream's cursor; `None` when the list is complete.
    pub next_cursor: Option<String>,
    /// Entries that are none, by reason.
    pub skipped: Vec<String>,
    /// How long the downstream says the list stays as it is, zero included (protocol.md §12); `None` if it
    /// does not say.
    pub ttl: Option<Duration>,
    /// Whether it says that only who asked may be shown it.
    pub is_private: bool,
}

/// One page of a downstream's own tools.
#[derive(Debug, Clone)]
pub struct ToolPage {
    /// The definitions as they stood in the answer.
    pub tools: Vec<Tool>,
    /// The downstream's cursor; `None` when the list is complete.
    pub next_cursor: Option<String>,
    /// Entries that are no tool definitions, by reason.
    pub skipped: Vec<String>,
    /// As [`ListPage::ttl`].
    pub ttl: Option<Duration>,
}

impl From<ListPage> for ToolPage {
    fn from(page: ListPage) -> Self {
        let ListPage { items, next_cursor, mut skipped, ttl, .. } = page;
        let tools = items.into_iter().filter_map(|definition| {
            let tool = Tool::from_definition(definition);
            if tool.is_none() {
                skipped.push("a definition without a string `name`".into());
            }
            tool
        });
        Self { tools: tools.collect(), next_cursor, skipped, ttl }
    }
}

/// What a new session is opened for. By default: a modern client that can do nothing beyond the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProfile {
    /// The era to speak if the downstream has both.
    pub era: Era,
    /// What the client behind the session can do.
    pub capabilities: ClientCapabilities,
    /// What came with the request that it is opened for; `None`: it is opened for the gateway itself.
    pub incoming: Option<Arc<Incoming>>,
}

impl Default for SessionProfile {
    fn default() -> Self {
        Self { era: Era::Modern, capabilities: ClientCapabilities::none(), incoming: None }
    }
}

/// Opens sessions to one downstream (seed 001).
#[async_trait]
pub trait Factory: Send + Sync {
    /// What is opened.
    type Session: Session;

    /// Opens a session. Cancel-safe: dropping the future leaves no process and no connection behind; what
    /// has to be wound up is, and [`Self::wound_up`] waits for it.
    async fn create(&self, profile: &SessionProfile) -> Result<Self::Session, Error>;

    /// Waits until nothing is left of sessions that were given up while they were opened, or dropped
    /// without a close. The caller bounds the wait.
    async fn wound_up(&self) {}
}

#[async_trait]
impl<F: Factory + ?Sized> Factory for Arc<F> {
    type Session = F::Session;

    async fn create(&self, profile: &SessionProfile) -> Result<Self::Session, Error> {
        (**self).create(profile).await
    }

    async fn wound_up(&self) {
        (**self).wound_up().await;
    }
}

#[async_trait]
impl<S: Session + ?Sized> Session for Arc<S> {
    async fn close(&self) {
        (**self).close().await;
    }

    fn is_open(&self) -> bool {
        (**self).is_open()
    }
}
