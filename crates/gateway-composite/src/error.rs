//! What goes wrong while a workflow runs. Texts are for clients: they name no hosts, URLs or commands.

use std::{fmt, sync::Arc, time::Duration};

use gateway_domain::Error;

use crate::definition::DefinitionErrors;

/// Why a template did not come to a value (C-58).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// Where it stands, as `arguments.query[0]`; empty if its place is known from the context.
    pub place: String,
    /// What is wrong.
    pub reason: String,
    /// Whether a value was missing (C-W5).
    pub is_missing: bool,
}

impl TemplateError {
    /// The same within an outer place: a member's name, or an element as `[0]`.
    pub(crate) fn within(self, outer: &str) -> Self {
        Self { place: place_within(outer, &self.place), ..self }
    }
}

/// A place within an outer one, either of which may be empty: `a` and `b` are `a.b`, `a` and `[0]` are `a[0]`.
pub(crate) fn place_within(outer: &str, inner: &str) -> String {
    let separator = if outer.is_empty() || inner.is_empty() || inner.starts_with('[') { "" } else { "." };
    format!("{outer}{separator}{inner}")
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.reason),
            place => write!(f, "`{place}`: {}", self.reason),
        }
    }
}

impl std::error::Error for TemplateError {}

/// What a run may use up only so much of (C-W18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Calls of tools, attempts included.
    Calls,
    /// Bytes of what tools and users have given.
    Bytes,
}

impl Quota {
    /// The setting that bounds it, as the gateway's configuration names it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Calls => "runs.max_calls",
            Self::Bytes => "runs.max_bytes",
        }
    }

    /// The sentence about a run that came to its bound.
    fn exceeded(self, limit: u64) -> String {
        let setting = self.setting();
        format!(
            "the workflow may not have more than {limit} {self}; raise the gateway's `{setting}` if it may"
        )
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calls => "calls",
            Self::Bytes => "bytes of results",
        })
    }
}

/// Why a workflow has no result (C-53).
///
/// Two kinds of C-53 cannot occur. A workflow that is not found is no run: its caller is refused with
/// [`CallerError::UnknownTool`](gateway_domain::CallerError::UnknownTool). And no dependency is unmet: a step begins
/// when those that it needs are done, not before. A failed call of a tool is the cause of [`Self::StepFailed`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkflowError {
    /// It took longer than it may (C-52, C-W7).
    #[error(
        "the workflow did not end within {}; raise its `timeout`, or the gateway's `runs.max_time`, if it may take longer",
        humantime::format_duration(*.after)
    )]
    TimedOut {
        /// How long it may take.
        after: Duration,
    },
    /// Its caller, or somebody else, has cancelled it.
    #[error("the workflow was cancelled")]
    Cancelled,
    /// What its author wrote breaks the rules.
    #[error("the workflow's definition is invalid: {0}")]
    InvalidDefinition(DefinitionErrors),
    /// The arguments are not what `parameters` says (C-W8).
    #[error("invalid arguments: {reason}")]
    InvalidParameters {
        /// What is wrong with them, for a model.
        reason: String,
    },
    /// A step failed, and its failure is not forgiven.
    #[error("step `{step}` failed: {cause}")]
    StepFailed {
        /// Its id.
        step: Arc<str>,
        /// Why.
        cause: Box<StepError>,
    },
    /// A template outside any step, as one of the output, did not come to a value.
    #[error("{0}")]
    Template(TemplateError),
    /// Steps wait for one another. Definitions are checked for that when they are loaded.
    #[error("steps depend on one another in a circle: {}", .steps.join(" -> "))]
    CircularDependency {
        /// The circle.
        steps: Vec<String>,
    },
    /// The run came to a bound (C-W18).
    #[error("{}", .what.exceeded(*.limit))]
    LimitExceeded {
        /// Of what.
        what: Quota,
        /// The bound.
        limit: u64,
    },
    /// The composer has a bug.
    #[error("internal error; please report it")]
    Internal,
}

impl WorkflowError {
    /// A word for audit records and result `_meta`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TimedOut { .. } => "workflow_timeout",
            Self::Cancelled => "workflow_cancelled",
            Self::InvalidDefinition(_) => "invalid_definition",
            Self::InvalidParameters { .. } => "invalid_parameters",
            Self::StepFailed { .. } => "step_failed",
            Self::Template(_) => "template_expansion",
            Self::CircularDependency { .. } => "circular_dependency",
            Self::LimitExceeded { .. } => "limit_exceeded",
            Self::Internal => "internal",
        }
    }

    /// The sentence for the operator: other than for clients, hosts and URLs are in it.
    pub fn for_operator(&self) -> String {
        match self {
            Self::StepFailed { step, cause } => format!("step `{step}` failed: {}", cause.for_operator()),
            other => other.to_string(),
        }
    }
}

