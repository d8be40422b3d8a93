//! What each tool does.

pub(crate) mod questions;
pub(crate) mod tasks;
mod whole;

use std::time::Duration;

use serde_json::Value;

use crate::{
    engine::{Conversation, Engine, complete},
    fixtures::{ODD_RESULT, ODD_RESULT_MODERN},
    message::{notification, quote},
    profile::LEVELS,
    reply::{End, Interaction, Reply},
};

/// One call and where it came from.
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    /// Raw text of `arguments`.
    pub(crate) arguments: &'a str,
    /// Raw text of the progress token.
    pub(crate) token: Option<&'a str>,
    /// Raw text of `inputResponses`, on a retry.
    pub(crate) responses: Option<&'a str>,
    /// Raw text of `requestState`, on a retry.
    pub(crate) state: Option<&'a str>,
    /// The least level of log notifications that may be sent; `None`: none may.
    pub(crate) log_level: Option<String>,
    /// What the client declared.
    pub(crate) capabilities: &'a Value,
    /// Whether it asked for a legacy task.
    pub(crate) wants_task: bool,
    pub(crate) modern: bool,
    pub(crate) engine: &'a Engine,
    pub(crate) conversation: &'a Conversation,
}

pub(crate) fn call(call: &Call<'_>) -> Reply {
    let reply = act(call);
    match call.engine.profile.progress_always {
        0 => reply,
        n => progress(call, n, reply),
    }
}

fn act(call: &Call<'_>) -> Reply {
    match call.name {
        "add" => call.done(&sum(call)),
        "sleep_ms" => Reply { delay: call.millis("ms"), ..call.done(&echo(call)) },
        "counter" => call.done(&structured(&format!(r#"{{"count":{}}}"#, call.conversation.count()))),
        "blob" => call.done(&text(&"x".repeat(usize::try_from(call.number("bytes")).unwrap_or(0)))),
        "fail" => call.done(&format!(r#"{},"isError":true"#, text("the tool failed"))),
        "report" => call.done(&structured(&call.engine.report())),
        "odd" => Reply::end(End::Result(match call.modern {
            true => ODD_RESULT_MODERN.to_owned(),
            false => ODD_RESULT.to_owned(),
        })),
        "structured_only" => call.done(&format!(r#""content":[],"structuredContent":{}"#, call.arguments)),
        "ask" => ask(call),
        "progress" => progress(call, call.number("n"), call.done(&text("done"))),
        "log" => log(call),
        _ if call.engine.profile.whole => whole::act(call),
        _ => call.done(&echo(call)),
    }
}

impl Call<'_> {
    fn done(&self, members: &str) -> Reply {
        let marker = self.engine.profile.marker.as_deref();
        let meta = marker.map(|m| format!(r#","_meta":{{"example.testkit/marker":{}}}"#, quote(m)));
        Reply::end(End::Result(complete(self.modern, &format!("{members}{}", meta.unwrap_or_default()))))
    }

    fn argument(&self, name: &str) -> Value {
        serde_json::from_str::<Value>(self.arguments)
            .ok()
            .and_then(|v| v.get(name).cloned())
            .unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self.argument(name).as_u64().unwrap_or(0)
    }

    fn millis(&self, name: &str) -> Duration {
        Duration::from_millis(self.number(name))
    }

    fn marker(&self) -> &str {
        self.engine.profile.marker.as_deref().unwrap_or("fake")
    }
}

fn sum(call: &Call<'_>) -> String {
    let number = |name| call.argument(name).as_f64().unwrap_or(0.0);
    structured(&format!(r#"{{"sum":{}}}"#, number("a") + number("b")))
}

fn echo(call: &Call<'_>) -> String {
    structured(call.arguments)
}

/// Progress is told only to a caller that asked for it.
fn progress(call: &Call<'_>, n: u64, done: Reply) -> Reply {
    let Some(token) = call.token.map(str::to_owned) else { return done };
    let message = quote(call.marker());
    let notices = (1..=n).map(move |k| {
        let params = format!(r#"{{"progressToken":{token},"progress":{k},"total":{n},"message":{message}}}"#);
        notification("notifications/progress", &params)
    });
    Reply { notices: Box::new(notices), streams: n > 0, pace: call.millis("ms"), ..done }
}

/// Asks the user: in mid-call on the legacy wire, by an `input_required` result on the modern one.
fn ask(call: &Call<'_>) -> Reply {
    if !call.modern {
        let interaction = Interaction::echoing(call.engine, "elicitation/create", ELICITATION);
        return Reply::end(End::Interact(interaction));
    }
    let Some(responses) = call.responses else {
        return Reply::end(End::Result(format!(
            r#"{{"resultType":"input_required","inputRequests":{{"q":{{"method":"elicitation/create","params":{ELICITATION}}}}},"requestState":"{ASK_STATE}"}}"#
        )));
    };
    let state = call.state.unwrap_or("null");
    call.done(&structured(&format!(r#"{{"answer":{responses},"state":{state}}}"#)))
}

fn log(call: &Call<'_>) -> Reply {
    let level = call.argument("level").as_str().unwrap_or("info").to_owned();
    let rank = |level: &str| LEVELS.iter().position(|l| *l == level);
    let may = call.log_level.as_deref().is_some_and(|least| rank(&level) >= rank(least));
    let n = if may { call.number("n") } else { 0 };
    let marker = quote(call.marker());
    let notices = (1..=n).map(move |k| {
        let params =
            format!(r#"{{"level":"{level}","logger":"fake","data":{{"line":{k},"marker":{marker}}}}}"#);
        notification("notifications/message", &params)
    });
    let pace = call.millis("ms");
    Reply { notices: Box::new(notices), streams: n > 0, pace, ..call.done(&text("logged")) }
}

fn text(text: &str) -> String {
    format!(r#""content":[{{"type":"text","text":{}}}]"#, quote(text))
}

pub(crate) fn structured(json: &str) -> String {
    format!(r#"{},"structuredContent":{json}"#, text(json))
}

const ELICITATION: &str = r#"{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}"#;

/// `requestState` with what a splice could get wrong.
const ASK_STATE: &str = r#"v1.\u0061\/=\"+"#;
