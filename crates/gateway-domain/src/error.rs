//! Errors by fault (design §8). Each carries fields; only the edge turns them into statuses and codes.

use std::{borrow::Cow, fmt, time::Duration};

use crate::{DownstreamName, Visit};

/// What went wrong, by whose fault it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The caller asked for something that cannot be done.
    #[error(transparent)]
    Caller(#[from] CallerError),
    /// A downstream failed.
    #[error(transparent)]
    Downstream(#[from] Box<DownstreamError>),
    /// The operator has to change something.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// A list was asked for whole or not at all, and is not whole.
    #[error(transparent)]
    Unlisted(#[from] UnlistedError),
    /// The gateway has a bug.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

impl Error {
    /// The sentence for a client, without what only the operator may know (design §8).
    pub fn for_client(&self) -> String {
        match self {
            Self::Caller(error) => error.to_string(),
            Self::Downstream(error) => error.for_client(),
            Self::Operator(_) => "the gateway is not configured for this".to_owned(),
            Self::Unlisted(error) => error.to_string(),
            Self::Internal(_) => "internal error".to_owned(),
        }
    }

    /// A word for records, metrics and `data.kind` (design §8).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Caller(error) => error.kind(),
            Self::Downstream(error) => error.fault.kind(),
            Self::Operator(OperatorError::Configuration { .. }) => "configuration",
            Self::Unlisted(_) => "downstreams_unlisted",
            Self::Internal(_) => "internal",
        }
    }
}

impl From<DownstreamError> for Error {
    fn from(error: DownstreamError) -> Self {
        Self::Downstream(Box::new(error))
    }
}

/// The caller's fault, or the caller's wish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallerError {
    /// No such tool; also said of one that is hidden or forbidden.
    #[error("unknown tool {name:?}")]
    UnknownTool {
        /// The name that was asked for.
        name: String,
    },
    /// No such downstream.
    #[error("unknown downstream {name:?}")]
    UnknownDownstream {
        /// The name that was asked for.
        name: String,
    },
    /// No such prompt; also said of one that is hidden or forbidden.
    #[error("unknown prompt {name:?}")]
    UnknownPrompt {
        /// The name that was asked for.
        name: String,
    },
    /// No such resource (protocol.md §11.3).
    #[error("resource {uri:?} not found")]
    UnknownResource {
        /// The URI that was asked for.
        uri: String,
    },
    /// No such task, or another's (protocol.md §15.2).
    #[error("unknown task")]
    UnknownTask,
    /// What a follow-up names is not there any more: used, expired, of another process, or never given to this
    /// caller for this request (protocol.md §20.6).
    #[error("the interaction has expired or is not this caller's; begin again")]
    UnknownState,
    /// The method is not offered here.
    #[error("method {method:?} is not offered")]
    UnknownMethod {
        /// The method.
        method: String,
    },
    /// The call needs a client that can do more.
    #[error("the client has not declared what this call needs: {required}")]
    MissingCapability {
        /// An object shaped like client capabilities (protocol.md §2.4).
        required: crate::RawJson,
    },
    /// The client did not answer what it was asked, or not in time.
    #[error("the client gave no answer: {reason}")]
    Unanswered {
        /// What became of the question.
        reason: String,
    },
    /// `params` do not fit the method.
    #[error("invalid params: {reason}")]
    InvalidParams {
        /// What is wrong with them.
        reason: String,
    },
    /// A cursor this gateway did not give.
    #[error("invalid cursor")]
    InvalidCursor,
    /// More at once than the limits allow.
    #[error("too many {what} at once; the limit is {limit}")]
    Overloaded {
        /// What there is too much of.
        what: &'static str,
        /// The limit in force.
        limit: usize,
    },
    /// More calls than the caller may make in a time.
    #[error("too many calls {of}; try again in {} s", whole_seconds(*.retry_in))]
    RateLimited {
        /// Of what there are too many, as `of this tool`.
        of: &'static str,
        /// When there is room again.
        retry_in: Duration,
    },
    /// The caller's token lacks scopes that the request needs (RFC 6750 §3.1).
    #[error("the token lacks a scope; needed: {}", .scopes.join(" "))]
    InsufficientScope {
        /// All that the request needs, those included that the token has.
        scopes: Vec<String>,
    },
    /// No record of the call could be kept, and there must be one (P-60).
    #[error("the gateway cannot keep its records at the moment{}", if *.executed { "; the call was made" } else { "" })]
    Unrecorded {
        /// Whether the downstream has acted already.
        executed: bool,
    },
    /// The caller's session has ended.
    #[error("the client session has been closed")]
    SessionClosed,
    /// The caller gave up.
    #[error("cancelled by the caller")]
    Cancelled,
}

