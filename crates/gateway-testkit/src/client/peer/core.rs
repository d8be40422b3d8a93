//! What a peer knows, however it is connected.

use std::{
    collections::HashMap,
    io,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use super::{Asked, Manner, Said};
use crate::{
    client::{Answer, closed},
    engine::locked,
    message::{Members, Message, members, quote},
    transcript::{Line, Way},
};

#[derive(Debug)]
pub(super) struct Core {
    pub(super) manner: Manner,
    pub(super) lines: Mutex<Vec<Line>>,
    pub(super) asked: Mutex<Vec<Asked>>,
    pub(super) faults: Mutex<Vec<String>>,
    pub(super) revision: Mutex<Option<String>>,
    pub(super) greeting: Mutex<Option<Answer>>,
    waiting: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
    ids: AtomicU64,
    news: Notify,
}

impl Core {
    pub(super) fn new(manner: Manner) -> Self {
        Self {
            manner,
            lines: Mutex::default(),
            asked: Mutex::default(),
            faults: Mutex::default(),
            revision: Mutex::default(),
            greeting: Mutex::default(),
            waiting: Mutex::default(),
            ids: AtomicU64::new(1),
            news: Notify::new(),
        }
    }

    /// Numbers and strings in turn.
    pub(super) fn next_id(&self) -> String {
        let n = self.ids.fetch_add(1, Ordering::Relaxed);
        if n.is_multiple_of(2) { n.to_string() } else { format!("\"id {n}\"") }
    }

    pub(super) fn note(&self, way: Way, text: &str) {
        locked(&self.lines).push(Line { way, keeper: 0, text: text.to_owned() });
        self.news.notify_waiters();
    }

    pub(super) fn fault(&self, text: String) {
        locked(&self.faults).push(text);
    }

    pub(super) fn expect(&self, id: &str, sender: oneshot::Sender<Answer>) {
        locked(&self.waiting).insert(id.to_owned(), sender);
    }

    /// There will be no answer to this request any more.
    pub(super) fn give_up(&self, id: &str) {
        locked(&self.waiting).remove(id);
    }

    pub(super) fn give_all_up(&self) {
        locked(&self.waiting).clear();
    }

    /// Takes one message; returns what is to be said to it. `head` is the answer's head over HTTP.
    pub(super) fn take(&self, text: &str, head: &Answer) -> Option<String> {
        self.note(Way::In, text);
        let Some(message) = Message::parse(text) else {
            self.fault(format!("no JSON object: {text}"));
            return None;
        };
        match (&message.method, &message.id) {
            (Some(_), None) => None,
            (Some(method), Some(id)) => self.say(method, id, &message),
            (None, id) => {
                let waiting = id.as_ref().and_then(|id| locked(&self.waiting).remove(id));
                // Who asked may have given up; the record has it.
                if let Some(sender) = waiting {
                    drop(sender.send(Answer { text: text.to_owned(), ..head.clone() }));
                }
                None
            }
        }
    }

    fn say(&self, method: &str, id: &str, message: &Message) -> Option<String> {
        let params = value(&message.text)["params"].take();
        let response = match self.ask(method, id, params) {
            Said::Result(result) => crate::message::result(id, &result),
            Said::Error(code, why) => crate::message::Refusal::new(code, 200, why).render(Some(id)),
            Said::Nothing => return None,
        };
        self.note(Way::Out, &response);
        Some(response)
    }

    fn ask(&self, method: &str, id: &str, params: Value) -> Said {
        let asked = Asked { method: method.to_owned(), params, id: id.to_owned() };
        let said = (self.manner.script)(&asked);
        locked(&self.asked).push(asked);
        self.news.notify_waiters();
        said
    }

    /// The parameters of the next round, if `answer` wants one.
    pub(super) fn retry(&self, params: &str, answer: &Answer) -> Option<String> {
        let result: Members = members(&answer.result()?)?;
        if result.get("resultType")?.get() != r#""input_required""# {
            return None;
        }
        let mut extra = String::new();
        if let Some(requests) = result.get("inputRequests") {
            let answers = self.answers(&value(requests.get()));
            extra += &format!(r#","inputResponses":{{{}}}"#, answers.join(","));
        }
        if let Some(state) = result.get("requestState") {
            extra += &format!(r#","requestState":{}"#, state.get());
        }
        let open = params.trim_end().strip_suffix('}')?;
        Some(if open.trim_end() == "{" { format!("{{{}}}", &extra[1..]) } else { format!("{open}{extra}}}") })
    }

    fn answers(&self, requests: &Value) -> Vec<String> {
        let requests = requests.as_object().into_iter().flatten();
        let mut answers = Vec::new();
        for (key, request) in requests {
            let method = request["method"].as_str().unwrap_or_default();
            if let Said::Result(result) = self.ask(method, key, request["params"].clone()) {
                answers.push(format!("{}:{result}", quote(key)));
            }
        }
        answers
    }

    pub(super) fn notifications(&self, method: &str) -> Vec<Value> {
        let lines = locked(&self.lines);
        let came = lines.iter().filter(|line| line.way == Way::In).map(|line| value(&line.text));
        came.filter(|message| message["method"] == method && message.get("id").is_none())
            .map(|mut message| message["params"].take())
            .collect()
    }

    pub(super) async fn heard(
        &self,
        method: &str,
        at_most: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> io::Result<Value> {
        let looked =
            self.until(at_most, || self.notifications(method).into_iter().find(|params| wanted(params)));
        looked.await.map_err(|_| closed(&format!("{method} as wanted never came")))
    }

    /// Looks whenever there is news.
    pub(super) async fn until<T>(&self, at_most: Duration, look: impl Fn() -> Option<T>) -> io::Result<T> {
        let looking = async {
            loop {
                let mut news = std::pin::pin!(self.news.notified());
                news.as_mut().enable();
                if let Some(found) = look() {
                    return found;
                }
                news.await;
            }
        };
        tokio::time::timeout(at_most, looking).await.map_err(|_| closed("it never came about"))
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
