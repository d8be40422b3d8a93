use gateway_domain::{JsonKind, RawJson, RawObject};

use crate::{
    engine::arguments::is_sound,
    ir::{Body, BodyFormat, Location, Param},
};

/// The longest description that is kept of a schema that is widened, in bytes.
const SHORT: usize = 300;

/// One property of an input schema.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) schema: RawJson,
    pub(super) required: bool,
    /// What the source had was no valid schema.
    pub(super) was_unsound: bool,
    /// It is too long.
    pub(super) was_widened: bool,
}

impl Property {
    pub(super) fn of_param(name: &str, param: &Param, max_bytes: usize) -> Self {
        let kind = if param.location == Location::QueryString { "object" } else { "string" };
        let required = param.required || param.location == Location::Path;
        Self::new(name, param.schema.as_ref(), kind, param.description.as_deref(), required, max_bytes)
    }

    pub(super) fn of_body(name: &str, body: &Body, max_bytes: usize) -> Self {
        let kind = match body.format {
            BodyFormat::Text | BodyFormat::Binary => "string",
            BodyFormat::Json | BodyFormat::Form(_) | BodyFormat::Multipart(_) => "object",
        };
        Self::new(name, body.schema.as_ref(), kind, body.description.as_deref(), body.required, max_bytes)
    }

    /// `kind` is what it is if nothing is known of it (E-7).
    fn new(
        name: &str,
        schema: Option<&RawJson>,
        kind: &str,
        description: Option<&str>,
        required: bool,
        max_bytes: usize,
    ) -> Self {
        // What does not fit need not be judged: that takes long.
        let is_too_long = schema.is_some_and(|schema| schema.as_bytes().len() > max_bytes);
        let was_unsound = !is_too_long && schema.is_some_and(|schema| !is_sound(schema));
        let schema = match schema {
            Some(schema) if is_too_long || was_unsound => stub(schema),
            Some(schema) if !is_empty(schema) => schema.clone(),
            _ => typed(kind),
        };
        Self {
            name: name.to_owned(),
            schema: described(schema, description),
            required,
            was_unsound,
            was_widened: is_too_long,
        }
    }

    /// Puts a wider schema in its place, if that is shorter. How many bytes are gained.
    pub(super) fn widen(&mut self, wider: RawJson) -> usize {
        let gain = self.schema.as_bytes().len().saturating_sub(wider.as_bytes().len());
        if gain > 0 {
            self.schema = wider;
            self.was_widened = true;
        }
        gain
    }
}

/// The schema of an object with these properties (E-5, E-9).
pub(super) fn object(properties: &[Property]) -> RawObject {
    let members = properties.iter().map(|property| (property.name.as_str(), &property.schema));
    let required: Vec<_> =
        properties.iter().filter(|p| p.required).map(|p| RawJson::string(&p.name)).collect();
    let empty = RawObject::empty();
    let schema = empty.edit().set("type", r#""object""#).set("properties", map(members));
    let schema = match required.is_empty() {
        true => schema.finish(),
        false => schema.set("required", RawJson::array(required).as_bytes()).finish(),
    };
    RawObject::try_from(schema).unwrap_or_default()
}

/// An object with these members, whose names differ.
pub(super) fn map<'a>(members: impl IntoIterator<Item = (&'a str, &'a RawJson)>) -> Vec<u8> {
    let mut text = vec![b'{'];
    for (name, value) in members {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(RawJson::string(name).as_bytes());
        text.push(b':');
        text.extend_from_slice(value.as_bytes());
    }
    text.push(b'}');
    text
}

/// A schema that accepts everything that this one does: its type and description if they are short, or nothing.
pub(super) fn stub(schema: &RawJson) -> RawJson {
    let Ok(object) = RawObject::try_from(schema.clone()) else {
        return RawObject::empty().raw().clone();
    };
    let kinds = ["string", "number", "integer", "boolean", "object", "array", "null"];
    let kind = object.get("type").filter(|kind| kind.to_text().is_some_and(|kind| kinds.contains(&&*kind)));
    let description = object
        .get("description")
        .filter(|text| text.kind() == JsonKind::String && text.as_bytes().len() <= SHORT);
    let kept = [("type", kind), ("description", description)];
    let members = kept.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?)));
    RawJson::parse(map(members)).unwrap_or_else(|_| RawObject::empty().raw().clone())
}

/// As [`stub`], without the description.
pub(super) fn bare(schema: &RawJson) -> RawJson {
    match RawObject::try_from(stub(schema)) {
        Ok(object) => object.edit().remove("description").finish(),
        Err(_) => RawObject::empty().raw().clone(),
    }
}

fn typed(kind: &str) -> RawJson {
    RawObject::empty().edit().set("type", RawJson::string(kind).as_bytes()).finish()
}

fn is_empty(schema: &RawJson) -> bool {
    schema.kind() == JsonKind::Object
        && RawObject::try_from(schema.clone()).is_ok_and(|object| object.is_empty())
}

/// With the description, if it has none of its own and can have one (E-8).
fn described(schema: RawJson, description: Option<&str>) -> RawJson {
    let Some(description) = description.filter(|text| !text.is_empty()) else { return schema };
    match RawObject::try_from(schema.clone()) {
        Ok(object) if !object.contains("description") => {
            object.edit().set("description", RawJson::string(description).as_bytes()).finish()
        }
        _ => schema,
    }
}
