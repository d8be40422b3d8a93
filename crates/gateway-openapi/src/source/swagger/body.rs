use gateway_domain::{RawJson, RawObject};

use super::{
    object::{ObjectText, array_text},
    parameter,
};

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

/// The parameters of an operation that are its body.
#[derive(Default)]
pub(super) struct BodyParts {
    whole: Option<RawObject>,
    fields: Vec<RawObject>,
}

impl BodyParts {
    /// The last of two with the same name counts.
    pub(super) fn add(&mut self, parameter: RawObject) {
        if parameter::location(&parameter) == "body" {
            self.whole = Some(parameter);
            return;
        }
        let name = |field: &RawObject| field.get_text("name").unwrap_or_default();
        self.fields.retain(|field| name(field) != name(&parameter));
        self.fields.push(parameter);
    }

    /// An operation's own, and those of its path that it has not itself.
    pub(super) fn over(&self, shared: &Self) -> Self {
        let mut all = Self { whole: shared.whole.clone(), fields: shared.fields.clone() };
        if let Some(whole) = &self.whole {
            all.add(whole.clone());
        }
        self.fields.iter().for_each(|field| all.add(field.clone()));
        all
    }
}

/// What is sent with an operation, for the media types that it takes.
pub(super) fn request_body(parts: &BodyParts, consumes: &[String]) -> Option<Vec<u8>> {
    match &parts.whole {
        Some(whole) => Some(whole_body(whole, consumes)),
        None if parts.fields.is_empty() => None,
        None => Some(form_body(&parts.fields, consumes)),
    }
}

fn whole_body(parameter: &RawObject, consumes: &[String]) -> Vec<u8> {
    let schema = parameter.get("schema").map_or_else(|| b"{}".to_vec(), |schema| schema.into_bytes().into());
    let mut media = ObjectText::default();
    media.set("schema", schema);
    let media = media.finish();
    // "Anything" is no `Content-Type` that can be sent.
    let mut types: Vec<&str> = consumes
        .iter()
        .map(|media_type| if media_type == "*/*" { JSON } else { media_type.as_str() })
        .collect();
    if types.is_empty() {
        types.push(JSON);
    }
    let mut out = ObjectText::default();
    out.copy(parameter, |name| matches!(name, "description" | "required") || name.starts_with("x-"));
    out.set("content", content(&types, &media));
    out.finish()
}

const JSON: &str = "application/json";

/// Fields of a form: as an object, in the kinds of forms that are taken. One with files is always in parts.
fn form_body(fields: &[RawObject], consumes: &[String]) -> Vec<u8> {
    let has_file = fields.iter().any(|field| field.get_text("type").as_deref() == Some("file"));
    let is_taken = |kind: &str| consumes.iter().any(|media_type| media_type.trim().starts_with(kind));
    let types: &[&str] = match (is_taken(FORM), is_taken(MULTIPART)) {
        _ if has_file => &[MULTIPART],
        (true, true) => &[FORM, MULTIPART],
        (false, true) => &[MULTIPART],
        _ => &[FORM],
    };
    let mut out = ObjectText::default();
    if fields.iter().any(parameter::is_required) {
        out.set("required", "true");
    }
    out.set("content", content(types, &form_media(fields)));
    out.finish()
}

fn form_media(fields: &[RawObject]) -> Vec<u8> {
    let (mut properties, mut encoding, mut required) =
        (ObjectText::default(), ObjectText::default(), Vec::new());
    for field in fields {
        let name = field.get_text("name").unwrap_or_default();
        properties.set(&name, described_schema(field));
        if let Some((style, explode)) = parameter::style(field) {
            let mut how = ObjectText::default();
            how.set("style", RawJson::string(style).as_bytes());
            how.set("explode", if explode { "true" } else { "false" });
            encoding.set(&name, how.finish());
        }
        if parameter::is_required(field) {
            required.push(RawJson::string(&name).into_bytes());
        }
    }
    let mut schema = ObjectText::default();
    schema.set("type", r#""object""#);
    schema.set("properties", properties.finish());
    if !required.is_empty() {
        schema.set("required", array_text(required));
    }
    let mut media = ObjectText::default();
    media.set("schema", schema.finish());
    if !encoding.is_empty() {
        media.set("encoding", encoding.finish());
    }
    media.finish()
}

/// A field's schema, which is the only place for its description.
fn described_schema(field: &RawObject) -> Vec<u8> {
    let schema = parameter::schema(field);
    match (field.get("description"), RawObject::parse(schema.clone())) {
        (Some(description), Ok(object)) if !object.contains("description") => {
            object.edit().set("description", description.as_bytes()).finish().into_bytes().into()
        }
        _ => schema,
    }
}

/// The same for each media type; one that stands twice is taken once.
fn content(types: &[&str], media: &[u8]) -> Vec<u8> {
    let mut out = ObjectText::default();
    for (at, media_type) in types.iter().enumerate() {
        if !types[..at].contains(media_type) {
            out.set(media_type, media);
        }
    }
    out.finish()
}
