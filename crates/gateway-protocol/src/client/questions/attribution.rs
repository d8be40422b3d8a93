use std::sync::Arc;

use gateway_domain::{Exchange, SessionKey, Subject};

use crate::method;

/// Whose call it is, as far as it matters for what is asked in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    session: SessionKey,
    run: Option<Arc<str>>,
}

impl Owner {
    /// The owner of calls of this exchange.
    pub fn of(exchange: &Exchange) -> Self {
        Self { session: exchange.session.clone(), run: exchange.run.clone() }
    }

    /// Whether what is asked in a call of the one is put to the same client in the same request, or session, as what
    /// is asked in a call of the other: they are of one legacy client, or of one run of a workflow.
    pub fn asks_with(&self, other: &Self) -> bool {
        let is_one_run = self.run.is_some() && self.run == other.run;
        let is_one_session = matches!(self.session, SessionKey::Legacy { .. });
        self.session == other.session && (is_one_run || is_one_session)
    }

    /// Whether a workflow makes the call.
    pub fn is_of_run(&self) -> bool {
        self.run.is_some()
    }

    /// Whether a question of a call of the one that has ended may be about a call of the other.
    pub fn succeeds(&self, other: &Self) -> bool {
        self == other || self.asks_with(other)
    }
}

/// A call under way in a session, when a question comes that no stream ties to one.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its number; calls that begin later have greater ones.
    pub call: u64,
    /// Whose call it is.
    pub owner: &'a Owner,
    /// Whether it waits for answers itself.
    pub parked: bool,
}

/// Which call something belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribution {
    /// This one.
    Call(u64),
    /// None is under way.
    Nobody,
    /// It cannot be told, and must not be guessed (protocol.md §20.4, §20.6).
    Unclear,
}

/// Which call a question belongs to: the only one under way; of several of one legacy client, which is asked in its
/// session whichever it is, or of one run of a workflow, the one that began last, of those that run if any does. A call that waits for answers may
/// be asked more at any time, so that of several others nobody knows.
pub fn attribute<'a>(calls: impl IntoIterator<Item = Candidate<'a>>) -> Attribution {
    let calls: Vec<_> = calls.into_iter().collect();
    let Some(first) = calls.first() else { return Attribution::Nobody };
    if calls.len() > 1 && !calls.iter().all(|candidate| candidate.owner.asks_with(first.owner)) {
        return Attribution::Unclear;
    }
    let last = calls.iter().max_by_key(|candidate| (!candidate.parked, candidate.call)).unwrap_or(first);
    Attribution::Call(last.call)
}

/// Whether a legacy server may need answers for this. Looks at a core task do not: they come while another request
/// waits for its result.
pub fn may_ask(subject: &Subject) -> bool {
    match subject {
        Subject::Completion(_) | Subject::Task { .. } => false,
        Subject::Other { method } => {
            ![method::TASKS_GET, method::TASKS_CANCEL, "tasks/list"].contains(&&**method)
        }
        Subject::Tool { .. } | Subject::Prompt { .. } | Subject::Resource { .. } => true,
    }
}

/// Which call a log message belongs to: the only one that runs, or, if none does, that waits for answers.
pub fn attribute_log<'a>(calls: impl IntoIterator<Item = Candidate<'a>>) -> Attribution {
    match relevant(calls)[..] {
        [] => Attribution::Nobody,
        [only] => Attribution::Call(only.call),
        _ => Attribution::Unclear,
    }
}

fn relevant<'a>(calls: impl IntoIterator<Item = Candidate<'a>>) -> Vec<Candidate<'a>> {
    let (parked, running): (Vec<_>, Vec<_>) = calls.into_iter().partition(|candidate| candidate.parked);
    if running.is_empty() { parked } else { running }
}
