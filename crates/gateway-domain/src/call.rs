use std::{borrow::Cow, fmt, sync::Arc};

use crate::{
    Caller, ClientCapabilities, ClientLink, DownstreamName, FollowUp, Incoming, Notes, RawObject, Subject,
    TraceContext,
};

/// The two eras of the protocol (protocol.md §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// An `initialize` handshake sets version and capabilities for a session (2024-11-05 to 2025-11-25).
    Legacy,
    /// Every request carries them itself (2026-07-28).
    Modern,
}

impl Era {
    /// The word used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// Which part of the gateway a client talks to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum View {
    /// `/mcp`: everything, names with prefixes.
    All,
    /// `/mcp/NAME`: one downstream, names as it gave them (design §5).
    Downstream(DownstreamName),
    /// `/mcp/NAME` where no downstream has the name: a part of `/mcp`, some names changed, as the configuration has it.
    Profile(DownstreamName),
}

impl View {
    /// The downstream that is seen alone, in its own words; `None`: several stand side by side, in those of `/mcp`.
    pub fn downstream(&self) -> Option<&DownstreamName> {
        match self {
            Self::Downstream(name) => Some(name),
            Self::All | Self::Profile(_) => None,
        }
    }
}

/// What a call is for, and in whose words.
#[derive(Debug, Clone)]
pub enum Target {
    /// As a client was shown it; *resolve* turns it into [`Target::Downstream`].
    Exposed {
        /// Where the client was shown it.
        view: View,
        /// Names and URIs as the client knows them.
        subject: Subject,
    },
    /// As the downstream that has it calls it.
    Downstream {
        /// The downstream.
        downstream: DownstreamName,
        /// Names and URIs byte for byte as the downstream reported them.
        subject: Subject,
    },
}

/// The `params` of a request as they arrived, `_meta` indexed with them.
#[derive(Debug, Clone)]
pub struct Params {
    /// The whole object.
    pub object: RawObject,
    /// Its `_meta`, if it has one.
    pub meta: Option<RawObject>,
}

impl Params {
    /// Params with no members, for methods that need none.
    pub fn empty() -> Self {
        Self { object: RawObject::empty(), meta: None }
    }
}

/// A call that stands alone: who asks, for what, with what, and where things go meanwhile (design §1).
/// Dropping the future that answers it cancels it.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is called.
    pub target: Target,
    /// The client's own `params`. Name, `_meta` and the like are replaced hop by hop. `inputResponses` and
    /// `requestState` do not stand in it: those are in `follow_up`.
    pub params: Params,
    /// The answers to what was asked before, if this goes on with an earlier call (protocol.md §13).
    pub follow_up: Option<FollowUp>,
    /// Who calls. For a step of a workflow, whoever called the workflow: nobody gains anything by a composition.
    pub caller: Caller,
    /// The circumstances.
    pub exchange: Exchange,
    /// The workflow that makes the call, if it is not the caller's own.
    pub origin: Option<Origin>,
}

/// A run of a workflow as the origin of a call: what an audit record names, and what a tool that is kept for workflows
/// asks for (requirements §7 item 10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The workflow's name.
    pub workflow: Arc<str>,
    /// The run's id, a UUID (C-42).
    pub run: Arc<str>,
    /// The step's id.
    pub step: Arc<str>,
}

impl Origin {
    /// That of a run which has not begun, for looking whether the tools of a workflow are there: run and step are empty.
    pub fn before(workflow: &Arc<str>) -> Self {
        Self { workflow: workflow.clone(), run: Arc::default(), step: Arc::default() }
    }
}

/// Who holds the downstream sessions that a call uses (design §6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SessionKey {
    /// A legacy client's session.
    Legacy {
        /// Its id inside the gateway.
        id: Arc<str>,
    },
    /// A modern caller: one session for each set of capabilities it declares.
    Modern {
        /// Who.
        caller: Caller,
        /// What the request declared.
        capabilities: ClientCapabilities,
    },
}

/// The circumstances of a call.
#[derive(Clone)]
pub struct Exchange {
    /// The client's era. A downstream that speaks both is spoken to in this one.
    pub era: Era,
    /// Who holds the downstream sessions.
    pub session: SessionKey,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Whether it can be asked anything with this call. What a session is opened with does not depend on that: the
    /// next call may be another one.
    pub can_be_asked: bool,
    /// Whether the client asked for progress.
    pub wants_progress: bool,
    /// The lowest level of log messages the client wants with this call.
    pub log_level: Option<LogLevel>,
    /// Where progress and logs of this call go.
    pub events: Arc<dyn EventSink>,
    /// The run of a workflow that the call is made in. Whatever is asked in the calls of one run is put to one client
    /// together, so that it need not be known which of them it is about.
    pub run: Option<Arc<str>>,
    /// The client itself, where it can be told and asked something outside any call: a legacy session.
    pub client: Option<Arc<dyn ClientLink>>,
    /// What came with the request, for parts that make credentials of it; `None`: nothing is known of it.
    pub incoming: Option<Arc<Incoming>>,
    /// Where the call stands in a trace; `None`: in none.
    pub trace: Option<TraceContext>,
    /// What is found out about the call. What is called in its course has notes of its own.
    pub notes: Arc<Notes>,
}

impl Exchange {
    /// The exchange of a client that wants nothing but the answer.
    pub fn quiet(era: Era, session: SessionKey, capabilities: ClientCapabilities) -> Self {
        Self {
            era,
            session,
            capabilities,
            can_be_asked: true,
            wants_progress: false,
            log_level: None,
            events: Arc::new(Silent),
            run: None,
            client: None,
            incoming: None,
            trace: None,
            notes: Arc::default(),
        }
    }

    /// What the client can do in this request: nothing that needs an answer of its, where it cannot be asked.
    pub fn here(&self) -> Cow<'_, ClientCapabilities> {
        match self.can_be_asked {
            true => Cow::Borrowed(&self.capabilities),
            false => Cow::Owned(self.capabilities.unasked()),
        }
    }

    /// Whether the client is to be shown a log message of this level. A legacy client that set no level leaves it
    /// to the server; a modern one that named none wants none (protocol.md §11.8).
    pub fn wants_log(&self, level: LogLevel) -> bool {
        self.log_level.map_or(self.era == Era::Legacy, |lowest| level >= lowest)
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("era", &self.era)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Something that happens while a call runs. Params are as the downstream wrote them; the token inside
/// is that hop's and is replaced on the way out.
#[derive(Debug, Clone)]
pub enum Event {
    /// `notifications/progress`.
    Progress(RawObject),
    /// `notifications/message`.
    Log(RawObject),
}

/// Takes the events of one call. Must not block: an event that cannot be taken is dropped and counted
/// by the sink.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: Event);
}

/// The sink of a call whose events nobody wants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl EventSink for Silent {
    fn emit(&self, _: Event) {}
}

/// RFC 5424 severities as MCP names them, lowest first (protocol.md §11.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    const NAMES: [(&'static str, Self); 8] = [
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("notice", Self::Notice),
        ("warning", Self::Warning),
        ("error", Self::Error),
        ("critical", Self::Critical),
        ("alert", Self::Alert),
        ("emergency", Self::Emergency),
    ];

    /// The level of this name; `None` for any other text.
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
    }

    /// The level's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}
