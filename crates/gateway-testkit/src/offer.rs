//! What a server offers besides tools: prompts, resources, templates, completion, subscriptions.

use std::sync::Mutex;

use serde_json::Value;

use crate::{
    behaviour::{
        questions::{Asking, Question, ask, text_of},
        tasks,
    },
    engine::{Conversation, Engine, complete, locked},
    message::{Message, Refusal, quote},
    reply::{End, Reply},
};

/// One list, raw definitions in order.
#[derive(Debug, Default)]
pub(crate) struct List(Mutex<Vec<String>>);

impl List {
    fn of(definitions: &[&str]) -> Self {
        Self(Mutex::new(definitions.iter().map(|&d| d.to_owned()).collect()))
    }

    pub(crate) fn add(&self, definition: &str) {
        let mut all = locked(&self.0);
        if !all.iter().any(|known| known == definition) {
            all.push(definition.to_owned());
        }
    }

    pub(crate) fn all(&self) -> Vec<String> {
        locked(&self.0).clone()
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) prompts: List,
    pub(crate) resources: List,
    templates: List,
}

impl Default for Offer {
    fn default() -> Self {
        Self { prompts: List::of(PROMPTS), resources: List::of(RESOURCES), templates: List::of(TEMPLATES) }
    }
}

/// Who asks, and how.
pub(crate) struct Caller<'a> {
    pub(crate) modern: bool,
    pub(crate) capabilities: &'a Value,
    pub(crate) conversation: &'a Conversation,
}

impl Engine {
    /// The answer to a method of the whole protocol; `None` if it is none.
    pub(crate) fn offered(&self, method: &str, message: &Message, caller: &Caller<'_>) -> Option<Reply> {
        if !self.profile.whole {
            return None;
        }
        let modern = caller.modern;
        Some(match method {
            "prompts/list" => self.page_of("prompts", self.offer.prompts.all(), message, modern),
            "resources/list" => self.page_of("resources", self.offer.resources.all(), message, modern),
            "resources/templates/list" => {
                self.page_of("resourceTemplates", self.offer.templates.all(), message, modern)
            }
            "prompts/get" => self.prompt(message, caller),
            "resources/read" => self.read(message, caller),
            "completion/complete" => completion(message, modern),
            "vendor/echo" => vendor(message, modern),
            "resources/subscribe" | "resources/unsubscribe" if !modern => {
                let uri = message.param("uri").unwrap_or_default();
                caller.conversation.watch(&uri, method == "resources/subscribe");
                Reply::end(End::Result("{}".to_owned()))
            }
            _ if method.starts_with("tasks/") && modern => {
                tasks::modern(self, method, message, caller.capabilities)
            }
            _ if method.starts_with("tasks/") => tasks::legacy(self, method, message),
            _ => return None,
        })
    }

