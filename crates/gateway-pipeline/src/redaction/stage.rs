use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Call, Dispatcher, Error, Exchange, FollowUp, Outcome, Params, RawObject, Subject, Target,
};

use super::{
    config::Direction,
    errors,
    events::RedactedEvents,
    live::{LiveRedactor, Redaction},
    oversize::Bounds,
    redactor::{Redacted, Redactor},
};

/// What of a call is redacted.
#[derive(Debug, Clone, Copy)]
pub struct RedactSettings {
    /// Whether what clients send is: the params of a call, and their answers to questions. It may change what a tool
    /// does (P-W14).
    pub arguments: bool,
    /// Whether what clients are sent is: results, errors, questions, tasks, progress and logs.
    pub results: bool,
    /// The largest result, in bytes. A larger one is replaced by a small one that says so (P-37), whatever is redacted;
    /// `None`: there is no bound but those of the transports.
    pub max_result_bytes: Option<usize>,
    /// How many bytes of the first text of a result that is replaced are shown, redacted.
    pub keep: usize,
}

impl Default for RedactSettings {
    fn default() -> Self {
        Self { arguments: true, results: true, max_result_bytes: None, keep: 1024 }
    }
}

/// Redacts what passes in a call, and bounds results. A stage around any dispatcher.
///
/// What is routed on stays as it is: names, URIs and ids that the call is about, `_meta`, and what a follow-up goes on
/// with. Redactions of what goes out are noted for the record of the call, those of what goes in are not (P-36).
///
/// What downstreams say to a client's session outside any call does not pass here: whoever takes it asks the same
/// [`LiveRedactor`], which is a [`NoticeScreen`](gateway_domain::NoticeScreen).
///
/// Cancel-safe: it holds nothing.
#[derive(Debug)]
pub struct Redact<D> {
    redactor: Arc<LiveRedactor>,
    inner: D,
}

/// The members of params that are routed on, and are replaced hop by hop.
const ROUTED: [&str; 5] = ["_meta", "name", "uri", "ref", "taskId"];

impl<D> Redact<D> {
    /// The stage around `inner`.
    pub fn new(redactor: Arc<LiveRedactor>, inner: D) -> Self {
        Self { redactor, inner }
    }

    fn redact_call(&self, call: &mut Call) {
        let now = self.redactor.current();
        if let Some(redactor) = now.of_arguments() {
            let mut count = redact_params(redactor, &mut call.params);
            if let Some(FollowUp { responses, .. }) = &mut call.follow_up {
                let redacted = redactor.redact_object(responses, Direction::Arguments);
                *responses = redacted.value;
                count += redacted.count;
            }
            if count > 0 {
                tracing::debug!(count, caller = %call.caller, "redacted what a client sent");
            }
        }
        // Also if there is nothing to be found yet.
        if now.settings.results {
            let Exchange { events, notes, .. } = &mut call.exchange;
            *events = Arc::new(RedactedEvents {
                redactor: self.redactor.clone(),
                notes: notes.clone(),
                inner: events.clone(),
            });
        }
    }
}

impl Redaction {
    /// What is too large is not looked into; the second says whether it was.
    fn redact_outcome(&self, subject: &Subject, outcome: Outcome) -> (Redacted<Outcome>, bool) {
        let bounds = self.settings.max_result_bytes.map(|limit| Bounds { limit, keep: self.settings.keep });
        let oversized =
            |object: &RawObject| bounds.filter(|bounds| object.raw().as_bytes().len() > bounds.limit);
        match &outcome {
            Outcome::Complete(result) => {
                if let Some(bounds) = oversized(result) {
                    return (bounds.replace_result(self.of_results(), subject, result), true);
                }
            }
            Outcome::Failed(error) => {
                if let Some(bounds) = oversized(&error.raw) {
                    return (bounds.replace_error(self.of_results(), error), true);
                }
            }
            Outcome::InputRequired(_) | Outcome::Task(_) => {}
        }
        let redacted = match self.of_results() {
            Some(redactor) => redact_outcome(redactor, outcome),
            None => Redacted { value: outcome, count: 0 },
        };
        (redacted, false)
    }
}

#[async_trait]
impl<D: Dispatcher> Dispatcher for Redact<D> {
    async fn dispatch(&self, mut call: Call) -> Result<Outcome, Error> {
        self.redact_call(&mut call);
        let notes = call.exchange.notes.clone();
        let subject = match &call.target {
            Target::Exposed { subject, .. } | Target::Downstream { subject, .. } => subject.clone(),
        };
        let result = self.inner.dispatch(call).await;
        let now = self.redactor.current();
        match result {
            Ok(outcome) => {
                let (Redacted { value, count }, is_truncated) = now.redact_outcome(&subject, outcome);
                notes.redacted(count);
                if is_truncated {
                    notes.truncated();
                }
                Ok(value)
            }
            Err(error) => {
                let Some(redactor) = now.of_results() else { return Err(error) };
                let Redacted { value, count } = errors::redact(redactor, error);
                notes.redacted(count);
                Err(value)
            }
        }
    }
}

fn redact_params(redactor: &Redactor, params: &mut Params) -> u64 {
    let mut count = 0;
    let changed = params.object.iter().filter(|(name, _)| !ROUTED.contains(&&**name)).fold(
        params.object.edit(),
        |edit, (name, value)| {
            let redacted = redactor.redact_raw(&value, Direction::Arguments);
            count += redacted.count;
            match redacted.count {
                0 => edit,
                _ => edit.set(&name, redacted.value.as_bytes()),
            }
        },
    );
    if count > 0 {
        // Members keep their names, so it stays an object.
        params.object = RawObject::try_from(changed.finish()).unwrap_or_default();
    }
    count
}

fn redact_outcome(redactor: &Redactor, outcome: Outcome) -> Redacted<Outcome> {
    let redact = |object: &RawObject| redactor.redact_object(object, Direction::Results);
    match outcome {
        Outcome::Complete(result) => {
            let Redacted { value, count } = redact(&result);
            Redacted { value: Outcome::Complete(value), count }
        }
        Outcome::Failed(error) => {
            let Redacted { value, count } = errors::redact_peer(redactor, error);
            Redacted { value: Outcome::Failed(value), count }
        }
        Outcome::Task(mut task) => {
            let Redacted { value, count } = redact(&task.object);
            task.object = value;
            Redacted { value: Outcome::Task(task), count }
        }
        Outcome::InputRequired(mut input) => {
            let redacted = input.requests.as_ref().map(redact);
            let count = redacted.as_ref().map_or(0, |redacted| redacted.count);
            input.requests = redacted.map(|redacted| redacted.value);
            Redacted { value: Outcome::InputRequired(input), count }
        }
    }
}
