//! Texts that a tool wants as numbers or booleans (C-46).

use gateway_domain::{JsonKind, RawJson, RawObject};

/// The value with its texts as the schema wants them: a text becomes an integer, a number or a boolean where the
/// schema's `type` admits that and no text, and the text is one. Looks into `properties` and `items`; all else stays
/// as it is, byte for byte.
pub(super) fn coerce(value: RawJson, schema: &RawObject) -> RawJson {
    changed(&value, schema).unwrap_or(value)
}

fn changed(value: &RawJson, schema: &RawObject) -> Option<RawJson> {
    match value.kind() {
        JsonKind::String => scalar(&value.to_text()?, schema),
        JsonKind::Object => {
            object(&RawObject::try_from(value.clone()).ok()?, &schema.get_object("properties")?)
        }
        JsonKind::Array => array(value, &schema.get_object("items")?),
        _ => None,
    }
}

fn object(value: &RawObject, properties: &RawObject) -> Option<RawJson> {
    let members = value.iter().filter_map(|(name, member)| {
        let member = changed(&member, &properties.get_object(&name)?)?;
        Some((name, member))
    });
    let edit = members.fold(value.edit(), |edit, (name, member)| edit.set(&name, member.as_bytes()));
    (!edit.is_unchanged()).then(|| edit.finish())
}

fn array(value: &RawJson, items: &RawObject) -> Option<RawJson> {
    let elements = value.elements(usize::MAX)?;
    let wanted: Vec<_> = elements.iter().map(|element| changed(element, items)).collect();
    let any = wanted.iter().any(Option::is_some);
    any.then(|| RawJson::array(wanted.into_iter().zip(elements).map(|(new, old)| new.unwrap_or(old))))
}

fn scalar(text: &str, schema: &RawObject) -> Option<RawJson> {
    let types = schema.get("type")?;
    let types = types.elements(usize::MAX).unwrap_or_else(|| vec![types]);
    let types: Vec<_> = types.iter().filter_map(RawJson::to_text).collect();
    if types.iter().any(|name| name == "string") {
        return None;
    }
    let value = RawJson::parse(text.to_owned()).ok().filter(|value| value.as_str() == text)?;
    types.iter().any(|name| fits(&value, name)).then_some(value)
}

fn fits(value: &RawJson, name: &str) -> bool {
    match (name, value.kind()) {
        ("integer", JsonKind::Number) => !value.as_str().contains(['.', 'e', 'E']),
        ("number", JsonKind::Number) | ("boolean", JsonKind::Boolean) => true,
        _ => false,
    }
}
