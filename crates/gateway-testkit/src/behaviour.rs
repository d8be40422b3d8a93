//! What each tool does.

use std::time::Duration;

use serde_json::Value;

use crate::{
    engine::{Conversation, End, Engine, Reply, complete},
    fixtures::{ODD_RESULT, ODD_RESULT_MODERN},
    message::{notification, quote},
};

/// One call and where it came from.
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    /// Raw text of `arguments`.
    pub(crate) arguments: &'a str,
    /// Raw text of the progress token.
    pub(crate) token: Option<&'a str>,
    /// Whether log notifications may be sent.
    pub(crate) logs: bool,
    pub(crate) modern: bool,
    pub(crate) engine: &'a Engine,
    pub(crate) conversation: &'a Conversation,
}

pub(crate) fn call(call: &Call<'_>) -> Reply {
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
        "progress" => progress(call),
        "log" => log(call),
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
fn progress(call: &Call<'_>) -> Reply {
    let n = call.number("n");
    let done = call.done(&text("done"));
    let Some(token) = call.token.map(str::to_owned) else { return done };
    let message = quote(call.marker());
    let notices = (1..=n).map(move |k| {
        let params = format!(r#"{{"progressToken":{token},"progress":{k},"total":{n},"message":{message}}}"#);
        notification("notifications/progress", &params)
    });
    Reply { notices: Box::new(notices), streams: n > 0, pace: call.millis("ms"), ..done }
}

fn log(call: &Call<'_>) -> Reply {
    let n = if call.logs { call.number("n") } else { 0 };
    let marker = quote(call.marker());
    let notices = (1..=n).map(move |k| {
        let params = format!(r#"{{"level":"info","logger":"fake","data":{{"line":{k},"marker":{marker}}}}}"#);
        notification("notifications/message", &params)
    });
    let pace = call.millis("ms");
    Reply { notices: Box::new(notices), streams: n > 0, pace, ..call.done(&text("logged")) }
}

fn text(text: &str) -> String {
    format!(r#""content":[{{"type":"text","text":{}}}]"#, quote(text))
}

fn structured(json: &str) -> String {
    format!(r#"{},"structuredContent":{json}"#, text(json))
}
