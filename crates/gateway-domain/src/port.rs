//! What layers do for one another. Each trait is implemented in one crate and used in another that does
//! not know it (design §3).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    Call, Caller, ClientCapabilities, DownstreamName, DownstreamStatus, Era, Error, Exchange, ListRemark,
    Outcome, ParamHeader, Params, RawJson, SessionKey, Tool, View,
};

/// Answers calls. A stage of the pipeline is a dispatcher around a dispatcher (P-1).
///
/// Cancel-safe: dropping the future cancels the call, down to the downstream that has it.
#[async_trait]
pub trait Dispatcher: Send + Sync {
    /// Answers one call.
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error>;
}

/// Lets go of what a client's session holds.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Ends everything held under `key`. Unknown keys are fine.
    async fn end(&self, key: &SessionKey);
}

/// What is offered to clients, as the edge sees it.
#[async_trait]
pub trait Directory: Send + Sync {
    /// One page of tools, as clients of the exchange's era can read them. Waits, bounded, for downstreams
    /// that are still starting. A downstream whose list is not for everybody is asked in that exchange's
    /// session (G-10).
    ///
    /// # Errors
    /// [`crate::CallerError::InvalidCursor`], [`crate::CallerError::UnknownDownstream`]; in strict mode
    /// [`crate::UnlistedError`] (G-W6).
    async fn tools(
        &self,
        view: &View,
        caller: &Caller,
        exchange: &Exchange,
        cursor: Option<&str>,
    ) -> Result<ToolsPage, Error>;

    /// A tool by the name clients are shown; `None` if there is none. Of downstreams whose list is not for
    /// everybody, only what this session was shown lately is known.
    fn tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>>;

    /// Forgets the cached list of one downstream, or of all, and reads it again (G-11). Gives how many were
    /// forgotten; never blocks.
    fn flush(&self, _downstream: Option<&DownstreamName>) -> usize {
        0
    }

    /// Whether the view exists.
    fn has_view(&self, view: &View) -> bool;

    /// The number of the view's current list; it grows with every visible change.
    fn generation(&self, view: &View) -> u64;

    /// Waits until the view's list is another than generation `seen`, and returns its number.
    async fn changed(&self, view: &View, seen: u64) -> u64;

    /// The state of every downstream, in the order of their names.
    fn downstreams(&self) -> Vec<DownstreamStatus>;
}

/// A page of `tools/list`, rendered.
#[derive(Debug, Clone)]
pub struct ToolsPage {
    /// The array of definitions; shared by all answers of one generation.
    pub tools: RawJson,
    /// Where the next page begins; `None` on the last.
    pub next_cursor: Option<String>,
    /// Whether others may be shown another list, so that nobody may share this one.
    pub is_private: bool,
    /// The downstreams whose tools are not all there or not as they are now; empty when all is well.
    pub remarks: Vec<ListRemark>,
}

impl ToolsPage {
    /// A page on which all is well, the same for everybody.
    pub fn new(tools: RawJson, next_cursor: Option<String>) -> Self {
        Self { tools, next_cursor, is_private: false, remarks: Vec::new() }
    }
}

/// What *resolve* knows about a tool that clients are shown.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    /// The downstream that has it.
    pub downstream: DownstreamName,
    /// The tool itself.
    pub tool: Tool,
    /// Its arguments that are mirrored in headers.
    pub headers: Arc<[ParamHeader]>,
}

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

    /// Calls a tool by its own name. `params` are the client's; name and `_meta` are replaced.
    async fn call_tool(
        &self,
        tool: &str,
        headers: &[ParamHeader],
        params: &Params,
        exchange: &Exchange,
    ) -> Result<Outcome, Error>;

    /// One page of the downstream's tools.
    async fn list_tools(&self, cursor: Option<&str>) -> Result<ToolPage, Error>;

    /// Asks for a sign of life. A JSON-RPC error is one.
    async fn ping(&self) -> Result<(), Error>;
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
    pub capabilities: crate::RawObject,
    /// `instructions`, if given.
    pub instructions: Option<String>,
}

impl PeerInfo {
    /// Whether the server says that it tells of changes of its tools.
    pub fn announces_tool_changes(&self) -> bool {
        let tools = self.capabilities.get_object("tools");
        tools.and_then(|tools| tools.get("listChanged")?.to_bool()).unwrap_or(false)
    }
}

/// One page of a downstream's own tools.
#[derive(Debug, Clone)]
pub struct ToolPage {
    /// The definitions as they stood in the answer, each checked to be an object without repeated members.
    pub tools: Vec<Tool>,
    /// The downstream's cursor; `None` when the list is complete.
    pub next_cursor: Option<String>,
    /// Entries that are no tool definitions, by reason.
    pub skipped: Vec<String>,
    /// How long the downstream says the list stays as it is, zero included (protocol.md §12); `None` if it
    /// does not say.
    pub ttl: Option<Duration>,
}

/// What a new session is opened for. By default: a modern client that can do nothing beyond the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProfile {
    /// The era to speak if the downstream has both.
    pub era: Era,
    /// What the client behind the session can do.
    pub capabilities: ClientCapabilities,
}

impl Default for SessionProfile {
    fn default() -> Self {
        Self { era: Era::Modern, capabilities: ClientCapabilities::none() }
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

/// Hears what a downstream says outside any call. Must not block.
pub trait DownstreamObserver: Send + Sync {
    /// The downstream's tools have changed.
    fn tools_changed(&self);

    /// The session that said so, or another of this downstream, has ended unexpectedly.
    fn session_lost(&self, reason: &str);

    /// The downstream is not used for a while, because too much went wrong (design §7). The reason is for
    /// the operator.
    fn broken(&self, _reason: &str) {}

    /// A downstream that was broken has proved that it can be used.
    fn recovered(&self) {}
}
