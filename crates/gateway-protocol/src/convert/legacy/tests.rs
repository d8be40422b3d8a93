use Revision as R;
use gateway_domain::Reference;

use super::*;
use crate::method;

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn read() -> Subject {
    Subject::Resource { uri: "a:b".into() }
}

fn prompt() -> Subject {
    Subject::Prompt { name: "p".into() }
}

/// What stays as it is must be the same bytes in the same place.
fn is_shared(given: &RawJson, made: &RawJson) -> bool {
    given.as_bytes().as_ptr() == made.as_bytes().as_ptr()
}

fn check(subject: &Subject, revision: Revision, given: &str, expected: &str) {
    let given = object(given);
    let made = result(subject, &given, revision);
    assert_eq!(made.as_str(), expected, "{revision}: {given:?}");
    assert_eq!(is_shared(given.raw(), &made), given.raw() == &made, "{revision}: {given:?} is copied");
}

#[test]
fn results_lose_what_only_modern_clients_know() {
    let tool = Subject::tool("t");
    let complete = Subject::Completion(Reference::Prompt("p".into()));
    let modern =
        r#"{"resultType":"complete","content":[],"ttlMs":0,"cacheScope":"public","requestState":"s"}"#;
    for subject in [&tool, &read(), &prompt(), &complete] {
        check(subject, R::V2025_11_25, modern, r#"{"content":[]}"#);
        check(subject, R::V2025_11_25, "{}", "{}");
        for (given, expected) in [
            (r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"x":1.0}"#, r#"{"x":1.0}"#),
            (r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{},"k":1.0}}"#, r#"{"_meta":{"k":1.0}}"#),
            (r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#, "{}"),
            (r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#, "{}"),
            (r#"{ "_meta":{"a.b/c":[1e400]}}"#, r#"{ "_meta":{"a.b/c":[1e400]}}"#),
            (r#"{"_meta":{},"y":[ ]}"#, r#"{"_meta":{},"y":[ ]}"#),
        ] {
            check(subject, R::V2025_06_18, given, expected);
        }
    }
}

#[test]
fn structured_content_reaches_those_who_know_it() {
    let tool = Subject::tool("t");
    let structured = r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{"n":1.0}}"#;
    let text = r#"{"content":[{"type":"text","text":"{}"}]}"#;
    for (revision, expected) in [
        (R::V2024_11_05, text),
        (R::V2025_03_26, text),
        (R::V2025_06_18, structured),
        (R::V2025_11_25, structured),
    ] {
        check(&tool, revision, structured, expected);
    }
    let list = r#"{"content":[{"type":"text","text":"[1.0]"}],"structuredContent":[1.0]}"#;
    check(&tool, R::V2025_11_25, list, r#"{"content":[{"type":"text","text":"[1.0]"}]}"#);
    for bare in
        [r#"{"content":[],"structuredContent":[1.0]}"#, r#"{"content":[ ],"structuredContent":[1.0]}"#]
    {
        check(&tool, R::V2025_11_25, bare, r#"{"content":[{"type":"text","text":"[1.0]"}]}"#);
    }
    check(
        &tool,
        R::V2025_11_25,
        r#"{"structuredContent":null}"#,
        r#"{"content":[{"type":"text","text":"null"}]}"#,
    );
    check(&read(), R::V2024_11_05, structured, structured);
}

#[test]
fn content_of_a_later_kind_is_put_in_an_earlier_one() {
    let tool = Subject::tool("t");
    let link = r#"{"type":"resource_link","uri":"a:b","name":"n","annotations":{"priority":1.0}}"#;
    let linked = r#"{"type":"text","text":"n: a:b","annotations":{"priority":1.0}}"#;
    let audio = r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#;
    let blob =
        r#"{"type":"resource","resource":{"uri":"urn:mcp:audio","mimeType":"audio/wav","blob":"AA=="}}"#;
    let other = r#"{ "type":"text","text":"audio"}"#;
    for (revision, link_as, audio_as) in [
        (R::V2024_11_05, linked, blob),
        (R::V2025_03_26, linked, audio),
        (R::V2025_06_18, link, audio),
        (R::V2025_11_25, link, audio),
    ] {
        for (given, expected) in [(link, link_as), (audio, audio_as), (other, other)] {
            let content = |block: &str| format!(r#"{{"content":[{other},{block}],"isError":true}}"#);
            check(&tool, revision, &content(given), &content(expected));
            let messages =
                |block: &str| format!(r#"{{"messages":[{{"role":"user","content":{block},"x":1.0}}]}}"#);
            check(&prompt(), revision, &messages(given), &messages(expected));
        }
    }
    let title = r#"{"content":[{"type":"resource_link","uri":"a:b","name":"n","title":"T"}]}"#;
    check(&tool, R::V2025_03_26, title, r#"{"content":[{"type":"text","text":"T: a:b"}]}"#);
    // What nobody can read anyhow stays.
    for odd in
        [r#"{"content":7}"#, r#"{"content":[7,[],{"type":8},{"type":"audio"}]}"#, r#"{"messages":[{}]}"#]
    {
        check(&tool, R::V2024_11_05, odd, odd);
        check(&prompt(), R::V2024_11_05, odd, odd);
    }
}

#[test]
fn each_list_is_what_its_client_can_read() {
    let check = |kind: ListKind, revision: Revision, given: &str, expected: &str| {
        let given = RawJson::parse(given.to_owned()).unwrap();
        let made = list(kind, &given, revision);
        assert_eq!(made.as_str(), expected, "{revision}: {given}");
        assert_eq!(is_shared(&given, &made), given == made, "{revision}: {given} is copied");
    };
    let plain = r#"[{"name":"t","title":"T","icons":[],"_meta":{"k":1.0}}]"#;
    let task = r#"[{"name":"t","execution":{"taskSupport":"required"}},{"name":"u" }]"#;
    let schema = r#"[{"name":"t","outputSchema":{"type":"object"}}]"#;
    let odd = r#"[{"name":"t","outputSchema":{"type":"array"}},{"name":"execution"}]"#;
    for revision in Revision::of(gateway_domain::Era::Legacy) {
        check(ListKind::Tools, revision, "[]", "[]");
        check(ListKind::Tools, revision, plain, plain);
        check(ListKind::Tools, revision, task, r#"[{"name":"t"},{"name":"u" }]"#);
        let known = revision >= R::V2025_06_18;
        check(ListKind::Tools, revision, schema, if known { schema } else { r#"[{"name":"t"}]"# });
        check(ListKind::Tools, revision, odd, r#"[{"name":"t"},{"name":"execution"}]"#);
        check(ListKind::Prompts, revision, task, task);
    }
}

#[test]
fn each_error_has_a_code_that_its_client_knows() {
    let moved = |original: i64| {
        format!(
            r#"{{"code":-32603,"message":"m","data":{{"kind":"downstream_error","retryable":false,"may_have_executed":true,"code":{original},"data":{{"uri":"a:b"}}}}}}"#
        )
    };
    let same = |code: i64| format!(r#"{{"code":{code},"message":"m","data":{{"uri":"a:b"}}}}"#);
    let check = |subject: &Subject, revision: Revision, urls: bool, given: i64, expected: &str| {
        let peer = PeerError::new(object(&same(given))).unwrap();
        assert_eq!(
            error(subject, &peer, revision, urls).as_str(),
            expected,
            "{revision}: {given}, urls {urls}"
        );
    };
    let tool = Subject::tool("t");
    for revision in Revision::of(gateway_domain::Era::Legacy) {
        for given in [-32020, -32021, -32022] {
            check(&tool, revision, true, given, &moved(given));
            check(&read(), revision, true, given, &moved(given));
        }
        for given in [-32601, -32602, -32002, -32000, -1, 7] {
            check(&tool, revision, true, given, &same(given));
        }
        check(&read(), revision, false, -32602, &same(-32002));
        check(&read(), revision, false, -32002, &same(-32002));
        let known = revision == R::V2025_11_25;
        check(&tool, revision, true, -32042, &if known { same(-32042) } else { moved(-32042) });
        check(&tool, revision, false, -32042, &moved(-32042));
    }
    let bare = PeerError::new(object(r#"{"code":-32602,"message":"m"}"#)).unwrap();
    assert_eq!(
        error(&read(), &bare, R::V2025_11_25, false),
        *bare.raw.raw(),
        "which may be about other params"
    );
}

#[test]
fn clients_can_do_what_their_revision_has() {
    let all = r#"{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"x":1}"#;
    for (revision, given, expected) in [
        (R::V2024_11_05, all, r#"{"roots":{"listChanged":true},"sampling":{},"x":1}"#),
        (R::V2025_03_26, all, r#"{"roots":{"listChanged":true},"sampling":{},"x":1}"#),
        (
            R::V2025_06_18,
            all,
            r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{}},"x":1}"#,
        ),
        (R::V2025_06_18, r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"form":{}}}"#),
        (R::V2025_11_25, all, all),
        (R::V2024_11_05, "{}", "{}"),
    ] {
        assert_eq!(of_client(revision, &object(given)).raw().as_str(), expected, "{revision}: {given}");
    }
}

#[test]
fn servers_offer_what_the_revision_has() {
    let all = r#"{"tools":{"listChanged":true},"completions":{},"logging":{},"tasks":{},"extensions":{"a.b/c":{},"io.modelcontextprotocol/tasks":{}}}"#;
    for (revision, given, expected) in [
        (R::V2024_11_05, all, r#"{"tools":{"listChanged":true},"logging":{},"extensions":{"a.b/c":{}}}"#),
        (
            R::V2025_03_26,
            all,
            r#"{"tools":{"listChanged":true},"completions":{},"logging":{},"extensions":{"a.b/c":{}}}"#,
        ),
        (R::V2025_11_25, r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, "{}"),
        (R::V2025_11_25, "{}", "{}"),
    ] {
        assert_eq!(of_server(revision, &object(given)).as_str(), expected, "{revision}: {given}");
    }
}

#[test]
fn questions_are_put_as_the_revision_has_them_or_not_at_all() {
    let check = |method: &str, revision: Revision, given: &str, expected: Option<&str>| {
        let made = question(revision, method, &object(given), || "fresh".to_owned());
        assert_eq!(made.ok().as_ref().map(RawJson::as_str), expected, "{revision} {method}: {given}");
    };
    let form = r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"],"enumNames":["X"]}}}}"#;
    let old = form.replace(r#""mode":"form","#, "");
    let titled = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}}}"#;
    let several = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}}}}"#;
    let url = r#"{"mode":"url","message":"m","url":"https://a"}"#;
    let named = r#"{"mode":"url","message":"m","url":"https://a","elicitationId":"own"}"#;
    for revision in [R::V2024_11_05, R::V2025_03_26] {
        check(method::ELICIT, revision, form, None);
        check(method::ELICIT, revision, url, None);
    }
    for (given, before, now) in [
        (form, Some(old.as_str()), form),
        (&old, Some(old.as_str()), &old),
        (titled, None, titled),
        (several, None, several),
        (url, None, r#"{"mode":"url","message":"m","url":"https://a","elicitationId":"fresh"}"#),
        (named, None, named),
        (r#"{"message":"m"}"#, Some(r#"{"message":"m"}"#), r#"{"message":"m"}"#),
    ] {
        check(method::ELICIT, R::V2025_06_18, given, before);
        check(method::ELICIT, R::V2025_11_25, given, Some(now));
    }
    let text = r#"{"type":"text","text":"t"}"#;
    let message = |content: &str| format!(r#"{{"role":"user","content":{content},"x":1.0}}"#);
    let sample = |messages: &str| format!(r#"{{"messages":[{messages}],"maxTokens":1}}"#);
    let one = sample(&message(text));
    let two = sample(&message(&format!("[{text},{text}]")));
    let apart = sample(&format!("{},{}", message(text), message(text)));
    let tool = sample(&message(r#"{"type":"tool_use","id":"1","name":"n","input":{}}"#));
    let audio = sample(&message(r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#));
    for (given, oldest, before) in [
        (&one, Some(&one), Some(&one)),
        (&two, Some(&apart), Some(&apart)),
        (&tool, None, None),
        (&audio, None, Some(&audio)),
        (&r#"{"messages":[],"tools":[]}"#.to_owned(), None, None),
    ] {
        let text = |it: Option<&String>| it.cloned();
        check(method::SAMPLE, R::V2024_11_05, given, text(oldest).as_deref());
        check(method::SAMPLE, R::V2025_06_18, given, text(before).as_deref());
        check(method::SAMPLE, R::V2025_11_25, given, Some(given));
    }
    check(method::ROOTS_LIST, R::V2024_11_05, "{}", Some("{}"));
    check("tools/call", R::V2025_11_25, "{}", None);
}
