//! Towards a client of a revision with sessions, from whatever downstream (protocol.md §20.8).
//!
//! All functions are pure. What a client can read as it is comes back as it is, without a copy.

mod blocks;
mod capabilities;
mod questions;

use gateway_domain::{JsonKind, ListKind, ObjectEdit, PeerError, RawJson, RawObject, Subject};

pub use self::{
    capabilities::{of_client, of_server},
    questions::{Unaskable, question},
};
use crate::{Revision, code, meta};

/// Members of a result that only modern clients know.
const MODERN_MEMBERS: [&str; 5] = ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"];
/// Members of its `_meta` that only modern clients know, or that name a task the client was not offered.
const MODERN_META: [&str; 3] = [meta::SERVER_INFO, meta::SUBSCRIPTION_ID, meta::RELATED_TASK];

/// The result of a request about this.
pub fn result(subject: &Subject, result: &RawObject, revision: Revision) -> RawJson {
    let edit = MODERN_MEMBERS.iter().fold(result.edit(), |edit, member| edit.remove(member));
    let edit = without_modern_meta(result, edit);
    match subject {
        Subject::Tool { .. } => tool_result(edit, result, revision),
        Subject::Prompt { .. } => {
            let messages = result.get("messages").and_then(|given| blocks::messages(revision, &given));
            match messages {
                Some(messages) => edit.set("messages", messages.as_bytes()),
                None => edit,
            }
        }
        _ => edit,
    }
    .finish()
}

/// The params of a notification.
pub fn notification(params: &RawObject) -> RawJson {
    without_modern_meta(params, params.edit()).finish()
}

/// `edit` of `object`, of whose `_meta` is kept what the client may know.
fn without_modern_meta<'a>(object: &RawObject, edit: ObjectEdit<'a>) -> ObjectEdit<'a> {
    let Some(own) = object.get_object("_meta") else { return edit };
    let rest = MODERN_META.iter().fold(own.edit(), |edit, member| edit.remove(member));
    if rest.is_unchanged() {
        return edit;
    }
    let rest = rest.finish();
    if rest.as_str() == "{}" { edit.remove("_meta") } else { edit.set("_meta", rest.as_bytes()) }
}

/// What a tool gives beyond the members that every result may have.
fn tool_result<'a>(mut edit: ObjectEdit<'a>, result: &RawObject, revision: Revision) -> ObjectEdit<'a> {
    let content = result.get("content");
    if let Some(structured) = result.get("structuredContent").filter(|it| !can_read(revision, it)) {
        edit = edit.remove("structuredContent");
        // Most servers repeat it as text. Of one that does not, the client would see nothing.
        if content.as_ref().is_none_or(|content| content.elements(0).is_some()) {
            let text = RawJson::string(structured.as_str());
            return edit.set("content", format!(r#"[{{"type":"text","text":{text}}}]"#));
        }
    }
    match content.and_then(|content| blocks::array(revision, &content)) {
        Some(content) => edit.set("content", content.as_bytes()),
        None => edit,
    }
}

/// Only objects have ever been structured content in this era, and that since 2025-06-18.
fn can_read(revision: Revision, structured: &RawJson) -> bool {
    revision >= Revision::V2025_06_18 && structured.kind() == JsonKind::Object
}

/// The entries of a list of this kind. What a tool offers as a task is not offered to clients of this era.
pub fn list(list: ListKind, items: &RawJson, revision: Revision) -> RawJson {
    // A page is the same for many clients, so most of them are passed on after one look for a word. A name that
    // hides behind escapes is a member that the client does not know, as others are.
    let holds = |word: &str| memchr::memmem::find(items.as_bytes(), word.as_bytes()).is_some();
    if list != ListKind::Tools || !(holds(r#""execution""#) || holds(r#""outputSchema""#)) {
        return items.clone();
    }
    blocks::each(items, |definition| tool(revision, definition)).unwrap_or_else(|| items.clone())
}

/// The definition of a tool, if it has to be another one.
fn tool(revision: Revision, definition: &RawObject) -> Option<RawJson> {
    let mut edit = definition.edit().remove("execution");
    let readable = |schema: RawObject| {
        revision >= Revision::V2025_06_18 && schema.get_text("type").as_deref() == Some("object")
    };
    if definition.contains("outputSchema") && !definition.get_object("outputSchema").is_some_and(readable) {
        edit = edit.remove("outputSchema");
    }
    (!edit.is_unchanged()).then(|| edit.finish())
}

/// An error that a downstream answered a request about this with. The codes of a hop, and those that the client
/// does not have, become -32603 with the original in `data`.
pub fn error(subject: &Subject, error: &PeerError, revision: Revision, opens_urls: bool) -> RawJson {
    let urls = revision >= Revision::V2025_11_25 && opens_urls;
    match (error.code, subject) {
        (code::UNSUPPORTED_VERSION..=code::HEADER_MISMATCH, _) => super::modern::moved(error),
        (code::URL_REQUIRED, _) if !urls => super::modern::moved(error),
        (code::INVALID_PARAMS, Subject::Resource { .. }) if names_uri(error) => {
            error.raw.edit().set("code", code::RESOURCE_NOT_FOUND.to_string()).finish()
        }
        _ => error.raw.raw().clone(),
    }
}

/// What tells a resource that is not there from params that are wrong, since modern servers have one code for both.
fn names_uri(error: &PeerError) -> bool {
    error.raw.get_object("data").is_some_and(|data| data.contains("uri"))
}

#[cfg(test)]
mod tests;
