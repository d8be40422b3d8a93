//! Towards clients of 2026-07-28.

use bytes::Bytes;
use gateway_domain::{PeerError, RawJson, RawObject, Reference, Subject, TaskAct};

use crate::{Implementation, code, meta};

/// A result object in two parts: its bytes, and the members to add before its last one, which closes it. Those are
/// apart so that a large result is not copied for them. With `is_private`, what one caller is shown is for no other,
/// whatever the downstream says, which knows one only: us.
pub fn result(
    subject: &Subject,
    result: &RawObject,
    is_private: bool,
    identity: &Implementation,
) -> (Bytes, String) {
    let mut added: Vec<String> = Vec::new();
    let mut add = |member: &str, value: &str| {
        if !result.contains(member) {
            added.push(format!(r#""{member}":{value}"#));
        }
    };
    add("resultType", r#""complete""#);
    if matches!(subject, Subject::Resource { .. }) {
        // A server that says nothing is asked again each time, and its answer is nobody else's (protocol.md §12).
        add("ttlMs", "0");
        add("cacheScope", r#""private""#);
    }
    let mut edit = result.edit();
    let ours = format!(r#""{}":{}"#, meta::SERVER_INFO, identity.as_str());
    if result.contains("_meta") {
        let own = result.get_object("_meta").unwrap_or_else(RawObject::empty);
        let own = own.edit().remove(meta::RELATED_TASK).set(meta::SERVER_INFO, identity.as_str());
        edit = edit.set("_meta", own.finish().as_bytes());
    } else {
        added.push(format!(r#""_meta":{{{ours}}}"#));
    }
    if matches!(subject, Subject::Resource { .. }) {
        if is_private && result.get_text("cacheScope").is_some_and(|scope| scope != "private") {
            edit = edit.set("cacheScope", br#""private""#);
        }
        if result.get("ttlMs").is_some_and(|ttl| ttl.as_str().starts_with('-')) {
            edit = edit.set("ttlMs", b"0");
        }
    }
    if let Subject::Task { id, act: TaskAct::Get, .. } = subject {
        edit = edit.set("taskId", RawJson::string(id).as_bytes());
    }
    let body = edit.finish();
    let first = body.as_str().trim_end_matches('}').trim_end().len() <= 1;
    let comma = if first || added.is_empty() { "" } else { "," };
    (body.into_bytes(), format!("{comma}{}", added.join(",")))
}

/// An error object. Codes that describe the hop behind us, or that this era does not have, become -32603 with the
/// original in `data` (protocol.md §2.4).
pub fn error(subject: &Subject, error: &PeerError) -> RawJson {
    match error.code {
        code::RESOURCE_NOT_FOUND => not_found(subject, error),
        code::UNSUPPORTED_VERSION..=code::HEADER_MISMATCH | -1 | code::URL_REQUIRED | -32019..=-32000 => {
            moved(error)
        }
        _ => error.raw.raw().clone(),
    }
}

fn not_found(subject: &Subject, error: &PeerError) -> RawJson {
    let edit = error.raw.edit().set("code", code::INVALID_PARAMS.to_string());
    let uri = match subject {
        Subject::Resource { uri } | Subject::Completion(Reference::Resource(uri)) => RawJson::string(uri),
        _ => return edit.finish(),
    };
    match error.raw.get("data") {
        None => edit.set("data", format!(r#"{{"uri":{uri}}}"#)).finish(),
        Some(data) => match RawObject::try_from(data) {
            Ok(data) if !data.contains("uri") => {
                edit.set("data", data.edit().set("uri", uri.as_bytes()).finish().as_bytes()).finish()
            }
            _ => edit.finish(),
        },
    }
}

/// The same as an error of ours: what the peer wrote stands in `data`.
pub(super) fn moved(error: &PeerError) -> RawJson {
    let mut data = format!(
        r#"{{"kind":"downstream_error","retryable":false,"may_have_executed":true,"code":{}"#,
        error.code
    );
    if let Some(own) = error.raw.get("data") {
        data.push_str(r#","data":"#);
        data.push_str(own.as_str());
    }
    data.push('}');
    error.raw.edit().set("code", code::INTERNAL_ERROR.to_string()).set("data", data).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RawObject {
        RawObject::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn a_result_gains_what_its_method_has_to_say() {
        let us = Implementation::new("g", "G", "1");
        let name = r#""io.modelcontextprotocol/serverInfo":{"name":"g","title":"G","version":"1"}"#;
        let tool = Subject::tool("t");
        let read = Subject::Resource { uri: "a:b".into() };
        let get = Subject::Task { id: "sealed".into(), act: TaskAct::Get, tool: None };
        for (subject, given, expected) in [
            (&tool, "{}", format!(r#"{{"resultType":"complete","_meta":{{{name}}}}}"#)),
            (&tool, "{ }", format!(r#"{{ "resultType":"complete","_meta":{{{name}}}}}"#)),
            (
                &tool,
                r#"{"content":[1.0]}"#,
                format!(r#"{{"content":[1.0],"resultType":"complete","_meta":{{{name}}}}}"#),
            ),
            (
                &tool,
                r#"{"resultType":"complete","_meta":{"k":1.0,"io.modelcontextprotocol/related-task":{"taskId":"x"}}}"#,
                format!(r#"{{"resultType":"complete","_meta":{{"k":1.0,{name}}}}}"#),
            ),
            (
                &read,
                r#"{"contents":[]}"#,
                format!(
                    r#"{{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{{{name}}}}}"#
                ),
            ),
            (
                &read,
                r#"{"contents":[],"ttlMs":7,"cacheScope":"public"}"#,
                format!(
                    r#"{{"contents":[],"ttlMs":7,"cacheScope":"public","resultType":"complete","_meta":{{{name}}}}}"#
                ),
            ),
            (
                &get,
                r#"{"taskId":"inner","status":"working"}"#,
                format!(
                    r#"{{"taskId":"sealed","status":"working","resultType":"complete","_meta":{{{name}}}}}"#
                ),
            ),
        ] {
            let (body, tail) = result(subject, &object(given), false, &us);
            let body = std::str::from_utf8(&body[..body.len() - 1]).unwrap();
            assert_eq!(format!("{body}{tail}}}"), expected, "for {given}");
        }
    }

    #[test]
    fn what_was_read_holds_no_longer_and_for_no_others_than_it_may() {
        let us = Implementation::new("g", "G", "1");
        let read = Subject::Resource { uri: "a:b".into() };
        for (given, is_private, expected) in [
            (r#"{"ttlMs":7,"cacheScope":"public"}"#, false, r#"{"ttlMs":7,"cacheScope":"public"}"#),
            (r#"{"ttlMs":7,"cacheScope":"public"}"#, true, r#"{"ttlMs":7,"cacheScope":"private"}"#),
            (r#"{"ttlMs":7.0,"cacheScope":"private"}"#, true, r#"{"ttlMs":7.0,"cacheScope":"private"}"#),
            (r#"{"ttlMs":-7,"cacheScope":"private"}"#, false, r#"{"ttlMs":0,"cacheScope":"private"}"#),
        ] {
            let (body, _) = result(&read, &object(given), is_private, &us);
            assert_eq!(body, expected, "for {given}");
        }
        let (body, _) =
            result(&Subject::tool("t"), &object(r#"{"cacheScope":"public","ttlMs":-1}"#), true, &us);
        assert_eq!(body, r#"{"cacheScope":"public","ttlMs":-1}"#);
    }

    #[test]
    fn codes_of_another_hop_or_era_do_not_reach_the_client() {
        let moved = |original: i64| {
            format!(
                r#"{{"code":-32603,"message":"m","data":{{"kind":"downstream_error","retryable":false,"may_have_executed":true,"code":{original},"data":[1.0]}}}}"#
            )
        };
        let same = |code: i64| format!(r#"{{"code":{code},"message":"m","data":[1.0]}}"#);
        for (given, expected) in [
            (-32602, same(-32602)),
            (-32601, same(-32601)),
            (-32603, same(-32603)),
            (7, same(7)),
            (-32020, moved(-32020)),
            (-32021, moved(-32021)),
            (-32022, moved(-32022)),
            (-32023, same(-32023)),
            (-32002, same(-32602)),
            (-32042, moved(-32042)),
            (-32000, moved(-32000)),
            (-32019, moved(-32019)),
            (-1, moved(-1)),
        ] {
            let given = PeerError::new(object(&same(given))).unwrap();
            assert_eq!(error(&Subject::tool("t"), &given).as_str(), expected);
        }
    }

    #[test]
    fn a_resource_that_is_not_there_is_named() {
        let read = Subject::Resource { uri: "a:b".into() };
        for (data, expected) in [
            ("", r#","data":{"uri":"a:b"}"#),
            (r#","data":{"uri":"x"}"#, r#","data":{"uri":"x"}"#),
            (r#","data":{"k":1.0}"#, r#","data":{"k":1.0,"uri":"a:b"}"#),
            (r#","data":7"#, r#","data":7"#),
        ] {
            let given = PeerError::new(object(&format!(r#"{{"code":-32002,"message":"m"{data}}}"#))).unwrap();
            let expected = format!(r#"{{"code":-32602,"message":"m"{expected}}}"#);
            assert_eq!(error(&read, &given).as_str(), expected);
        }
    }
}