impl CallerError {
    /// A word for records, metrics and `data.kind` (design §8).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownTool { .. } => "unknown_tool",
            Self::UnknownDownstream { .. } => "unknown_downstream",
            Self::UnknownPrompt { .. } => "unknown_prompt",
            Self::UnknownResource { .. } => "unknown_resource",
            Self::UnknownTask => "unknown_task",
            Self::UnknownState => "unknown_state",
            Self::UnknownMethod { .. } => "unknown_method",
            Self::MissingCapability { .. } => "missing_capability",
            Self::Unanswered { .. } => "unanswered",
            Self::InvalidParams { .. } => "invalid_params",
            Self::InvalidCursor => "invalid_cursor",
            Self::Overloaded { .. } => "caller_overloaded",
            Self::RateLimited { .. } => "rate_limited",
            Self::InsufficientScope { .. } => "insufficient_scope",
            Self::Unrecorded { .. } => "unrecorded",
            Self::SessionClosed => "session_closed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Whether a failed call may have been carried out (promise 7 of security.md §0.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The request provably never reached the downstream.
    NotStarted,
    /// It may have run.
    Possible,
}

/// A downstream's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("downstream `{downstream}` {fault}")]
pub struct DownstreamError {
    /// Which one.
    pub downstream: DownstreamName,
    /// What it did.
    pub fault: DownstreamFault,
    /// Whether the call may have run.
    pub execution: Execution,
}

impl DownstreamError {
    /// The sentence for a client: whose fault it is and what happened, without hosts, URLs and commands.
    pub fn for_client(&self) -> String {
        format!("downstream `{}` {}", self.downstream, self.fault.for_client())
    }
}

/// What a downstream did wrong. Texts are for the operator: they may name commands and addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownstreamFault {
    /// It could not be started or connected to.
    #[error("cannot be reached: {reason}")]
    Unreachable {
        /// Why.
        reason: String,
    },
    /// Its process ended, or its connection closed.
    #[error("ended: {reason}")]
    Ended {
        /// Exit status and last words.
        reason: String,
    },
    /// It would not open a session.
    #[error("did not open a session: {reason}")]
    Handshake {
        /// What it answered.
        reason: String,
    },
    /// It did not answer in time.
    #[error("did not answer within {after:?}")]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// It answered with something that is not MCP.
    #[error("gave no valid answer: {reason}")]
    Nonsense {
        /// What was wrong with it.
        reason: String,
    },
    /// It answered with more than is allowed.
    #[error("answered with more than {limit} bytes")]
    TooLarge {
        /// The limit in force.
        limit: usize,
    },
    /// It answered an HTTP status that carries no MCP message.
    #[error("answered HTTP status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// It wants other credentials.
    #[error("refused the credentials (HTTP status {status}); check `headers` in its configuration")]
    Unauthorized {
        /// 401 or 403.
        status: u16,
    },
    /// The gateway has nothing to prove itself with.
    #[error("needs credentials that the gateway does not have: {reason}")]
    Credentials {
        /// Why, and what to do.
        reason: String,
        /// The page that the person behind the client has to visit before there are any, if that is all.
        visit: Option<Box<Visit>>,
    },
    /// Who calls has not come with what it needs.
    #[error("could not be called; the caller was told that it needs {what}")]
    CallerCredentials {
        /// That, in words for whoever calls, such as "an access token of yours".
        what: &'static str,
    },
    /// All its sessions are in use.
    #[error("has no free session: all {max} are in use")]
    Exhausted {
        /// The pool's size.
        max: usize,
    },
    /// It failed too often and is left alone for a while.
    #[error("is broken and not tried again for {} s: {reason}", whole_seconds(*.retry_in))]
    Broken {
        /// When it will be tried again.
        retry_in: Duration,
        /// Its last failure.
        reason: String,
    },
    /// The gateway has closed it.
    #[error("has been closed")]
    Closed,
    /// It asks for input in a way this release does not carry.
    #[error("asked for input, which this client cannot give")]
    InputRequired,
}

