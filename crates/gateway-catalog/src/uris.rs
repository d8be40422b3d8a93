//! Where URIs stand in what downstreams say, and how they are put into other words (protocol.md §20.9). Every other
//! byte stays.

use gateway_domain::{RawJson, RawObject, Tool};

/// Tells how a URI is to be written; `None`: as it is.
pub(crate) type Words<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

/// What results have in common that hold links, embedded resources or views. One without these bytes has none.
pub(crate) const TRACE: &[u8] = b"\"resource";

/// More blocks, messages or contents than this are left as they are.
const ELEMENTS: usize = 10_000;

/// The result of a tool: its `content`, and a view in its `_meta`. Each function gives `None` if nothing changes.
pub(crate) fn in_tool_result(result: &RawObject, words: Words<'_>) -> Option<RawJson> {
    let content = result.get("content").and_then(|content| in_array(&content, &mut |b| in_block(b, words)));
    let meta = result.get_object("_meta").and_then(|meta| in_meta(&meta, words));
    replaced(result, [("content", content), ("_meta", meta)])
}

/// The result of a prompt: the blocks of its `messages`.
pub(crate) fn in_prompt_result(result: &RawObject, words: Words<'_>) -> Option<RawJson> {
    let mut in_message = |message: &RawObject| {
        let content = message.get("content")?;
        let changed = match RawObject::try_from(content.clone()) {
            Ok(block) => in_block(&block, words),
            Err(_) => in_array(&content, &mut |block| in_block(block, words)),
        };
        replaced(message, [("content", changed)])
    };
    let messages = in_array(&result.get("messages")?, &mut in_message);
    replaced(result, [("messages", messages)])
}

/// The result of a read: the `uri` of each of its `contents`.
pub(crate) fn in_contents(result: &RawObject, words: Words<'_>) -> Option<RawJson> {
    let contents = in_array(&result.get("contents")?, &mut |one| in_member(one, "uri", words));
    replaced(result, [("contents", contents)])
}

/// The URI under `name`.
pub(crate) fn in_member(object: &RawObject, name: &str, words: Words<'_>) -> Option<RawJson> {
    let changed = words(&object.get_text(name)?)?;
    replaced(object, [(name, Some(RawJson::string(&changed)))])
}

/// A tool whose view has another URI now; both spellings.
pub(crate) fn in_tool(tool: &Tool, words: Words<'_>) -> Option<Tool> {
    let meta = in_meta(&tool.definition().get_object("_meta")?, words)?;
    Some(tool.clone().with("_meta", &meta))
}

/// The URIs of a tool's view.
pub(crate) fn of_tool(tool: &Tool) -> Vec<String> {
    let mut found = Vec::new();
    // Most tools have none; their `_meta` is not indexed.
    if tool.definition().raw().mentions(b"resourceUri")
        && let Some(meta) = tool.definition().get_object("_meta")
    {
        in_meta(&meta, &mut |uri| {
            found.push(uri.to_owned());
            None
        });
    }
    found
}

fn in_meta(meta: &RawObject, words: Words<'_>) -> Option<RawJson> {
    let ui = meta.get_object("ui").and_then(|ui| in_member(&ui, "resourceUri", words));
    let flat = meta.get_text(FLAT).and_then(|uri| words(&uri)).map(|uri| RawJson::string(&uri));
    replaced(meta, [("ui", ui), (FLAT, flat)])
}

fn in_block(block: &RawObject, words: Words<'_>) -> Option<RawJson> {
    match block.get_text("type").as_deref() {
        Some("resource_link") => in_member(block, "uri", words),
        Some("resource") => {
            let resource = in_member(&block.get_object("resource")?, "uri", words);
            replaced(block, [("resource", resource)])
        }
        _ => None,
    }
}

fn in_array(array: &RawJson, change: &mut dyn FnMut(&RawObject) -> Option<RawJson>) -> Option<RawJson> {
    let mut elements = array.elements(ELEMENTS)?;
    let mut is_changed = false;
    for element in &mut elements {
        let object = RawObject::try_from(element.clone()).ok();
        if let Some(changed) = object.and_then(|object| change(&object)) {
            (*element, is_changed) = (changed, true);
        }
    }
    is_changed.then(|| RawJson::array(elements))
}

