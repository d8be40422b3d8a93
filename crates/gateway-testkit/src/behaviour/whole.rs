//! The tools of a server that offers the whole protocol.

use super::{
    Call,
    questions::{Asking, CONSENT_URL, Done, Question, Round, STATELESS, ask, ask_stateless, come_again},
    structured, tasks, text,
};
use crate::{
    engine::{Engine, complete},
    message::{Refusal, notification},
    reply::{End, Reply},
};

pub(super) fn act(call: &Call<'_>) -> Reply {
    match call.name {
        "ask_form" => ask(&call.asking(), &[&[Question::Form]], answers()),
        "ask_url" => consent(call),
        "ask_twice" => ask(&call.asking(), &[&[Question::Form], &[Question::Age]], answers()),
        "ask_two" => ask(&call.asking(), &[&[Question::Form, Question::Sample]], answers()),
        "ask_stateless" => ask_stateless(&call.asking(), STATELESS[0], answers()),
        "come_again" => come_again(&call.asking(), answers()),
        "sample" => ask(&call.asking(), &[&[Question::Sample]], answers()),
        "sample_tools" => ask(&call.asking(), &[&[Question::SampleTools]], answers()),
        "roots" => ask(&call.asking(), &[&[Question::Roots]], answers()),
        "needs_url" => needs_url(call),
        "touch_tools" | "touch_prompts" | "touch_resources" | "cry_wolf" => happen(call, call.name),
        "update_resource" => {
            let uri = call.argument("uri").as_str().unwrap_or("note://one").to_owned();
            happen(call, &uri)
        }
        "everything" => call.done(&everything()),
        "array" => call.done(&array(call.modern)),
        "view" => call.done(&text("see the view")),
        "slow_task" | "task_ask" | "maybe_task" | "failing_task" => tasks::call(call),
        _ => call.done(&super::echo(call)),
    }
}

impl<'a> Call<'a> {
    pub(super) fn asking(&self) -> Asking<'a> {
        Asking {
            engine: self.engine,
            modern: self.modern,
            capabilities: self.capabilities,
            responses: self.responses,
            state: self.state,
            task: None,
        }
    }
}

/// The result tells the answers.
pub(super) fn answers() -> Done {
    Box::new(|_: &Engine, answers: &str| structured(&format!(r#"{{"answers":{answers}}}"#)))
}

fn happen(call: &Call<'_>, event: &str) -> Reply {
    call.engine.happen(event);
    call.done(&text("touched"))
}

const CONSENT: &[Round] = &[&[Question::Url]];

/// On the legacy wire the consent is told to be complete before the call ends.
fn consent(call: &Call<'_>) -> Reply {
    let reply = ask(&call.asking(), CONSENT, answers());
    let End::Interact(mut interaction) = reply.end else { return reply };
    let then = interaction.then;
    interaction.then = Box::new(move |engine, responses| {
        let complete = notification("notifications/elicitation/complete", r#"{"elicitationId":"e-1"}"#);
        then(engine, responses).telling(vec![complete])
    });
    Reply::end(End::Interact(interaction))
}

/// The first legacy call of a session fails with -32042; the next finds the consent given.
fn needs_url(call: &Call<'_>) -> Reply {
    if call.modern {
        return ask(&call.asking(), CONSENT, answers());
    }
    if call.conversation.consents() {
        return call.done(&structured(r#"{"consented":true}"#));
    }
    let mut refusal = Refusal::new(-32042, 200, "a consent is needed");
    refusal.data = Some(format!(
        r#"{{"elicitations":[{{"mode":"url","message":"Please agree","url":"{CONSENT_URL}","elicitationId":"e-1"}}]}}"#
    ));
    Reply::end(End::Error(refusal))
}

/// Every kind of content.
fn everything() -> String {
    [
        r#""content":[{"type":"text","text":"a text"},"#,
        r#"{"type":"image","data":"aW1hZ2U=","mimeType":"image/png"},"#,
        r#"{"type":"audio","data":"YXVkaW8=","mimeType":"audio/wav"},"#,
        r#"{"type":"resource_link","uri":"note://one","name":"one","mimeType":"text/plain"},"#,
        r#"{"type":"resource","resource":{"uri":"note://two","mimeType":"text/plain","text":"two"}}]"#,
    ]
    .concat()
}

/// What is structured may be no object in the modern era only.
fn array(modern: bool) -> String {
    let items = r#"[1,"two",null]"#;
    let value = if modern { items.to_owned() } else { format!(r#"{{"items":{items}}}"#) };
    format!(r#"{},"structuredContent":{value}"#, text(items))
}

/// A result of its era, for what ends a task.
pub(super) fn plain(modern: bool) -> String {
    complete(modern, &structured(r#"{"task":"done"}"#))
}
