use gateway_domain::{RawJson, RawObject};

use super::object::ObjectText;

/// All ways to say who asks. One that is not understood is passed on.
pub(super) fn schemes(definitions: &RawObject) -> Vec<u8> {
    let mut out = ObjectText::default();
    for (name, definition) in definitions.iter() {
        match RawObject::try_from(definition.clone()) {
            Ok(object) => out.set(&name, scheme(&object)),
            Err(_) => out.set(&name, definition.as_bytes()),
        }
    }
    out.finish()
}

fn scheme(definition: &RawObject) -> Vec<u8> {
    let mut out = ObjectText::default();
    match definition.get_text("type").as_deref() {
        Some("basic") => {
            out.set("type", r#""http""#);
            out.set("scheme", r#""basic""#);
            out.copy(definition, is_description);
        }
        Some("oauth2") => {
            out.set("type", r#""oauth2""#);
            out.copy(definition, is_description);
            out.set("flows", flows(definition));
        }
        _ => out.copy(definition, |_| true),
    }
    out.finish()
}

fn is_description(name: &str) -> bool {
    name == "description" || name.starts_with("x-")
}

fn flows(definition: &RawObject) -> Vec<u8> {
    let flow = definition.get_text("flow").unwrap_or_default();
    let name = match flow.as_str() {
        "application" => "clientCredentials",
        "accessCode" => "authorizationCode",
        other => other,
    };
    let mut inside = ObjectText::default();
    inside.copy(definition, |name| matches!(name, "authorizationUrl" | "tokenUrl"));
    let scopes =
        definition.get("scopes").map_or_else(|| b"{}".to_vec(), |scopes: RawJson| scopes.into_bytes().into());
    inside.set("scopes", scopes);
    let mut out = ObjectText::default();
    if !name.is_empty() {
        out.set(name, inside.finish());
    }
    out.finish()
}
