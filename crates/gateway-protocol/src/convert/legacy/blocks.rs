use gateway_domain::{RawJson, RawObject};

use crate::Revision;

/// The content of a tool's result, if some of it has to be written another way.
pub(super) fn array(revision: Revision, content: &RawJson) -> Option<RawJson> {
    if revision >= Revision::V2025_06_18 {
        return None;
    }
    each(content, |block| one(revision, block))
}

/// The messages of a prompt, likewise.
pub(super) fn messages(revision: Revision, messages: &RawJson) -> Option<RawJson> {
    if revision >= Revision::V2025_06_18 {
        return None;
    }
    each(messages, |message| {
        let content = one(revision, &message.get_object("content")?)?;
        Some(message.edit().set("content", content.as_bytes()).finish())
    })
}

/// The array with those of its objects replaced for which there is something else; `None` if there is for none.
pub(super) fn each(array: &RawJson, change: impl Fn(&RawObject) -> Option<RawJson>) -> Option<RawJson> {
    let mut elements = array.elements(usize::MAX)?;
    let mut changed = false;
    for element in &mut elements {
        if let Some(other) = RawObject::try_from(element.clone()).ok().and_then(|object| change(&object)) {
            *element = other;
            changed = true;
        }
    }
    changed.then(|| RawJson::array(elements))
}

/// A block of a kind that came later than the revision.
fn one(revision: Revision, block: &RawObject) -> Option<RawJson> {
    let (member, value) = match block.get_text("type")?.as_str() {
        "resource_link" => ("text", RawJson::string(&link(block)?).to_string()),
        "audio" if revision < Revision::V2025_03_26 => ("resource", recording(block)?),
        _ => return None,
    };
    let kind = if member == "text" { "text" } else { "resource" };
    let annotations =
        block.get("annotations").map(|own| format!(r#","annotations":{own}"#)).unwrap_or_default();
    RawJson::parse(format!(r#"{{"type":"{kind}","{member}":{value}{annotations}}}"#)).ok()
}

/// What a reader needs to ask for the resource.
fn link(block: &RawObject) -> Option<String> {
    let uri = block.get_text("uri")?;
    Some(match block.get_text("title").or_else(|| block.get_text("name")) {
        Some(name) => format!("{name}: {uri}"),
        None => uri,
    })
}

/// The bytes as those of a resource, which every revision can hold.
fn recording(block: &RawObject) -> Option<String> {
    let data = block.get("data")?;
    let kind = block.get("mimeType").map(|kind| format!(r#","mimeType":{kind}"#)).unwrap_or_default();
    Some(format!(r#"{{"uri":"urn:mcp:audio"{kind},"blob":{data}}}"#))
}
