use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use gateway_domain::{RawJson, RawObject};
use tokio::sync::{Semaphore, oneshot, watch};

/// How many questions of one run are open at once; others wait for their turn.
const MAX_OPEN: u32 = 16;

/// Where the steps of a run leave questions for the client.
#[derive(Debug)]
pub(super) struct Desk {
    turns: Semaphore,
    slips: watch::Sender<Slips>,
}

/// The questions that are open, in the order in which they were asked.
#[derive(Debug, Default)]
pub(super) struct Slips {
    by_ticket: BTreeMap<u64, Slip>,
    next_ticket: u64,
}

/// Questions that are or were open: tickets and places. No two questions of a run are the same.
#[derive(Debug, Default)]
pub(super) struct Shown(BTreeSet<(u64, usize)>);

/// What one step, or one item of a loop, asks at once.
#[derive(Debug)]
struct Slip {
    /// Stands in front of its keys.
    label: String,
    questions: Vec<Question>,
    reply: oneshot::Sender<RawObject>,
}

#[derive(Debug)]
struct Question {
    key: String,
    request: RawJson,
    answer: Option<RawJson>,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self { turns: Semaphore::new(MAX_OPEN as usize), slips: watch::Sender::default() }
    }

    /// The questions, to be looked at and waited for.
    pub(super) fn watch(&self) -> watch::Receiver<Slips> {
        self.slips.subscribe()
    }

    /// The questions as they are now. Not to be held across a wait.
    pub(super) fn slips(&self) -> watch::Ref<'_, Slips> {
        self.slips.borrow()
    }

    /// Asks and waits for all answers. Dropping the future takes the questions back.
    pub(super) async fn ask(&self, label: &str, requests: &RawObject) -> RawObject {
        if requests.is_empty() {
            return RawObject::empty();
        }
        let places = u32::try_from(requests.len()).unwrap_or(MAX_OPEN).min(MAX_OPEN);
        // Fails when it is closed, which nobody does.
        let _turn = self.turns.acquire_many(places).await;
        let (reply, answers) = oneshot::channel();
        let mut ticket = 0;
        self.slips.send_modify(|slips| ticket = slips.put(label, requests, reply));
        let _open = Open { desk: self, ticket };
        // The reply is only let go of by this very future.
        answers.await.unwrap_or_else(|_| RawObject::empty())
    }

    /// Gives answers, keyed as in [`Slips::requests`]. Those that nobody asked for are ignored.
    pub(super) fn answer(&self, responses: &RawObject) {
        self.slips.send_if_modified(|slips| slips.answer(responses));
    }
}

/// Takes a slip back when it is dropped.
struct Open<'a> {
    desk: &'a Desk,
    ticket: u64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.desk.slips.send_if_modified(|slips| slips.by_ticket.remove(&self.ticket).is_some());
    }
}

impl Slips {
    /// Whether no answer is waited for.
    pub(super) fn is_empty(&self) -> bool {
        self.by_ticket.is_empty()
    }

    /// The questions that [`Self::requests`] has, to be compared with later ones.
    pub(super) fn shown(&self) -> Shown {
        let open = |(ticket, slip): (&u64, &Slip)| {
            let ticket = *ticket;
            let open = slip.questions.iter().enumerate().filter(|(_, question)| question.answer.is_none());
            open.map(|(place, _)| (ticket, place)).collect::<Vec<_>>()
        };
        Shown(self.by_ticket.iter().flat_map(open).collect())
    }

    /// Whether somebody who was shown these questions should look again: none of them is open any more, or there are
    /// others in place of some.
    pub(super) fn has_moved_on(&self, shown: &Shown) -> bool {
        let open = self.shown();
        let some_are_gone = !shown.0.is_subset(&open.0);
        let some_are_new = !open.0.is_subset(&shown.0);
        shown.0.is_disjoint(&open.0) || (some_are_gone && some_are_new)
    }

    /// Everything that has not been answered, keyed uniquely: `step.key`, `step[index].key`.
    pub(super) fn requests(&self) -> RawObject {
        let mut text = String::from("{");
        for slip in self.by_ticket.values() {
            for question in slip.questions.iter().filter(|question| question.answer.is_none()) {
                let separator = if text.len() > 1 { "," } else { "" };
                let key = RawJson::string(&slip.outer_key(question));
                let _ = write!(text, "{separator}{key}:{}", question.request);
            }
        }
        text.push('}');
        RawObject::parse(text).unwrap_or_default()
    }

    fn put(&mut self, label: &str, requests: &RawObject, reply: oneshot::Sender<RawObject>) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let is_taken = self.by_ticket.values().any(|slip| slip.label == label);
        let label = if is_taken { format!("{label}#{ticket}") } else { label.to_owned() };
        let question = |(key, request): (std::borrow::Cow<'_, str>, _)| Question {
            key: key.into_owned(),
            request,
            answer: None,
        };
        let questions = requests.iter().map(question).collect();
        self.by_ticket.insert(ticket, Slip { label, questions, reply });
        ticket
    }

    fn answer(&mut self, responses: &RawObject) -> bool {
        let mut is_changed = false;
        for slip in self.by_ticket.values_mut() {
            is_changed |= slip.take(responses);
        }
        for (_, slip) in self.by_ticket.extract_if(.., |_, slip| slip.is_complete()) {
            // Whoever asked may have given up in this moment.
            let _ = slip.reply.send(answers(slip.questions));
        }
        is_changed
    }
}

impl Slip {
    fn outer_key(&self, question: &Question) -> String {
        format!("{}.{}", self.label, question.key)
    }

    fn take(&mut self, responses: &RawObject) -> bool {
        let mut is_changed = false;
        for at in 0..self.questions.len() {
            let given = responses.get(&self.outer_key(&self.questions[at]));
            let question = &mut self.questions[at];
            if question.answer.is_none() && given.is_some() {
                question.answer = given;
                is_changed = true;
            }
        }
        is_changed
    }

    fn is_complete(&self) -> bool {
        self.questions.iter().all(|question| question.answer.is_some())
    }
}

/// The answers, keyed as the step keyed its questions.
fn answers(questions: Vec<Question>) -> RawObject {
    let answered = questions.into_iter().filter_map(|question| Some((question.key, question.answer?)));
    let members: Vec<_> =
        answered.map(|(key, answer)| format!("{}:{answer}", RawJson::string(&key))).collect();
    RawObject::parse(format!("{{{}}}", members.join(","))).unwrap_or_default()
}

#[cfg(test)]
mod tests;