    fn asking<'a>(&'a self, message: &'a Message, caller: &Caller<'a>) -> Asking<'a> {
        Asking {
            engine: self,
            modern: caller.modern,
            capabilities: caller.capabilities,
            responses: message.params.get("inputResponses").map(|raw| raw.get()),
            state: message.params.get("requestState").map(|raw| raw.get()),
            task: None,
        }
    }

    fn prompt(&self, message: &Message, caller: &Caller<'_>) -> Reply {
        let arguments = message.params.get("arguments").map_or("{}", |raw| raw.get());
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        match message.param("name").as_deref() {
            Some("greet") => {
                let Some(name) = arguments["name"].as_str() else {
                    return Reply::refuse(-32602, 200, "the argument name is missing");
                };
                let said = said(&format!("Greet {name}"));
                Reply::end(End::Result(complete(caller.modern, &said)))
            }
            Some("personal") => ask(
                &self.asking(message, caller),
                &[&[Question::Form]],
                Box::new(|_, answers| said(&format!("Answers: {answers}"))),
            ),
            Some("illustrated") => {
                let message = r#"{"role":"user","content":{"type":"resource","resource":{"uri":"note://one","mimeType":"text/plain","text":"one"}}}"#;
                Reply::end(End::Result(complete(caller.modern, &format!(r#""messages":[{message}]"#))))
            }
            other => {
                let name = other.unwrap_or_default().to_owned();
                Reply::refuse(-32602, 200, format!("unknown prompt {name}"))
            }
        }
    }

    fn read(&self, message: &Message, caller: &Caller<'_>) -> Reply {
        let uri = message.param("uri").unwrap_or_default();
        let hints = self.hints(caller.modern);
        if uri == "note://personal" {
            let uri = quote(&uri);
            return ask(
                &self.asking(message, caller),
                &[&[Question::Form]],
                Box::new(move |_, answers| {
                    let text = quote(answers);
                    format!(r#""contents":[{{"uri":{uri},"text":{text}}}]{hints}"#)
                }),
            );
        }
        let Some(content) = content(&uri) else { return missing(&uri, caller.modern) };
        let members = format!(r#""contents":[{{"uri":{},{content}}}]{hints}"#, quote(&uri));
        Reply::end(End::Result(complete(caller.modern, &members)))
    }
}

/// Raw members besides `uri`; `None` if there is no such resource.
fn content(uri: &str) -> Option<String> {
    if uri == "ui://fake/view" {
        return Some(r#""mimeType":"text/html;profile=mcp-app","text":"<p>view</p>""#.to_owned());
    }
    if uri == "note://picture" {
        return Some(r#""mimeType":"image/png","blob":"aW1hZ2U=""#.to_owned());
    }
    let name = uri.strip_prefix("note://").filter(|name| *name != "missing" && !name.is_empty())?;
    Some(format!(r#""mimeType":"text/plain","text":{}"#, quote(name)))
}

fn missing(uri: &str, modern: bool) -> Reply {
    let mut refusal = Refusal::new(if modern { -32602 } else { -32002 }, 200, "resource not found");
    refusal.data = Some(format!(r#"{{"uri":{}}}"#, quote(uri)));
    Reply::end(End::Error(refusal))
}

/// Names that begin with what is there; the context's `greeting` is told too.
fn completion(message: &Message, modern: bool) -> Reply {
    let member = |name: &str| -> Value {
        let raw = message.params.get(name).map_or("null", |raw| raw.get());
        serde_json::from_str(raw).unwrap_or_default()
    };
    let (reference, argument, context) = (member("ref"), member("argument"), member("context"));
    let known = match reference["type"].as_str() {
        Some("ref/prompt") => reference["name"] == "greet",
        Some("ref/resource") => reference["uri"] == "note://{name}",
        _ => false,
    };
    if !known {
        return Reply::refuse(-32602, 200, "nothing to complete there");
    }
    let begun = argument["value"].as_str().unwrap_or_default();
    let mut values: Vec<String> =
        ["Ada", "Alan", "Grace"].iter().filter(|n| n.starts_with(begun)).map(|n| quote(n)).collect();
    values.extend(context["arguments"]["greeting"].as_str().map(quote));
    let members = format!(
        r#""completion":{{"values":[{}],"total":{},"hasMore":false}}"#,
        values.join(","),
        values.len()
    );
    Reply::end(End::Result(complete(modern, &members)))
}

/// A method of no published revision.
fn vendor(message: &Message, modern: bool) -> Reply {
    let said = message.params.get("say").map(|raw| text_of(raw)).unwrap_or_default();
    Reply::end(End::Result(complete(modern, &format!(r#""echo":{}"#, quote(&said)))))
}

fn said(text: &str) -> String {
    format!(r#""messages":[{{"role":"user","content":{{"type":"text","text":{}}}}}]"#, quote(text))
}

const PROMPTS: &[&str] = &[
    r#"{"name":"greet","title":"Greet","description":"Greets somebody","arguments":[{"name":"name","description":"whom","required":true}]}"#,
    r#"{"name":"personal","description":"Asks for the name"}"#,
    r#"{"name":"illustrated","description":"With an embedded resource"}"#,
];

const RESOURCES: &[&str] = &[
    r#"{"uri":"note://one","name":"one","title":"The first","mimeType":"text/plain","size":3}"#,
    r#"{"uri":"note://two","name":"two","mimeType":"text/plain","annotations":{"audience":["user"],"priority":0.5}}"#,
    r#"{"uri":"note://picture","name":"picture","mimeType":"image/png"}"#,
    r#"{"uri":"note://personal","name":"personal"}"#,
];

const TEMPLATES: &[&str] =
    &[r#"{"uriTemplate":"note://{name}","name":"note","description":"Any note","mimeType":"text/plain"}"#];
