use gateway_domain::{
    ClientCapabilities, Era, Exchange, ListKind, LogLevel, ObjectEdit, Params, RawJson, RawObject, Reference,
    Subject, TaskSupport,
};

use crate::{
    Implementation, RequestId, Revision,
    meta::{self, Hop},
    method, write,
};

/// Members of `params` that belong to a hop or to a feature of the other era.
const STRIPS: [&str; 3] = ["task", "inputResponses", "requestState"];

/// The `params` of `server/discover`.
pub fn discover(revision: Revision, client: &Implementation, capabilities: &ClientCapabilities) -> Vec<u8> {
    params(&Hop { revision, client, capabilities }, "")
}

/// The `params` of `initialize`. Of the capabilities those that this revision has are declared.
pub fn initialize(revision: Revision, client: &Implementation, capabilities: &ClientCapabilities) -> Vec<u8> {
    let version = revision.as_str();
    let (capabilities, client) = (declared(revision, capabilities), client.as_str());
    format!(r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{client}}}"#)
        .into_bytes()
}

/// What of a client's capabilities a legacy revision has (protocol.md §9.1): elicitation since 2025-06-18, by URL
/// and sampling with tools since 2025-11-25; the Tasks extension never.
fn declared(revision: Revision, client: &ClientCapabilities) -> RawJson {
    let raw = client.raw();
    let is_newest = revision >= Revision::V2025_11_25;
    let mut edit = raw.edit();
    if revision < Revision::V2025_06_18 || !(is_newest || client.elicits_forms()) {
        edit = edit.remove("elicitation");
    } else if !is_newest {
        edit = edit.set("elicitation", "{}");
    }
    if !is_newest && client.samples() {
        edit = edit.set("sampling", "{}");
    }
    // It means nothing in the legacy era (protocol.md §15.3).
    if let Some(extensions) = raw.get_object("extensions").filter(|known| known.contains(meta::TASKS)) {
        edit = edit.set("extensions", extensions.edit().remove(meta::TASKS).finish().into_bytes());
    }
    edit.finish()
}

/// The `params` of `ping` or, in the modern era, of the `server/discover` that stands in for it.
pub fn ping_params(hop: &Hop<'_>) -> Vec<u8> {
    params(hop, "")
}