/// Why a step, or one item of a loop, failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A template did not come to a value.
    #[error("{0}")]
    Template(TemplateError),
    /// A condition came to neither true nor false (C-45).
    #[error("`condition` came to {found}, which is neither true nor false")]
    Condition {
        /// What it came to, cut.
        found: String,
    },
    /// The caller has no such tool.
    #[error("there is no tool `{tool}` for this caller")]
    UnknownTool {
        /// As it is written in the step.
        tool: Arc<str>,
    },
    /// The tool answered that it failed (C-47).
    #[error("tool `{tool}` failed: {message}")]
    ToolFailed {
        /// The tool.
        tool: Arc<str>,
        /// What it says.
        message: String,
    },
    /// The tool's server answered with an error.
    #[error("tool `{tool}` answered with error {code}: {message}")]
    Peer {
        /// The tool.
        tool: Arc<str>,
        /// JSON-RPC's code.
        code: i64,
        /// What it says.
        message: String,
    },
    /// The call could not be made, or was not answered.
    #[error("tool `{tool}` could not be called: {}", .error.for_client())]
    Call {
        /// The tool.
        tool: Arc<str>,
        /// Why.
        error: Error,
    },
    /// The tool's answer is none that a workflow can go on with.
    #[error("tool `{tool}` {reason}")]
    Answer {
        /// The tool.
        tool: Arc<str>,
        /// What is wrong with it, as the end of the sentence.
        reason: &'static str,
    },
    /// Something is nested so deep that nothing can be put around it.
    #[error("its values are nested too deep")]
    TooDeep,
    /// It took longer than it may.
    #[error(
        "it did not end within {}; raise its `timeout` if it may take longer",
        humantime::format_duration(*.after)
    )]
    TimedOut {
        /// How long it may take.
        after: Duration,
    },
    /// `collection` came to no array (C-59).
    #[error("`collection` came to {found}, which is no array")]
    Collection {
        /// What it came to, at most 100 characters.
        found: String,
    },
    /// There are more items than there may be (C-60).
    #[error("`collection` has {count} items; there may be {limit}")]
    TooManyItems {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: u32,
    },
    /// An item of a loop failed (C-63).
    #[error("item {index} failed: {cause}")]
    Item {
        /// Which, from 0.
        index: usize,
        /// Why.
        cause: Box<Self>,
    },
    /// The client cannot be asked (C-69).
    #[error("the user cannot be asked: the client has not declared elicitation")]
    ElicitationNotConfigured,
    /// The user refused (C-68).
    #[error("the user declined")]
    Declined,
    /// The user dismissed the question (C-68).
    #[error("the user dismissed the question")]
    Dismissed,
    /// Nobody answered in time (C-68).
    #[error("nobody answered within {}", humantime::format_duration(*.after))]
    Unanswered {
        /// How long was waited.
        after: Duration,
    },
    /// The answer has an unknown action (C-69).
    #[error("the client answered with the unknown action {action:?}")]
    UnknownAction {
        /// The action.
        action: String,
    },
    /// What the user gave is not what was asked for (C-W8).
    #[error("the answer does not fit: {reason}")]
    InvalidContent {
        /// What is wrong with it.
        reason: String,
    },
    /// The run came to a bound (C-W18). Never forgiven: it ends the run.
    #[error("{}", .what.exceeded(*.limit))]
    LimitExceeded {
        /// Of what.
        what: Quota,
        /// The bound.
        limit: u64,
    },
    /// The composer has a bug. Never forgiven.
    #[error("internal error; please report it")]
    Internal,
}

impl StepError {
    /// The sentence for the operator: other than for clients, hosts and URLs are in it.
    pub fn for_operator(&self) -> String {
        match self {
            Self::Call { tool, error } => format!("tool `{tool}` could not be called: {error}"),
            Self::Item { index, cause } => format!("item {index} failed: {}", cause.for_operator()),
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use gateway_domain::{DownstreamFault, DownstreamName};

    use super::*;

    #[test]
    fn operators_are_told_the_host_and_clients_are_not() {
        let fault = DownstreamFault::Unreachable { reason: "https://secret.example:1/".into() };
        let error = fault.before(&DownstreamName::parse("d").unwrap());
        let call = StepError::Call { tool: "d__t".into(), error };
        let item = StepError::Item { index: 3, cause: Box::new(call) };
        let error = WorkflowError::StepFailed { step: "s".into(), cause: Box::new(item) };
        assert!(!error.to_string().contains("secret.example"), "{error}");
        let told = error.for_operator();
        assert!(
            told.starts_with("step `s` failed: item 3 failed: tool `d__t` could not be called: "),
            "{told}"
        );
        assert!(told.contains("https://secret.example:1/"), "{told}");
    }

    #[test]
    fn bounds_say_how_they_are_raised() {
        let after = Duration::from_secs(2);
        for (told, setting) in [
            (WorkflowError::TimedOut { after }.to_string(), "`runs.max_time`"),
            (WorkflowError::TimedOut { after }.to_string(), "its `timeout`"),
            (StepError::TimedOut { after }.to_string(), "its `timeout`"),
            (StepError::LimitExceeded { what: Quota::Calls, limit: 7 }.to_string(), "7 calls"),
            (StepError::LimitExceeded { what: Quota::Calls, limit: 7 }.to_string(), "`runs.max_calls`"),
            (WorkflowError::LimitExceeded { what: Quota::Bytes, limit: 7 }.to_string(), "`runs.max_bytes`"),
        ] {
            assert!(told.contains(setting), "{told}");
        }
    }
}