fn replaced<const N: usize>(object: &RawObject, members: [(&str, Option<RawJson>); N]) -> Option<RawJson> {
    let changed = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let edit = changed.fold(object.edit(), |edit, (name, value)| edit.set(name, value.as_bytes()));
    (!edit.is_unchanged()).then(|| edit.finish())
}

/// The older spelling of `ui.resourceUri` (protocol.md §16.1).
const FLAT: &str = "ui/resourceUri";

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&RawObject, Words<'_>) -> Option<RawJson>;

    fn marked(uri: &str) -> Option<String> {
        uri.strip_prefix("x:").map(|rest| format!("x:a__{rest}"))
    }

    #[track_caller]
    fn check(change: Change, before: &str, after: Option<&str>) {
        let changed = change(&RawObject::parse(before.to_owned()).unwrap(), &mut marked);
        assert_eq!(changed.as_ref().map(RawJson::as_str), after, "for {before}");
    }

    #[test]
    fn links_and_embedded_resources_of_a_tool_are_put_into_other_words() {
        check(
            in_tool_result,
            r#"{ "content":[ {"type":"text","text":"x:1"},{"type":"resource_link","n":1.0,"uri":"x:1"},{"type":"resource","resource":{"uri":"x:2","blob":"x:"}}],"structuredContent":{"uri":"x:1"}}"#,
            Some(
                r#"{ "content":[{"type":"text","text":"x:1"},{"type":"resource_link","n":1.0,"uri":"x:a__1"},{"type":"resource","resource":{"uri":"x:a__2","blob":"x:"}}],"structuredContent":{"uri":"x:1"}}"#,
            ),
        );
        check(
            in_tool_result,
            r#"{"content":[],"_meta":{"ui":{"resourceUri":"x:v","y":1},"ui/resourceUri":"x:v"}}"#,
            Some(r#"{"content":[],"_meta":{"ui":{"resourceUri":"x:a__v","y":1},"ui/resourceUri":"x:a__v"}}"#),
        );
        for same in [
            r#"{}"#,
            r#"{"content":5,"_meta":[]}"#,
            r#"{"content":[{"type":"resource_link","uri":"y:1"},{"type":"resource_link"},{"type":"resource"},7]}"#,
        ] {
            check(in_tool_result, same, None);
        }
    }

    #[test]
    fn messages_and_contents_are_as_well() {
        check(
            in_prompt_result,
            r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"x:1"}},{"content":[{"type":"resource","resource":{"uri":"x:2"}}]},{"content":"x:3"}]}"#,
            Some(
                r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"x:a__1"}},{"content":[{"type":"resource","resource":{"uri":"x:a__2"}}]},{"content":"x:3"}]}"#,
            ),
        );
        check(
            in_contents,
            r#"{"contents":[{"uri":"y:1","text":""},{"text":"x:","uri":"x:1"}],"ttlMs":1.0}"#,
            Some(r#"{"contents":[{"uri":"y:1","text":""},{"text":"x:","uri":"x:a__1"}],"ttlMs":1.0}"#),
        );
        check(in_contents, r#"{"contents":[{"uri":"y:1"}]}"#, None);
    }

    #[test]
    fn views_of_tools_are_found_and_put_into_other_words() {
        let definition = r#"{"name":"t","_meta":{"ui":{"resourceUri":"x:v","visibility":["app"]}},"y":1.0}"#;
        let tool = Tool::from_definition(RawObject::parse(definition).unwrap()).unwrap();
        assert_eq!(of_tool(&tool), ["x:v"]);
        let changed = in_tool(&tool, &mut marked).unwrap();
        assert_eq!(changed.definition().as_str(), definition.replace("x:v", "x:a__v"));
        assert_eq!(of_tool(&Tool::new("t")), [""; 0]);
    }
}
