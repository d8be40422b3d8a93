//! What a definition must look like so that clients can read the list it stands in.
//!
//! Official clients refuse a whole list for one definition that breaks the protocol's schema. So one that
//! does is left out: it costs its own downstream an entry, not every downstream all of theirs. Only what every
//! revision agrees on is looked at; members that are not known pass.

use gateway_domain::{JsonKind, ListKind, RawJson, RawObject};

/// The most elements of an array that are looked at.
const ELEMENTS: usize = 10_000;

/// As [`fault`], of an entry of any list (protocol.md §11.1).
pub(crate) fn fault_in(list: ListKind, definition: &RawObject) -> Option<String> {
    match list {
        ListKind::Tools => fault(definition),
        ListKind::Prompts => missing(definition, &["name"])
            .or_else(|| wrong_kind(definition, "", &[("arguments", JsonKind::Array)]))
            .or_else(|| definition.get("arguments").and_then(|arguments| of_arguments(&arguments)))
            .or_else(|| of_described(definition)),
        ListKind::Resources => missing(definition, &["uri", "name"])
            .or_else(|| wrong_kind(definition, "", &[("size", JsonKind::Number)]))
            .or_else(|| of_described(definition)),
        ListKind::ResourceTemplates => {
            missing(definition, &["uriTemplate", "name"]).or_else(|| of_described(definition))
        }
    }
}

fn missing(definition: &RawObject, members: &[&str]) -> Option<String> {
    let is_there = |member: &str| definition.get(member).is_some_and(|it| it.kind() == JsonKind::String);
    let member = members.iter().find(|member| !is_there(member))?;
    Some(format!("it has no string `{member}`"))
}

/// What prompts, resources and templates have in common.
fn of_described(definition: &RawObject) -> Option<String> {
    let members = [
        ("title", JsonKind::String),
        ("description", JsonKind::String),
        ("mimeType", JsonKind::String),
        ("annotations", JsonKind::Object),
        ("icons", JsonKind::Array),
        ("_meta", JsonKind::Object),
    ];
    let hints =
        [("audience", JsonKind::Array), ("priority", JsonKind::Number), ("lastModified", JsonKind::String)];
    wrong_kind(definition, "", &members)
        .or_else(|| wrong_kind(&definition.get_object("annotations")?, "annotations.", &hints))
        .or_else(|| of_icons(&definition.get("icons")?))
}

fn of_arguments(arguments: &RawJson) -> Option<String> {
    let members =
        [("title", JsonKind::String), ("description", JsonKind::String), ("required", JsonKind::Boolean)];
    let fault = |argument: RawJson| match RawObject::try_from(argument) {
        Err(_) => Some("its `arguments` has an element that is no object".to_owned()),
        Ok(argument) if missing(&argument, &["name"]).is_some() => {
            Some("its `arguments` has an element without a string `name`".to_owned())
        }
        Ok(argument) => wrong_kind(&argument, "arguments[].", &members),
    };
    arguments.elements(ELEMENTS)?.into_iter().find_map(fault)
}

/// Why a tool's definition would make clients refuse its list, if it would (protocol.md §11.2).
pub(crate) fn fault(definition: &RawObject) -> Option<String> {
    let members = [
        ("title", JsonKind::String),
        ("description", JsonKind::String),
        ("inputSchema", JsonKind::Object),
        ("outputSchema", JsonKind::Object),
        ("annotations", JsonKind::Object),
        ("icons", JsonKind::Array),
        ("execution", JsonKind::Object),
        ("_meta", JsonKind::Object),
    ];
    wrong_kind(definition, "", &members)
        .or_else(|| definition.get_object("inputSchema").and_then(|schema| of_schema(&schema)))
        .or_else(|| definition.get_object("annotations").and_then(|hints| of_annotations(&hints)))
        .or_else(|| definition.get_object("execution").and_then(|execution| of_execution(&execution)))
        .or_else(|| definition.get("icons").and_then(|icons| of_icons(&icons)))
}

