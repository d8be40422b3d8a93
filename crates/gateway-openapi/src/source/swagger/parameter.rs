use gateway_domain::{JsonKind, RawJson, RawObject};

use super::object::ObjectText;

/// Whether it is part of the body in OpenAPI.
pub(super) fn is_of_body(parameter: &RawObject) -> bool {
    matches!(location(parameter).as_str(), "body" | "formData")
}

pub(super) fn location(parameter: &RawObject) -> String {
    parameter.get_text("in").unwrap_or_default()
}

/// A parameter that is not part of the body: what Swagger says beside its name becomes its schema.
pub(super) fn converted(parameter: &RawObject) -> Vec<u8> {
    let mut out = ObjectText::default();
    out.copy(parameter, is_of_parameter);
    out.set("schema", schema(parameter));
    if let Some((style, explode)) = style(parameter) {
        out.set("style", RawJson::string(style).as_bytes());
        out.set("explode", if explode { "true" } else { "false" });
    }
    out.finish()
}

/// The schema of a parameter, a form's field or a response's header.
pub(super) fn schema(parameter: &RawObject) -> Vec<u8> {
    // Not Swagger, but written now and then.
    if let Some(schema) = parameter.get("schema").filter(|_| !parameter.contains("type")) {
        return schema.into_bytes().into();
    }
    if parameter.get_text("type").as_deref() == Some("file") {
        return FILE.into();
    }
    let mut out = ObjectText::default();
    out.copy(parameter, |name| {
        let is_beside = matches!(name, "collectionFormat" | "schema" | "style" | "explode");
        !is_beside && (!is_of_parameter(name) || name == "x-nullable")
    });
    out.finish()
}

/// A file's content in OpenAPI 3.0.
pub(super) const FILE: &[u8] = br#"{"type":"string","format":"binary"}"#;

/// The style that is the same as the parameter's `collectionFormat`, and whether it explodes; `None` for what is no
/// array or has what is the default. Tabs are in no style of OpenAPI; they get one that no reader knows.
pub(super) fn style(parameter: &RawObject) -> Option<(&'static str, bool)> {
    if parameter.get_text("type").as_deref() != Some("array") {
        return None;
    }
    let is_named = matches!(location(parameter).as_str(), "query" | "formData");
    match parameter.get_text("collectionFormat").as_deref() {
        Some("multi") if is_named => Some(("form", true)),
        Some("ssv") => Some(("spaceDelimited", false)),
        Some("tsv") => Some(("tabDelimited", false)),
        Some("pipes") => Some(("pipeDelimited", false)),
        _ if is_named => Some(("form", false)),
        _ => None,
    }
}

/// Members that stay where they are; extensions too.
fn is_of_parameter(name: &str) -> bool {
    matches!(name, "name" | "in" | "description" | "required" | "allowEmptyValue" | "deprecated" | "$ref")
        || name.starts_with("x-")
}

/// The members of a parameter that is needed stand so in the list of an object.
pub(super) fn is_required(parameter: &RawObject) -> bool {
    parameter
        .get("required")
        .filter(|required| required.kind() == JsonKind::Boolean)
        .and_then(|r| r.to_bool())
        == Some(true)
}