/// At least one, and enough: texts that differ in milliseconds alone are hard to group.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add((time.subsec_nanos() > 0).into()).max(1)
}

impl DownstreamFault {
    /// This fault of `downstream`, for a request that never reached it.
    pub fn before(self, downstream: &DownstreamName) -> Error {
        self.with(downstream, Execution::NotStarted)
    }

    /// This fault of `downstream`, for a request that may have run.
    pub fn during(self, downstream: &DownstreamName) -> Error {
        self.with(downstream, Execution::Possible)
    }

    fn with(self, downstream: &DownstreamName, execution: Execution) -> Error {
        DownstreamError { downstream: downstream.clone(), fault: self, execution }.into()
    }

    /// Whether trying again may help, if the call has not run.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Ended { .. }
            | Self::TimedOut { .. }
            | Self::Status { .. }
            | Self::Exhausted { .. }
            | Self::Broken { .. }
            | Self::Closed => true,
            Self::Handshake { .. }
            | Self::Nonsense { .. }
            | Self::TooLarge { .. }
            | Self::Unauthorized { .. }
            | Self::Credentials { .. }
            | Self::CallerCredentials { .. }
            | Self::InputRequired => false,
        }
    }

    /// What happened, without the hosts, URLs and commands that are for the operator alone (design §8).
    fn for_client(&self) -> Cow<'static, str> {
        match self {
            Self::Unreachable { .. } => "cannot be reached".into(),
            Self::Ended { .. } => "ended before it answered".into(),
            Self::Handshake { .. } => "did not open a session".into(),
            Self::TimedOut { after } => format!("did not answer within {after:?}").into(),
            Self::Nonsense { .. } => "answered with something that is not MCP".into(),
            Self::TooLarge { limit } => format!("answered with more than {limit} bytes").into(),
            Self::Status { status } => format!("answered HTTP status {status}").into(),
            Self::Unauthorized { .. } => "refused the gateway's credentials".into(),
            // The page is the gateway's own.
            Self::Credentials { visit: Some(visit), .. } => format!(
                "needs to be connected by you first: open {} in a browser, then call again",
                visit.url
            )
            .into(),
            Self::Credentials { visit: None, .. } => {
                "needs credentials that the gateway does not have".into()
            }
            Self::CallerCredentials { what } => format!("needs {what}").into(),
            Self::Exhausted { .. } => "has no free session".into(),
            Self::Broken { retry_in, .. } => {
                format!("failed too often and is not tried again for {} s", whole_seconds(*retry_in)).into()
            }
            Self::Closed => "has been closed".into(),
            Self::InputRequired => "asked for input, which the gateway cannot pass on yet".into(),
        }
    }

    /// A word for metrics and `data.kind` (design §8).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "downstream_unreachable",
            Self::Ended { .. } => "downstream_ended",
            Self::Handshake { .. } => "downstream_handshake",
            Self::TimedOut { .. } => "downstream_timeout",
            Self::Nonsense { .. } => "downstream_invalid_answer",
            Self::TooLarge { .. } => "downstream_answer_too_large",
            Self::Status { .. } => "downstream_status",
            Self::Unauthorized { .. } => "downstream_unauthorized",
            Self::Credentials { .. } | Self::CallerCredentials { .. } => "downstream_credentials",
            Self::Exhausted { .. } => "downstream_pool_exhausted",
            Self::Broken { .. } => "downstream_broken",
            Self::Closed => "downstream_closed",
            Self::InputRequired => "downstream_input_required",
        }
    }
}

/// Only the operator can mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// Two parts of the configuration do not go together.
    #[error("configuration: {reason}")]
    Configuration {
        /// What and where.
        reason: String,
    },
}

/// Downstreams that could not be listed, where a partial list is an error (G-W6).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} could not be listed", Names(.downstreams))]
pub struct UnlistedError {
    /// Which ones, in the order of their names.
    pub downstreams: Vec<DownstreamName>,
}

struct Names<'a>(&'a [DownstreamName]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "downstream" } else { "downstreams" })?;
        let mut separator = " ";
        for name in self.0 {
            write!(f, "{separator}`{name}`")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// A bug in the gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error: {what}; please report it")]
pub struct InternalError {
    /// What should not have happened.
    pub what: &'static str,
}