/// A root without a type is mended when the tool is rendered; another type than an object is not one of a
/// tool's arguments.
fn of_schema(schema: &RawObject) -> Option<String> {
    if schema.get("type").is_some_and(|kind| kind.as_str() != "\"object\"") {
        return Some("its `inputSchema.type` is not \"object\"".to_owned());
    }
    let members = [("properties", JsonKind::Object), ("required", JsonKind::Array)];
    let wrong = wrong_kind(schema, "inputSchema.", &members);
    wrong
        .or_else(|| {
            let required = schema.get("required")?.elements(ELEMENTS)?;
            let odd = required.iter().any(|name| name.kind() != JsonKind::String);
            odd.then(|| "its `inputSchema.required` names something that is no string".to_owned())
        })
        .or_else(|| {
            // A truth value is a schema too, since 2020-12.
            let is_schema = |value: &RawJson| matches!(value.kind(), JsonKind::Object | JsonKind::Boolean);
            let properties = schema.get_object("properties")?;
            let odd = properties.iter().any(|(_, value)| !is_schema(&value));
            odd.then(|| "its `inputSchema.properties` has a value that is no schema".to_owned())
        })
}

fn of_annotations(hints: &RawObject) -> Option<String> {
    let members = [
        ("title", JsonKind::String),
        ("readOnlyHint", JsonKind::Boolean),
        ("destructiveHint", JsonKind::Boolean),
        ("idempotentHint", JsonKind::Boolean),
        ("openWorldHint", JsonKind::Boolean),
    ];
    wrong_kind(hints, "annotations.", &members)
}

fn of_execution(execution: &RawObject) -> Option<String> {
    let support = execution.get("taskSupport")?;
    let known = ["\"forbidden\"", "\"optional\"", "\"required\""].contains(&support.as_str());
    (!known).then(|| "its `execution.taskSupport` is none of forbidden, optional, required".to_owned())
}

fn of_icons(icons: &RawJson) -> Option<String> {
    let is_icon = |icon: RawJson| {
        let source = RawObject::try_from(icon).ok().and_then(|icon| icon.get("src"));
        source.is_some_and(|source| source.kind() == JsonKind::String)
    };
    let good = icons.elements(ELEMENTS)?.into_iter().all(is_icon);
    (!good).then(|| "its `icons` has an element without a string `src`".to_owned())
}

/// The first member that is there and is of another kind than it must be.
fn wrong_kind(object: &RawObject, path: &str, members: &[(&str, JsonKind)]) -> Option<String> {
    let wrong =
        |(member, kind): &&(&str, JsonKind)| object.get(member).is_some_and(|value| value.kind() != *kind);
    let (member, kind) = members.iter().find(wrong)?;
    Some(format!("its `{path}{member}` is no {}", name(*kind)))
}

