use gateway_domain::{RawJson, RawObject};

use super::{object::ObjectText, parameter};

/// All answers of an operation. References to those of the document are resolved, because which media types an answer
/// has is said by the operation.
pub(super) fn all(responses: &RawJson, known: &RawObject, produces: &[String]) -> Vec<u8> {
    let Ok(responses) = RawObject::try_from(responses.clone()) else { return responses.as_bytes().to_vec() };
    let mut out = ObjectText::default();
    for (status, response) in responses.iter() {
        match RawObject::try_from(response.clone()) {
            Ok(object) if !status.starts_with("x-") => {
                let target = referred(&object, known);
                out.set(&status, one(target.as_ref().unwrap_or(&object), produces));
            }
            _ => out.set(&status, response.as_bytes()),
        }
    }
    out.finish()
}

fn referred(reference: &RawObject, known: &RawObject) -> Option<RawObject> {
    let target = reference.get_text("$ref")?;
    let name = target.strip_prefix("#/responses/")?.replace("~1", "/").replace("~0", "~");
    known.get_object(&name)
}

fn one(response: &RawObject, produces: &[String]) -> Vec<u8> {
    let mut out = ObjectText::default();
    out.copy(response, |name| !matches!(name, "schema" | "headers" | "examples" | "content"));
    if let Some(headers) = response.get_object("headers") {
        out.set("headers", converted_headers(&headers));
    }
    if let Some(schema) = response.get("schema") {
        out.set("content", content(&schema, response.get_object("examples").as_ref(), produces));
    }
    out.finish()
}

fn converted_headers(headers: &RawObject) -> Vec<u8> {
    let mut out = ObjectText::default();
    for (name, header) in headers.iter() {
        match RawObject::try_from(header.clone()) {
            Ok(header) => out.set(&name, parameter::converted(&header)),
            Err(_) => out.set(&name, header.as_bytes()),
        }
    }
    out.finish()
}

/// Without media types of its own an answer with a schema is JSON, as the tools of Swagger have it.
fn content(schema: &RawJson, examples: Option<&RawObject>, produces: &[String]) -> Vec<u8> {
    let is_file = schema.mentions(br#""file""#)
        && RawObject::try_from(schema.clone()).is_ok_and(|s| s.get_text("type").as_deref() == Some("file"));
    let schema = if is_file { parameter::FILE } else { schema.as_bytes() };
    let default = [if is_file { "application/octet-stream" } else { "application/json" }.to_owned()];
    let types = if produces.is_empty() { default.as_slice() } else { produces };
    let mut out = ObjectText::default();
    for (at, media_type) in types.iter().enumerate() {
        if types[..at].contains(media_type) {
            continue;
        }
        let mut media = ObjectText::default();
        media.set("schema", schema);
        if let Some(example) = examples.and_then(|examples| examples.get(media_type)) {
            media.set("example", example.as_bytes());
        }
        out.set(media_type, media.finish());
    }
    out.finish()
}
