//! What observers say of a call: what it was for, and how it ended.

use std::borrow::Cow;

use gateway_domain::{
    CallerError, Decision, DownstreamFault, DownstreamName, Error, Execution, Found, Outcome, Reference,
    Subject, Target, TaskAct, View,
};

/// A call that was dropped before it was answered.
pub(crate) const CANCELLED: &str = "cancelled";
/// A call whose answering panicked.
pub(crate) const PANICKED: &str = "panicked";

/// What a call is for, in the client's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose<'a> {
    pub(crate) method: &'a str,
    /// The name or URI; `None` for what has none that may be shown, as a task.
    pub(crate) name: Option<&'a str>,
}

impl<'a> Purpose<'a> {
    pub(crate) fn of(subject: &'a Subject) -> Self {
        let (method, name) = match subject {
            Subject::Tool { name, .. } => ("tools/call", Some(name)),
            Subject::Prompt { name } => ("prompts/get", Some(name)),
            Subject::Resource { uri } => ("resources/read", Some(uri)),
            Subject::Completion(Reference::Prompt(name) | Reference::Resource(name)) => {
                ("completion/complete", Some(name))
            }
            Subject::Task { act: TaskAct::Get, .. } => ("tasks/get", None),
            Subject::Task { act: TaskAct::Update, .. } => ("tasks/update", None),
            Subject::Task { act: TaskAct::Cancel, .. } => ("tasks/cancel", None),
            Subject::Other { method } => (&**method, None),
        };
        Self { method, name: name.map(|name| &**name) }
    }
}

/// What a call is for, as it came, to be kept while it is answered.
pub(crate) fn subject(target: &Target) -> &Subject {
    match target {
        Target::Exposed { subject, .. } | Target::Downstream { subject, .. } => subject,
    }
}

/// The downstream that a call is for, as far as its target tells before it is resolved.
pub(crate) fn addressed(target: &Target) -> Option<&DownstreamName> {
    match target {
        Target::Downstream { downstream, .. }
        | Target::Exposed { view: View::Downstream(downstream), .. } => Some(downstream),
        Target::Exposed { .. } => None,
    }
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) decision: Decision,
    /// A word; `None`: all is well.
    pub(crate) error: Option<&'static str>,
    pub(crate) downstream: Option<Cow<'a, DownstreamName>>,
    /// The downstream was left alone because it has failed too often.
    pub(crate) is_broken: bool,
    pub(crate) is_rate_limited: bool,
    /// The downstream may have acted.
    pub(crate) may_have_run: bool,
}

impl<'a> Ending<'a> {
    /// The end of a call that was answered.
    pub(crate) fn of(found: &'a Found, result: &'a Result<Outcome, Error>) -> Self {
        let mut ending = Self {
            decision: decision(found, result),
            error: None,
            downstream: found.downstream.as_ref().map(Cow::Borrowed),
            is_broken: false,
            is_rate_limited: false,
            may_have_run: false,
        };
        match result {
            Ok(outcome) => {
                ending.error = complaint(outcome);
                ending.may_have_run = true;
            }
            Err(error) => {
                ending.error = Some(error.kind());
                ending.is_rate_limited = matches!(error, Error::Caller(CallerError::RateLimited { .. }));
                if let Error::Downstream(error) = error {
                    ending.is_broken = matches!(error.fault, DownstreamFault::Broken { .. });
                    ending.may_have_run = error.execution == Execution::Possible;
                    ending.downstream.get_or_insert(Cow::Borrowed(&error.downstream));
                }
            }
        }
        ending
    }

    /// The end of a call that nobody will hear of.
    pub(crate) fn unfinished(found: &'a Found) -> Self {
        let error = if std::thread::panicking() { PANICKED } else { CANCELLED };
        Self {
            decision: found.decision.unwrap_or_default(),
            error: Some(error),
            downstream: found.downstream.as_ref().map(Cow::Borrowed),
            is_broken: false,
            is_rate_limited: false,
            may_have_run: true,
        }
    }
}

/// What was noted. Where nothing was, the end of the call tells: whatever was answered, or reached a downstream, was
/// allowed, and what did not come so far was not (P-3).
fn decision(found: &Found, result: &Result<Outcome, Error>) -> Decision {
    match (found.decision, result) {
        (Some(Decision::Allowed), Err(Error::Caller(CallerError::InsufficientScope { .. }))) => {
            Decision::DeniedByDefault
        }
        (Some(decision), _) => decision,
        (None, Ok(_) | Err(Error::Downstream(_))) => Decision::Allowed,
        (None, Err(_)) => Decision::DeniedByDefault,
    }
}

/// What the downstream itself says went wrong.
fn complaint(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Failed(_) => Some("peer_error"),
        Outcome::Complete(result) => {
            let is_error = result.get("isError").and_then(|flag| flag.to_bool()).unwrap_or(false);
            is_error.then_some("tool_error")
        }
        Outcome::InputRequired(_) | Outcome::Task(_) => None,
    }
}
