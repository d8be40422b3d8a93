use gateway_domain::{SessionKey, Subject};

use crate::method;

/// A call under way in a session, when a question comes that no stream ties to one.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its number; calls that begin later have greater ones.
    pub call: u64,
    /// Whose call it is.
    pub owner: &'a SessionKey,
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
/// session whichever it is, the one that began last, of those that run if any does. A call that waits for answers may
/// be asked more at any time, so that of several others nobody knows.
pub fn attribute<'a>(calls: impl IntoIterator<Item = Candidate<'a>>) -> Attribution {
    let calls: Vec<_> = calls.into_iter().collect();
    let Some(first) = calls.first() else { return Attribution::Nobody };
    let one_client = matches!(first.owner, SessionKey::Legacy { .. })
        && calls.iter().all(|candidate| candidate.owner == first.owner);
    if calls.len() > 1 && !one_client {
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