fn name(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::Object => "object",
        JsonKind::Array => "array",
        JsonKind::String => "string",
        JsonKind::Number => "number",
        JsonKind::Boolean => "boolean",
        JsonKind::Null => "null",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(members: &str, expected: Option<&str>) {
        let definition = RawObject::parse(format!(r#"{{"name":"t",{members}}}"#)).unwrap();
        assert_eq!(fault(&definition).as_deref(), expected, "for {members}");
    }

    #[test]
    fn what_clients_refuse_other_lists_for() {
        use ListKind::{Prompts, ResourceTemplates, Resources};
        for (list, definition, expected) in [
            (Prompts, r#"{"name":"p"}"#, None),
            (Prompts, r#"{"name":"p","arguments":[{"name":"a","required":true,"x":1}],"y":null}"#, None),
            (Prompts, r#"{"title":"p"}"#, Some("it has no string `name`")),
            (Prompts, r#"{"name":"p","arguments":{}}"#, Some("its `arguments` is no array")),
            (
                Prompts,
                r#"{"name":"p","arguments":[1]}"#,
                Some("its `arguments` has an element that is no object"),
            ),
            (
                Prompts,
                r#"{"name":"p","arguments":[{}]}"#,
                Some("its `arguments` has an element without a string `name`"),
            ),
            (
                Prompts,
                r#"{"name":"p","arguments":[{"name":"a","required":"no"}]}"#,
                Some("its `arguments[].required` is no boolean"),
            ),
            (Resources, r#"{"uri":"x:1","name":"n","size":3}"#, None),
            (Resources, r#"{"uri":"x:1"}"#, Some("it has no string `name`")),
            (Resources, r#"{"uri":5,"name":"n"}"#, Some("it has no string `uri`")),
            (Resources, r#"{"uri":"x:1","name":"n","size":"3"}"#, Some("its `size` is no number")),
            (
                Resources,
                r#"{"uri":"x:1","name":"n","annotations":{"priority":"1"}}"#,
                Some("its `annotations.priority` is no number"),
            ),
            (ResourceTemplates, r#"{"uriTemplate":"x:{a}","name":"n"}"#, None),
            (ResourceTemplates, r#"{"uri":"x:{a}","name":"n"}"#, Some("it has no string `uriTemplate`")),
            (
                ResourceTemplates,
                r#"{"uriTemplate":"x:{a}","name":"n","mimeType":1}"#,
                Some("its `mimeType` is no string"),
            ),
        ] {
            let definition = RawObject::parse(definition).unwrap();
            assert_eq!(fault_in(list, &definition).as_deref(), expected, "for {definition:?}");
        }
    }

    #[test]
    fn what_clients_refuse_a_list_for() {
        for (members, expected) in [
            (r#""icons":[5]"#, "its `icons` has an element without a string `src`"),
            (r#""icons":[{}]"#, "its `icons` has an element without a string `src`"),
            (r#""inputSchema":{"type":"string"}"#, "its `inputSchema.type` is not \"object\""),
            (r#""inputSchema":{"type":["object","null"]}"#, "its `inputSchema.type` is not \"object\""),
            (r#""inputSchema":{"properties":[]}"#, "its `inputSchema.properties` is no object"),
            (
                r#""inputSchema":{"properties":{"a":5}}"#,
                "its `inputSchema.properties` has a value that is no schema",
            ),
            (r#""inputSchema":{"required":"a"}"#, "its `inputSchema.required` is no array"),
            (
                r#""inputSchema":{"required":[1]}"#,
                "its `inputSchema.required` names something that is no string",
            ),
            (r#""annotations":{"title":5}"#, "its `annotations.title` is no string"),
            (r#""annotations":{"readOnlyHint":"yes"}"#, "its `annotations.readOnlyHint` is no boolean"),
            (r#""execution":5"#, "its `execution` is no object"),
            (
                r#""execution":{"taskSupport":"maybe"}"#,
                "its `execution.taskSupport` is none of forbidden, optional, required",
            ),
            (r#""inputSchema":null"#, "its `inputSchema` is no object"),
            (r#""description":5"#, "its `description` is no string"),
            (r#""outputSchema":[]"#, "its `outputSchema` is no object"),
            (r#""_meta":null"#, "its `_meta` is no object"),
        ] {
            check(members, Some(expected));
        }
    }

    #[test]
    fn what_they_can_read() {
        for members in [
            r#""x":1"#,
            r#""inputSchema":{}"#,
            r#""inputSchema":{"type":"object","properties":{"a":true,"b":{}},"required":[],"anyOf":[{}],"x":null}"#,
            r#""outputSchema":{"type":"array"},"annotations":{"readOnlyHint":true,"vendor":[1]}"#,
            r#""icons":[{"src":"data:,","sizes":[]}],"execution":{"taskSupport":"optional"},"_meta":{}"#,
        ] {
            check(members, None);
        }
    }
}
