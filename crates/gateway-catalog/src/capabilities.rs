//! What a view offers as one server (protocol.md §20.10).

use gateway_domain::{PeerInfo, RawJson, RawObject};

/// The union of what downstreams say that they can do, as a server of the modern era writes it. One that is not
/// known yet counts as one that can do everything. Every list may change, be it by a reload.
pub(crate) fn union(peers: &[Option<PeerInfo>], has_tools: bool, extensions: &[String]) -> RawObject {
    let any = |can: &dyn Fn(&PeerInfo) -> bool| peers.iter().any(|peer| peer.as_ref().is_none_or(can));
    let has = |name: &str| any(&|peer| peer.capabilities.contains(name));
    let mut members = Vec::new();
    for list in ["tools", "prompts"] {
        if has(list) || (has_tools && list == "tools") {
            members.push(format!(r#""{list}":{{"listChanged":true}}"#));
        }
    }
    if has("resources") {
        let subscribe = if any(&PeerInfo::has_subscriptions) { r#""subscribe":true,"# } else { "" };
        members.push(format!(r#""resources":{{{subscribe}"listChanged":true}}"#));
    }
    for capability in ["completions", "logging"] {
        if has(capability) {
            members.push(format!(r#""{capability}":{{}}"#));
        }
    }
    let offered = extensions.iter().filter_map(|id| {
        let settings = settings(peers, id)?;
        Some(format!("{}:{settings}", RawJson::string(id)))
    });
    let offered: Vec<_> = offered.collect();
    if !offered.is_empty() {
        members.push(format!(r#""extensions":{{{}}}"#, offered.join(",")));
    }
    // Made of valid parts; an extension that is allowed twice makes it invalid.
    RawObject::parse(format!("{{{}}}", members.join(","))).unwrap_or_default()
}

/// The settings of an extension if a downstream has it: its own where all that have it say the same.
fn settings(peers: &[Option<PeerInfo>], id: &str) -> Option<RawJson> {
    let none = RawObject::empty().raw().clone();
    let of = |peer: &Option<PeerInfo>| match peer {
        None => Some(none.clone()),
        Some(peer) => peer.capabilities.get_object("extensions")?.get(id),
    };
    let mut all = peers.iter().filter_map(of);
    let first = all.next()?;
    Some(if all.all(|other| other == first) { first } else { none })
}

#[cfg(test)]
mod tests {
    use gateway_domain::Era;

    use super::*;

    fn peer(capabilities: &str) -> Option<PeerInfo> {
        Some(PeerInfo {
            era: Era::Modern,
            protocol: "2026-07-28".into(),
            server: None,
            capabilities: RawObject::parse(capabilities.to_owned()).unwrap(),
            instructions: None,
        })
    }

    #[test]
    fn what_one_has_all_have_and_nothing_that_nobody_allowed() {
        const ALL: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{},"extensions":{"x/ui":{}}}"#;
        for (peers, expected) in [
            (vec![], "{}"),
            (vec![None], ALL),
            (vec![peer(r#"{"tools":{}}"#), None], ALL),
            (vec![peer(r#"{"tools":{},"experimental":{"a":{}}}"#)], r#"{"tools":{"listChanged":true}}"#),
            (
                vec![peer(r#"{"resources":{}}"#), peer(r#"{"prompts":{}}"#)],
                r#"{"prompts":{"listChanged":true},"resources":{"listChanged":true}}"#,
            ),
            (
                vec![
                    peer(r#"{"resources":{"subscribe":true},"logging":{"x":1}}"#),
                    peer(r#"{"completions":{}}"#),
                ],
                r#"{"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}"#,
            ),
            (
                vec![peer(r#"{"extensions":{"x/ui":{"a":[1.0]},"x/other":{}}}"#), peer("{}")],
                r#"{"extensions":{"x/ui":{"a":[1.0]}}}"#,
            ),
            (
                vec![peer(r#"{"extensions":{"x/ui":{"a":1}}}"#), peer(r#"{"extensions":{"x/ui":{}}}"#)],
                r#"{"extensions":{"x/ui":{}}}"#,
            ),
        ] {
            assert_eq!(union(&peers, false, &["x/ui".into()]).as_str(), expected);
        }
        assert_eq!(union(&[], true, &[]).as_str(), r#"{"tools":{"listChanged":true}}"#);
    }
}
