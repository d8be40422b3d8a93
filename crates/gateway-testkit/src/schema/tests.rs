use super::*;
use crate::transcript::{Line, Way};

fn line(way: Way, text: &str) -> Line {
    Line { way, keeper: 0, text: text.to_owned() }
}

/// The faults of an exchange: what went out, then what came in.
fn faults(revision: &str, writer: Writer, out: &str, came: &str) -> Vec<String> {
    audit(&[line(Way::Out, out), line(Way::In, came)], writer, revision)
}

#[test]
fn every_revision_knows_its_own_words() {
    for revision in LEGACY {
        let schema = Schema::of(revision);
        assert_eq!(schema.definition_of("initialize"), Some("InitializeRequest"), "{revision}");
        assert_eq!(schema.definition_of("server/discover"), None, "{revision}");
        assert_eq!(schema.definition_of("elicitation/create").is_some(), revision >= "2025-06-18");
    }
    assert_eq!(Schema::of(MODERN).definition_of("server/discover"), Some("DiscoverRequest"));
    assert_eq!(Schema::of(MODERN).definition_of("initialize"), None);
}

#[test]
fn what_a_server_writes_is_judged_by_the_revision_and_the_request() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let text = r#"{"type":"text","text":"x"}"#;
    let link = r#"{"type":"resource_link","uri":"note://one","name":"one"}"#;
    let content = |members: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{members}}}}}"#);
    let rows = [
        ("2025-11-25", call, content(&format!(r#""content":[{text}]"#)), true),
        ("2025-11-25", call, content(r#""content":[{"type":"text"}]"#), false),
        ("2025-11-25", call, content(r#""structuredContent":{}"#), false),
        ("2025-11-25", call, content(&format!(r#""content":[{link}]"#)), true),
        ("2025-03-26", call, content(&format!(r#""content":[{link}]"#)), false),
        ("2025-11-25", call, content(&format!(r#""resultType":"complete","content":[{text}]"#)), false),
        ("2025-11-25", call, content(r#""content":[],"structuredContent":[1]"#), false),
        (MODERN, call, content(r#""content":[],"structuredContent":[1]"#), false),
        (MODERN, call, content(r#""resultType":"complete","content":[],"structuredContent":[1]"#), true),
        (MODERN, call, content(r#""resultType":"input_required""#), false),
        (MODERN, call, content(r#""resultType":"input_required","requestState":"s""#), true),
        (MODERN, list, content(r#""resultType":"complete","tools":[]"#), false),
        (
            MODERN,
            list,
            content(r#""resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private""#),
            true,
        ),
        ("2025-11-25", list, content(r#""tools":[],"ttlMs":0"#), false),
        ("2024-11-05", list, content(r#""tools":[{"name":"x","inputSchema":{"type":"object"}}]"#), true),
        ("2024-11-05", list, content(r#""tools":[{"name":"x"}]"#), false),
        ("2025-11-25", list, r#"{"jsonrpc":"2.0","id":"1","result":{"tools":[]}}"#.to_owned(), false),
        (MODERN, list, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"x"}}"#.to_owned(), false),
        (
            "2025-11-25",
            list,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"x"}}"#.to_owned(),
            false,
        ),
        (
            "2025-11-25",
            list,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#.to_owned(),
            true,
        ),
        ("2025-11-25", list, r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#.to_owned(), true),
        (MODERN, list, r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#.to_owned(), false),
        (
            "2025-03-26",
            list,
            r#"{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{}}"#.to_owned(),
            false,
        ),
        (
            "2025-11-25",
            list,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#.to_owned(),
            false,
        ),
    ];
    for (revision, out, came, good) in rows {
        let faults = faults(revision, Writer::Server, out, &came);
        assert_eq!(faults.is_empty(), good, "{revision} {came}: {faults:?}");
    }
}

#[test]
fn what_a_client_writes_is_judged_too() {
    let asked = r#"{"jsonrpc":"2.0","id":"ask-1","method":"elicitation/create","params":{}}"#;
    let rows = [
        (r#"{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"n":"x"}}}"#, true),
        (r#"{"jsonrpc":"2.0","id":"ask-1","result":{"content":{}}}"#, false),
        (r#"{"jsonrpc":"2.0","id":"ask-2","result":{"action":"accept"}}"#, false),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}"#, true),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#, false),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, false),
    ];
    for (came, good) in rows {
        let faults = faults("2025-11-25", Writer::Client, asked, came);
        assert_eq!(faults.is_empty(), good, "{came}: {faults:?}");
    }
}
