//! What a client is asked in its session, and its answers. An answer is looked for in the session that it comes in,
//! and nowhere else.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use gateway_protocol::{Answer, RequestId, Response, method, write};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};

use super::journal::Journal;
use crate::endpoint::Payload;

/// The open questions of one session. There are no more than its calls in flight, and one for its roots.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: Mutex<Open>,
    /// The number of the last one. One client that begins anew on the same wire shares it with its earlier session,
    /// so that no late answer meets another question.
    next: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Open {
    asked: HashMap<u64, oneshot::Sender<Answer>>,
    /// The session is over.
    ended: bool,
}

/// Where a question is put.
#[derive(Debug)]
pub(crate) enum Voice {
    /// On the stream of the request that it is for.
    Call(mpsc::Sender<Payload>),
    /// Outside any request.
    Session(Arc<Journal>),
}

impl Voice {
    async fn say(&self, message: Payload) -> bool {
        match self {
            Self::Call(stream) => stream.send(message).await.is_ok(),
            Self::Session(stream) => {
                stream.say(message).await;
                true
            }
        }
    }

    fn try_say(&self, message: Payload) {
        match self {
            // A stream that takes nothing, or has ended, has nobody who still thinks about the question.
            Self::Call(stream) => drop(stream.try_send(message)),
            Self::Session(stream) => stream.push(message),
        }
    }
}

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unheard {
    /// Nobody is there to be asked.
    #[error("it is gone")]
    Gone,
    /// The session has ended.
    #[error("its session has ended")]
    Ended,
    /// It took too long.
    #[error("it took too long")]
    Late,
}

impl Questions {
    /// Those of a session that counts on from others.
    pub(super) fn after(next: Arc<AtomicU64>) -> Self {
        Self { open: Mutex::default(), next }
    }

    /// Asks and waits. When nobody waits any more, or it took too long, the client is told that it need not answer.
    pub(crate) async fn ask(
        &self,
        voice: &Voice,
        method: &str,
        params: &[u8],
        until: Instant,
    ) -> Result<Answer, Unheard> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answered) = oneshot::channel();
        {
            let mut open = self.open();
            if open.ended {
                return Err(Unheard::Ended);
            }
            open.asked.insert(id, sender);
        }
        let mut asked = Asked { questions: self, voice, id, is_said: false };
        let talk = async {
            if !voice.say(write::request(&RequestId::from(id), method, params).into()).await {
                return Err(Unheard::Gone);
            }
            asked.is_said = true;
            answered.await.map_err(|_| Unheard::Ended)
        };
        timeout_at(until, talk).await.unwrap_or(Err(Unheard::Late))
    }

    /// Takes an answer. One to nothing that is asked is none of ours: the question may have been taken back.
    pub(crate) fn answer(&self, response: Response) {
        let id = response.id.and_then(|id| id.to_number());
        let waiting = id.and_then(|id| self.open().asked.remove(&id));
        if let Some(waiting) = waiting {
            // Whoever asked may have gone in this moment.
            let _ = waiting.send(response.answer);
        }
    }

    /// Nothing is asked any more.
    pub(crate) fn end(&self) {
        let mut open = self.open();
        open.ended = true;
        open.asked.clear();
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that is taken back when dropped unanswered.
struct Asked<'a> {
    questions: &'a Questions,
    voice: &'a Voice,
    id: u64,
    is_said: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let is_open = self.questions.open().asked.remove(&self.id).is_some();
        if is_open && self.is_said {
            let params = format!(r#"{{"requestId":{}}}"#, self.id);
            self.voice.try_say(write::notification(method::CANCELLED, params.as_bytes()).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use gateway_protocol::{Incoming, Message};

    use super::*;

    fn after(seconds: u64) -> Instant {
        Instant::now() + std::time::Duration::from_secs(seconds)
    }

    fn response(text: &str) -> Response {
        match Incoming::parse(text.to_owned().into()) {
            Ok(Incoming::Single(Message::Response(response))) => response,
            other => panic!("no response: {other:?}"),
        }
    }

    fn text(message: Option<Payload>) -> String {
        String::from_utf8(message.unwrap().0.concat()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn each_question_gets_its_own_answer() {
        let questions = Questions::default();
        let (sender, mut said) = mpsc::channel(8);
        let voice = Voice::Call(sender);
        let client = async {
            for id in 1..=2 {
                let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{}}}}"#);
                assert_eq!(text(said.recv().await), expected);
            }
            questions.answer(response(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#));
            questions.answer(response(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#));
            questions.answer(response(r#"{"jsonrpc":"2.0","id":2,"result":{"n":2.0}}"#));
            questions.answer(response(r#"{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no"}}"#));
        };
        let (one, two, ()) = tokio::join!(
            questions.ask(&voice, "m", b"{}", after(60)),
            questions.ask(&voice, "m", b"{}", after(60)),
            client
        );
        assert!(matches!(one, Ok(Answer::Error(error)) if error.code == 7));
        assert!(matches!(two, Ok(Answer::Result(result)) if result.as_str() == r#"{"n":2.0}"#));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_even_read_has_no_longer() {
        let (sender, mut said) = mpsc::channel(1);
        sender.try_send(Payload::default()).unwrap();
        let questions = Questions::default();
        let late = questions.ask(&Voice::Call(sender), "m", b"{}", after(1)).await;
        assert_eq!(late.unwrap_err(), Unheard::Late);
        said.recv().await;
        assert!(said.recv().await.is_none(), "what was not asked need not be taken back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_over_is_taken_back() {
        let questions = Questions::default();
        let (sender, mut said) = mpsc::channel(8);
        let voice = Voice::Call(sender);
        let late = questions.ask(&voice, "m", b"{}", after(1)).await;
        assert_eq!(late.unwrap_err(), Unheard::Late);
        drop(said.recv().await);
        let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(text(said.recv().await), cancelled);
        // Nor does a late answer meet the next question.
        tokio::select! {
            _ = questions.ask(&voice, "m", b"{}", after(60)) => panic!("nobody has answered"),
            () = async {
                drop(said.recv().await);
                questions.answer(response(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
                tokio::task::yield_now().await;
            } => {}
        }
        assert_eq!(text(said.recv().await), cancelled.replace(":1}", ":2}"));
        let (ended, ()) =
            tokio::join!(questions.ask(&voice, "m", b"{}", after(60)), async { questions.end() });
        assert_eq!(ended.unwrap_err(), Unheard::Ended);
        assert_eq!(questions.ask(&voice, "m", b"{}", after(60)).await.unwrap_err(), Unheard::Ended);
    }
}
