use std::{fmt, sync::Arc};

use crate::{DownstreamName, ParkedCall, RawJson, RawObject};

/// How a call ended (design §1). A downstream's JSON-RPC error is an answer too.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The result object as the downstream wrote it.
    Complete(RawObject),
    /// The other side needs answers first.
    InputRequired(InputRequired),
    /// It goes on by itself (Tasks extension).
    Task(TaskHandle),
    /// The downstream answered with an error.
    Failed(PeerError),
}

impl Outcome {
    /// The same, said to be of this downstream where that matters later.
    #[must_use]
    pub fn of(mut self, downstream: &DownstreamName) -> Self {
        match &mut self {
            Self::InputRequired(InputRequired { asker, .. }) => {
                *asker = Some(Asker::Downstream(downstream.clone()));
            }
            Self::Task(TaskHandle { downstream: of, .. }) => *of = Some(downstream.clone()),
            Self::Complete(_) | Self::Failed(_) => {}
        }
        self
    }

    /// The same, if it is a task said to be begun by the tool that `/mcp` shows by this name.
    #[must_use]
    pub fn begun_by(mut self, tool: &str) -> Self {
        if let Self::Task(task) = &mut self {
            task.tool = Some(tool.into());
        }
        self
    }
}

/// Who asks something of a client during a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Asker {
    /// A downstream.
    Downstream(DownstreamName),
    /// A workflow, for itself or for a downstream that one of its steps calls.
    Workflow(Arc<str>),
}

impl Asker {
    /// The downstream, if it is one.
    pub fn downstream(&self) -> Option<&DownstreamName> {
        match self {
            Self::Downstream(name) => Some(name),
            Self::Workflow(_) => None,
        }
    }
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Downstream(name) => name.fmt(f),
            Self::Workflow(name) => f.write_str(name),
        }
    }
}

/// Questions that a call needs answered before it goes on (protocol.md §13).
#[derive(Debug, Clone)]
pub struct InputRequired {
    /// Who asks. Set by whoever knows it, before the outcome reaches the edge.
    pub asker: Option<Asker>,
    /// What is asked, keyed; each value is `{method, params}`. `None`: the call is only to be made again.
    pub requests: Option<RawObject>,
    /// What the follow-up has to name.
    pub state: State,
}

/// What a follow-up goes on with.
#[derive(Debug, Clone)]
pub enum State {
    /// The downstream gave none, and gets none back.
    None,
    /// The downstream's own `requestState`, to be given back byte for byte.
    Own(RawJson),
    /// A call that waits inside a legacy session; only between a transport and the registry, which keeps it.
    Waiting(Arc<dyn ParkedCall>),
    /// The same in the registry's keeping: good for one follow-up of the same caller, for a time.
    Parked(ParkId),
    /// Nothing waits: the call is made afresh once the questions are answered (-32042, protocol.md §20.6).
    Afresh,
}

/// Names a parked call. Unguessable, since it may travel (security.md: handles).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParkId(pub Arc<str>);

/// The answers to what an earlier call asked, and what it goes on with.
#[derive(Debug, Clone)]
pub struct FollowUp {
    /// Who asked. A follow-up that is resolved to somebody else is refused.
    pub asker: Asker,
    /// As it stood in [`InputRequired::state`].
    pub state: State,
    /// `inputResponses`: keyed as the questions were.
    pub responses: RawObject,
}

/// A task of the Tasks extension (protocol.md §15.2).
#[derive(Debug, Clone)]
pub struct TaskHandle {
    /// Who runs it. Set by whoever knows it, before the outcome reaches the edge.
    pub downstream: Option<DownstreamName>,
    /// The tool that began it, by its name on `/mcp`. Set by whoever knows it; `None`: nobody does.
    pub tool: Option<Arc<str>>,
    /// The flat task object, `taskId` as the downstream gave it.
    pub object: RawObject,
}

/// A JSON-RPC error as a peer wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerError {
    /// Its code.
    pub code: i64,
    /// The whole error object: `code`, `message`, `data` and whatever else.
    pub raw: RawObject,
}

impl PeerError {
    /// Reads an error object; `None` if it has no integer `code`.
    pub fn new(raw: RawObject) -> Option<Self> {
        Some(Self { code: raw.get("code")?.to_integer()?, raw })
    }

    /// Its message, for a log.
    pub fn message(&self) -> String {
        self.raw.get_text("message").unwrap_or_default()
    }
}
