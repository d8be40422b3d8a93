use gateway_domain::{RawJson, RawObject};

use super::blocks;
use crate::{Revision, method};

/// A question that a client of its revision could not understand, however it is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unaskable(pub &'static str);

/// The params of a question to a client, as its revision writes them. `fresh_id` names an elicitation by URL that
/// comes without a name of its own.
///
/// # Errors
/// [`Unaskable`]: what the client shook hands for has nothing of the kind.
pub fn question(
    revision: Revision,
    method: &str,
    params: &RawObject,
    fresh_id: impl FnOnce() -> String,
) -> Result<RawJson, Unaskable> {
    match method {
        method::ELICIT => elicitation(revision, params, fresh_id),
        method::SAMPLE if revision < Revision::V2025_11_25 => sampling(revision, params),
        method::SAMPLE | method::ROOTS_LIST => Ok(params.raw().clone()),
        _ => Err(Unaskable("there is no such question")),
    }
}

fn elicitation(
    revision: Revision,
    params: &RawObject,
    fresh_id: impl FnOnce() -> String,
) -> Result<RawJson, Unaskable> {
    let by_url = params.get_text("mode").as_deref() == Some("url");
    match revision {
        _ if revision < Revision::V2025_06_18 => Err(Unaskable("the client's revision has no elicitation")),
        _ if revision < Revision::V2025_11_25 && by_url => {
            Err(Unaskable("the client's revision has no elicitation by URL"))
        }
        _ if revision < Revision::V2025_11_25 => {
            let schema = params.get_object("requestedSchema");
            if schema.is_some_and(|schema| !is_plain(&schema)) {
                return Err(Unaskable("the client's revision has no choices with titles or of several"));
            }
            Ok(params.edit().remove("mode").finish())
        }
        _ if by_url && !params.contains("elicitationId") => {
            Ok(params.edit().set("elicitationId", RawJson::string(&fresh_id()).as_bytes()).finish())
        }
        _ => Ok(params.raw().clone()),
    }
}

/// Whether a form has only fields that 2025-06-18 has (protocol.md §11.5).
fn is_plain(schema: &RawObject) -> bool {
    let properties = schema.get_object("properties");
    properties.is_none_or(|fields| {
        fields.iter().all(|(_, field)| {
            RawObject::try_from(field).is_ok_and(|field| {
                let titled = ["oneOf", "anyOf"].iter().any(|member| field.contains(member));
                !titled && field.get_text("type").as_deref() != Some("array")
            })
        })
    })
}

fn sampling(revision: Revision, params: &RawObject) -> Result<RawJson, Unaskable> {
    if params.contains("tools") {
        return Err(Unaskable("the client's revision has no sampling with tools"));
    }
    let edit = params.edit().remove("toolChoice");
    let messages = params.get("messages");
    let Some(all) = messages.as_ref().and_then(|messages| messages.elements(usize::MAX)) else {
        return Ok(edit.finish());
    };
    let mut single = Vec::with_capacity(all.len());
    for message in all {
        apart(message, &mut single)?;
    }
    if single.iter().any(|message| !is_known(revision, message)) {
        return Err(Unaskable("the client's revision has no such content in messages"));
    }
    let single = RawJson::array(single);
    let single = blocks::messages(revision, &single).unwrap_or(single);
    Ok(match messages {
        Some(given) if given == single => edit.finish(),
        _ => edit.set("messages", single.as_bytes()).finish(),
    })
}

/// A message of several blocks as several of one, which is all that there was before 2025-11-25.
fn apart(message: RawJson, single: &mut Vec<RawJson>) -> Result<(), Unaskable> {
    let object = RawObject::try_from(message.clone()).map_err(|_| Unaskable("a message is no object"))?;
    match object.get("content").and_then(|content| content.elements(usize::MAX)) {
        None => single.push(message),
        Some(blocks) => {
            let alone = |block: RawJson| object.edit().set("content", block.as_bytes()).finish();
            single.extend(blocks.into_iter().map(alone));
        }
    }
    Ok(())
}

fn is_known(revision: Revision, message: &RawJson) -> bool {
    let content = RawObject::try_from(message.clone()).ok().and_then(|message| message.get_object("content"));
    let kind = content.and_then(|content| content.get_text("type"));
    match kind.as_deref() {
        Some("text" | "image") => true,
        Some("audio") => revision >= Revision::V2025_03_26,
        _ => false,
    }
}
