//! Towards clients of the revisions with sessions.

use gateway_domain::{JsonKind, PeerError, RawJson, RawObject, Subject};

use crate::{Revision, code, meta};

/// A result, without what only modern clients know.
pub fn result(_subject: &Subject, result: &RawObject, _revision: Revision) -> RawJson {
    let mut edit = result.edit();
    for member in ["resultType", "ttlMs", "cacheScope"] {
        edit = edit.remove(member);
    }
    if result.get("structuredContent").is_some_and(|content| content.kind() != JsonKind::Object) {
        edit = edit.remove("structuredContent");
    }
    if let Some(own) = result.get_object("_meta").filter(|own| own.contains(meta::SERVER_INFO)) {
        let rest = own.edit().remove(meta::SERVER_INFO).finish();
        edit = if own.len() == 1 { edit.remove("_meta") } else { edit.set("_meta", rest.as_bytes()) };
    }
    edit.finish()
}

/// An error object. Codes that describe the hop behind us become -32603 with the original in `data`.
pub fn error(_subject: &Subject, error: &PeerError, _revision: Revision) -> RawJson {
    match error.code {
        code::UNSUPPORTED_VERSION..=code::HEADER_MISMATCH => super::modern::moved(error),
        _ => error.raw.raw().clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_loses_modern_members_only() {
        for (given, expected) in [
            ("{}", "{}"),
            (r#"{"content":[ ],"x":1.0}"#, r#"{"content":[ ],"x":1.0}"#),
            (
                r#"{"resultType":"complete","content":[],"ttlMs":0,"cacheScope":"public"}"#,
                r#"{"content":[]}"#,
            ),
            (r#"{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#, r#"{"content":[]}"#),
            (r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{},"k":1}}"#, r#"{"_meta":{"k":1}}"#),
            (r#"{"_meta":{},"content":[]}"#, r#"{"_meta":{},"content":[]}"#),
            (
                r#"{"content":[],"structuredContent":{"n":1.0}}"#,
                r#"{"content":[],"structuredContent":{"n":1.0}}"#,
            ),
            (r#"{"content":[],"structuredContent":[1.0]}"#, r#"{"content":[]}"#),
        ] {
            let given = RawObject::parse(given).unwrap();
            let written = result(&Subject::tool("t"), &given, Revision::NEWEST_LEGACY);
            assert_eq!(written.as_str(), expected, "for {given:?}");
        }
    }

    #[test]
    fn codes_of_another_hop_do_not_reach_the_client() {
        for (given, expected) in [
            (-32602, -32602),
            (-32601, -32601),
            (7, 7),
            (-32020, -32603),
            (-32021, -32603),
            (-32022, -32603),
            (-32002, -32002),
            (-32042, -32042),
            (-32000, -32000),
            (-1, -1),
        ] {
            let raw = RawObject::parse(format!(r#"{{"code":{given},"message":"m","data":[1.0]}}"#)).unwrap();
            let given = PeerError::new(raw).unwrap();
            let written = error(&Subject::tool("t"), &given, Revision::NEWEST_LEGACY);
            let written = PeerError::new(RawObject::try_from(written).unwrap()).unwrap();
            assert_eq!(written.code, expected, "for {given:?}");
        }
    }
}