/// The `params` of a list method.
pub fn list_params(hop: &Hop<'_>, cursor: Option<&str>) -> Vec<u8> {
    match cursor {
        Some(cursor) => params(hop, &format!(r#""cursor":{}"#, RawJson::string(cursor))),
        None => params(hop, ""),
    }
}

/// The `params` of `subscriptions/listen` for changes of these lists and of the resources with these URIs.
pub fn listen_params<T: AsRef<str>>(hop: &Hop<'_>, lists: &[ListKind], resources: &[T]) -> Vec<u8> {
    let mut filter: Vec<_> = lists.iter().map(|list| format!(r#""{}":true"#, change_filter(*list))).collect();
    if !resources.is_empty() {
        let uris: Vec<_> = resources.iter().map(|uri| RawJson::string(uri.as_ref()).to_string()).collect();
        filter.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
    }
    params(hop, &format!(r#""notifications":{{{}}}"#, filter.join(",")))
}

/// The member of a listen filter that stands for changes of a list (protocol.md §14).
fn change_filter(list: ListKind) -> &'static str {
    match list {
        ListKind::Tools => "toolsListChanged",
        ListKind::Prompts => "promptsListChanged",
        ListKind::Resources | ListKind::ResourceTemplates => "resourcesListChanged",
    }
}

/// The URIs that an acknowledgement of `subscriptions/listen` grants, given its params.
pub fn granted_resources(acknowledgement: &RawObject) -> Vec<String> {
    let granted = acknowledgement.get_object("notifications");
    let uris = granted.and_then(|granted| granted.get("resourceSubscriptions")?.elements(usize::MAX));
    let uris = uris.unwrap_or_default();
    uris.iter().filter_map(|uri| Some(uri.to_text()?.into_owned())).collect()
}

/// The `params` of `resources/subscribe` and `resources/unsubscribe`.
pub fn watch_params(uri: &str) -> Vec<u8> {
    format!(r#"{{"uri":{}}}"#, RawJson::string(uri)).into_bytes()
}

/// The `params` of `logging/setLevel`.
pub fn level_params(level: LogLevel) -> Vec<u8> {
    format!(r#"{{"level":"{}"}}"#, level.as_str()).into_bytes()
}

/// The `params` of `notifications/cancelled`: the request, and for the server's log the reason.
pub fn cancelled_params(id: u64, reason: &str) -> Vec<u8> {
    format!(r#"{{"requestId":{id},"reason":{}}}"#, RawJson::string(reason)).into_bytes()
}

/// A client's request for the next hop: its own params with the subject in the downstream's words and that hop's
/// `_meta`; every other byte as it came (design §2). The id is the progress token too, if progress is wanted.
pub fn call(hop: &Hop<'_>, id: u64, subject: &Subject, client: &Params, exchange: &Exchange) -> Vec<u8> {
    let token = exchange.wants_progress.then(|| id.to_string());
    let edit = named(client.object.edit(), subject, &client.object);
    let mut edit = strips(hop.revision.era(), subject).iter().fold(edit, |edit, member| edit.remove(member));
    edit = match meta::outgoing(client.meta.as_ref(), hop, Some(exchange), token.as_deref()) {
        Some(meta) => edit.set("_meta", meta.as_bytes()),
        None => edit.remove("_meta"),
    };
    // Room for the hop's `_meta`; more costs a copy, nothing else.
    let size = client.object.raw().as_bytes().len() + 384;
    write::request_with(&RequestId::from(id), method::of(subject), size, |out| edit.write(out))
}

/// What is taken out of a client's params. A task is asked for where the tool can be one: of the era that has them
/// in params (protocol.md §15.1). Of methods that the gateway does not know nothing is.
fn strips(era: Era, subject: &Subject) -> &'static [&'static str] {
    match (era, subject) {
        (_, Subject::Other { .. }) => &[],
        (Era::Modern, _) => &STRIPS[..1],
        (Era::Legacy, Subject::Tool { task: TaskSupport::Optional | TaskSupport::Required, .. }) => {
            &STRIPS[1..]
        }
        (Era::Legacy, _) => &STRIPS,
    }
}

/// Sets the member that a subject stands for.
fn named<'a>(edit: ObjectEdit<'a>, subject: &Subject, params: &RawObject) -> ObjectEdit<'a> {
    let text = |text: &str| RawJson::string(text).into_bytes();
    match subject {
        Subject::Tool { name, .. } | Subject::Prompt { name } => edit.set("name", text(name)),
        Subject::Resource { uri } => edit.set("uri", text(uri)),
        Subject::Task { id, .. } => edit.set("taskId", text(id)),
        Subject::Completion(reference) => {
            let (member, value) = match reference {
                Reference::Prompt(name) => ("name", name),
                Reference::Resource(uri) => ("uri", uri),
            };
            let own = params.get_object("ref").unwrap_or_default();
            let own = own.edit().set(member, text(value)).finish();
            edit.set("ref", own.into_bytes())
        }
        Subject::Other { .. } => edit,
    }
}

fn params(hop: &Hop<'_>, members: &str) -> Vec<u8> {
    let meta =
        meta::outgoing(None, hop, None, None).map(|meta| format!(r#""_meta":{meta}"#)).unwrap_or_default();
    let comma = if members.is_empty() || meta.is_empty() { "" } else { "," };
    format!("{{{members}{comma}{meta}}}").into_bytes()
}

#[cfg(test)]
mod tests {
    use gateway_domain::{Caller, SessionKey, TaskAct};

    use super::*;

    fn written(revision: Revision, params: &str, token: Option<u64>) -> String {
        let message = message(revision, &Subject::tool("echo"), params, token);
        let head =
            format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":"#, token.unwrap_or(1));
        message.strip_prefix(&head).and_then(|rest| rest.strip_suffix('}')).unwrap().to_owned()
    }

    fn message(revision: Revision, subject: &Subject, params: &str, token: Option<u64>) -> String {
        let object = RawObject::parse(params.to_owned()).unwrap();
        let client = Params { meta: object.get_object("_meta"), object };
        let capabilities = ClientCapabilities::none();
        let session = SessionKey::Modern { caller: Caller::anonymous(), capabilities: capabilities.clone() };
        let mut exchange = Exchange::quiet(Era::Modern, session, capabilities.clone());
        exchange.wants_progress = token.is_some();
        let us = Implementation::new("g", "G", "1");
        let hop = Hop { revision, client: &us, capabilities: &capabilities };
        String::from_utf8(call(&hop, token.unwrap_or(1), subject, &client, &exchange)).unwrap()
    }

    #[test]
    fn each_subject_is_written_in_the_downstreams_words() {
        let given = r#"{"name":"d__x","uri":"x:","taskId":"x","ref":{"type":"ref/prompt","name":"d__x","k":1.0},"task":{},"inputResponses":{},"requestState":"s"}"#;
        let tool = |task| Subject::Tool { name: "y".into(), headers: [].into(), task };
        let reference = |reference| Subject::Completion(reference);
        let all: &[&str] = &["task", "inputResponses", "requestState"];
        for (revision, subject, method, set, stripped) in [
            (Revision::V2025_11_25, tool(TaskSupport::Forbidden), "tools/call", r#""name":"y""#, all),
            (Revision::V2025_11_25, tool(TaskSupport::Optional), "tools/call", r#""name":"y""#, &all[1..]),
            (Revision::V2025_11_25, tool(TaskSupport::Required), "tools/call", r#""name":"y""#, &all[1..]),
            (Revision::V2026_07_28, tool(TaskSupport::Required), "tools/call", r#""name":"y""#, &all[..1]),
            (
                Revision::V2025_11_25,
                Subject::Prompt { name: "y".into() },
                "prompts/get",
                r#""name":"y""#,
                all,
            ),
            (
                Revision::V2025_11_25,
                Subject::Resource { uri: "y:".into() },
                "resources/read",
                r#""uri":"y:""#,
                all,
            ),
            (
                Revision::V2025_11_25,
                reference(Reference::Prompt("y".into())),
                "completion/complete",
                r#""ref":{"type":"ref/prompt","name":"y","k":1.0}"#,
                all,
            ),
            (
                Revision::V2025_11_25,
                reference(Reference::Resource("y:{z}".into())),
                "completion/complete",
                r#""ref":{"type":"ref/prompt","name":"d__x","k":1.0,"uri":"y:{z}"}"#,
                all,
            ),
            (
                Revision::V2026_07_28,
                Subject::Task { id: "y".into(), act: TaskAct::Update, tool: None },
                "tasks/update",
                r#""taskId":"y""#,
                &all[..1],
            ),
            (Revision::V2025_11_25, Subject::Other { method: "a/b".into() }, "a/b", r#""name":"d__x""#, &[]),
            (Revision::V2026_07_28, Subject::Other { method: "a/b".into() }, "a/b", r#""name":"d__x""#, &[]),
        ] {
            let message = message(revision, &subject, given, None);
            assert!(message.contains(&format!(r#""method":"{method}""#)), "{message}");
            assert!(message.contains(set), "{subject:?}: {message}");
            for member in all {
                let is_there = message.contains(&format!(r#""{member}":"#));
                assert_eq!(is_there, !stripped.contains(member), "{member} of {subject:?}: {message}");
            }
        }
    }

    #[test]
    fn what_is_listened_to_is_what_is_wanted() {
        let us = Implementation::new("g", "G", "1");
        let none = ClientCapabilities::none();
        let hop = Hop { revision: Revision::V2025_11_25, client: &us, capabilities: &none };
        for (lists, uris, filter) in [
            (&[ListKind::Tools][..], &[][..], r#"{"toolsListChanged":true}"#),
            (&[], &["a:\"1"], r#"{"resourceSubscriptions":["a:\"1"]}"#),
            (
                &[ListKind::Prompts, ListKind::Resources],
                &["a:1", "b:2"],
                r#"{"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:1","b:2"]}"#,
            ),
        ] {
            let written = String::from_utf8(listen_params(&hop, lists, uris)).unwrap();
            assert_eq!(written, format!(r#"{{"notifications":{filter}}}"#));
        }
        for (acknowledged, expected) in [
            (r#"{"notifications":{"resourceSubscriptions":["a:1",7,"b:\u00e9"]}}"#, vec!["a:1", "b:é"]),
            (r#"{"notifications":{"toolsListChanged":true}}"#, vec![]),
            ("{}", vec![]),
        ] {
            let acknowledged = RawObject::parse(acknowledged.to_owned()).unwrap();
            assert_eq!(granted_resources(&acknowledged), expected);
        }
    }

    #[test]
    fn a_call_keeps_every_byte_that_is_not_of_its_hop() {
        let odd =
            r#"{ "arguments" : {"n":1.0,"big":9007199254740993,"x":1e400}, "name":"d__echo","zz":[ 1 ] }"#;
        assert_eq!(written(Revision::V2025_06_18, odd, None), odd.replace("d__echo", "echo"));
        let meta =
            r#"{"_meta":{"progressToken":"abc","k":"v"},"name":"d__echo","task":{},"requestState":"s"}"#;
        assert_eq!(
            written(Revision::V2025_06_18, meta, Some(9)),
            r#"{"_meta":{"progressToken":9,"k":"v"},"name":"echo"}"#
        );
        assert_eq!(
            written(Revision::V2025_06_18, r#"{"name":"d__echo","_meta":{"progressToken":1}}"#, None),
            r#"{"name":"echo"}"#
        );
        let modern = written(Revision::V2026_07_28, meta, None);
        assert!(
            modern
                .starts_with(r#"{"_meta":{"k":"v","io.modelcontextprotocol/protocolVersion":"2026-07-28","#),
            "{modern}"
        );
        assert!(modern.ends_with(r#"}},"name":"echo","requestState":"s"}"#), "{modern}");
    }

    #[test]
    fn a_handshake_declares_what_its_revision_has() {
        let all = r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"a/b":{"x":1},"io.modelcontextprotocol/tasks":{}}}"#;
        for (revision, given, expected) in [
            (
                Revision::V2025_11_25,
                all,
                r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"a/b":{"x":1}}}"#,
            ),
            (
                Revision::V2025_06_18,
                all,
                r#"{"roots":{},"sampling":{},"elicitation":{},"extensions":{"a/b":{"x":1}}}"#,
            ),
            (Revision::V2025_03_26, all, r#"{"roots":{},"sampling":{},"extensions":{"a/b":{"x":1}}}"#),
            (Revision::V2025_11_25, r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"url":{}}}"#),
            (Revision::V2025_06_18, r#"{"elicitation":{"url":{}}}"#, "{}"),
            (Revision::V2025_06_18, "{}", "{}"),
        ] {
            let given = ClientCapabilities::from(RawObject::parse(given).unwrap());
            assert_eq!(declared(revision, &given).as_str(), expected, "at {revision}");
        }
    }

    #[test]
    fn cursors_are_written_as_strings_even_when_empty() {
        let us = Implementation::new("g", "G", "1");
        let none = ClientCapabilities::none();
        let hop = Hop { revision: Revision::V2025_11_25, client: &us, capabilities: &none };
        assert_eq!(list_params(&hop, None), b"{}");
        assert_eq!(list_params(&hop, Some("")), br#"{"cursor":""}"#);
        assert_eq!(list_params(&hop, Some("a\"b")), br#"{"cursor":"a\"b"}"#);
    }

    #[test]
    fn a_cancellation_names_its_request_and_its_reason() {
        assert_eq!(cancelled_params(7, "timed \"out\""), br#"{"requestId":7,"reason":"timed \"out\""}"#);
    }
}
