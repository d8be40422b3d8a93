//! What a server asks and says by itself: for which call it is, or for the owner of the session.

use std::sync::{Arc, Weak, atomic::Ordering};

use gateway_domain::{ClientCapabilities, ClientLink, Event, Notice, RawObject};
use gateway_protocol::{
    Request, RequestId,
    client::questions::{Asked, Attribution, Candidate, Question, ROOTS_WAIT, attribute, attribute_log},
};
use tokio::time::timeout;

use super::{CallState, Link, Table};

impl Link {
    /// Takes a request of a legacy server's, and sees to it that it is not left to wait.
    pub(crate) fn asked(self: &Arc<Self>, request: &Request) {
        let none = ClientCapabilities::none();
        match Asked::read(request, self.declared.get().unwrap_or(&none)) {
            Asked::Reply(reply) => self.tell(reply),
            Asked::Question(question) => self.question(question),
        }
    }

    fn question(self: &Arc<Self>, question: Question) {
        let (attribution, call) = self.find(|call| call.may_ask, |calls| attribute(calls));
        match (attribution, call) {
            (_, Some(call)) => {
                if let Err(refusal) = call.ask(question) {
                    self.tell(refusal);
                }
            }
            (Attribution::Unclear, None) => self.tell(question.abandoned()),
            (_, None) => self.outside(question),
        }
    }

    /// Gives a question of a call that has ended to another of the same client's: which it was about was a guess.
    pub(crate) fn hand_over(self: &Arc<Self>, question: Question, ended: &CallState) {
        let same = |call: &CallState| call.may_ask && call.owner.succeeds(&ended.owner);
        let (_, call) = self.find(same, |calls| attribute(calls));
        match call {
            Some(call) => {
                if let Err(refusal) = call.ask(question) {
                    self.tell(refusal);
                }
            }
            None => self.outside(question),
        }
    }

    /// Answers a question that no call is the reason of: roots can be known without one.
    pub(crate) fn outside(self: &Arc<Self>, question: Question) {
        if !question.is_roots() {
            return self.tell(question.abandoned());
        }
        let Ok(place) = Arc::clone(&self.outside).try_acquire_owned() else {
            return self.tell(question.unsupported());
        };
        let (link, mut owner) = (Arc::clone(self), self.client.subscribe());
        tokio::spawn(async move {
            // Servers ask as soon as the session is open, a moment before its owner is known.
            let client = timeout(OWNED, owner.wait_for(Option::is_some)).await;
            let client = client.ok().and_then(|client| client.ok()?.as_ref()?.upgrade());
            let roots = match client {
                Some(client) => timeout(ROOTS_WAIT, client.roots()).await.ok().flatten(),
                None => None,
            };
            link.tell(roots.map_or_else(|| question.unsupported(), |roots| question.answered(&roots)));
            drop(place);
        });
    }

    /// Takes note that the server does not want an answer any more.
    pub(crate) fn withdrawn(&self, params: &RawObject) {
        let Some(id) = params.get("requestId").and_then(RequestId::new) else { return };
        let calls: Vec<_> =
            self.table().pending.iter().filter_map(|(_, waiter)| waiter.call.clone()).collect();
        let withdrawn = calls.iter().any(|call| call.questions().withdraw(&id));
        tracing::debug!(downstream = %self.name, withdrawn, "it takes back its request {id}");
    }

    /// Passes a log message on to the call it belongs to, else to the owner of the session. Returns whether
    /// anybody wanted it.
    pub(crate) fn logged(&self, params: RawObject) -> bool {
        match self.find(|call| call.may_log, |calls| attribute_log(calls)) {
            (_, Some(call)) => call.relay.emit(Event::Log(params)),
            (_, None) => self.tell_owner(Notice::Log(params)),
        }
    }

    /// Tells the owner of the session something. Returns whether there is one.
    pub(crate) fn tell_owner(&self, notice: Notice) -> bool {
        let client = self.client.borrow().as_ref().and_then(Weak::upgrade);
        client.map(|client| client.tell(&self.name, notice)).is_some()
    }

    /// Says whose session this is.
    pub(crate) fn attend(&self, client: Weak<dyn ClientLink>) {
        self.client.send_replace(Some(client));
    }

    /// What of the client's was declared.
    pub(crate) fn declares_root_changes(&self) -> bool {
        let roots = self.declared.get().and_then(|declared| declared.raw().get_object("roots"));
        roots.and_then(|roots| roots.get("listChanged")?.to_bool()).unwrap_or(false)
    }

    /// The call that something belongs to which names none.
    fn find(
        &self,
        among: impl Fn(&CallState) -> bool,
        rule: fn(Vec<Candidate<'_>>) -> Attribution,
    ) -> (Attribution, Option<Arc<CallState>>) {
        let table = self.table();
        let attribution = rule(table.candidates(among));
        let call = match attribution {
            Attribution::Call(id) => table.pending.get(id).and_then(|waiter| waiter.call.clone()),
            Attribution::Nobody | Attribution::Unclear => None,
        };
        (attribution, call)
    }
}

impl Table {
    fn candidates(&self, among: impl Fn(&CallState) -> bool) -> Vec<Candidate<'_>> {
        let calls = self.pending.iter().filter_map(|(id, waiter)| Some((id, waiter.call.as_deref()?)));
        calls
            .filter(|(_, call)| among(call))
            .map(|(call, state)| Candidate {
                call,
                owner: &state.owner,
                parked: state.parked.load(Ordering::Relaxed),
            })
            .collect()
    }
}

/// How many questions outside any call are answered at once.
pub(super) const OUTSIDE: usize = 4;

/// How long after it asked a server waits for its session to have an owner.
const OWNED: std::time::Duration = std::time::Duration::from_millis(500);
