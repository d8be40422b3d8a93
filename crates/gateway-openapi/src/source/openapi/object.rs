use gateway_domain::{JsonError, JsonKind, RawJson, RawObject};

/// The most members of one object. Bounds the index of an object that is looked into.
const MOST_MEMBERS: usize = 200_000;

/// The value as an object; `None` if it is none, has a name twice or too many members.
pub(super) fn object(value: &RawJson) -> Option<RawObject> {
    if value.kind() != JsonKind::Object {
        return None;
    }
    RawObject::read_message(value.clone().into_bytes(), |bytes, scanner| {
        RawObject::scan(bytes, scanner, MOST_MEMBERS, |_, _| Ok::<_, JsonError>(()))
    })
    .ok()
}

/// A member that is a text and not empty, cut to [`MOST_TEXT`].
pub(super) fn text(object: &RawObject, name: &str) -> Option<String> {
    let value = object.get(name)?;
    let text = value.to_text()?;
    let text = text.trim();
    (!text.is_empty()).then(|| cut(text).to_owned())
}

/// A member that is true.
pub(super) fn flag(object: &RawObject, name: &str) -> bool {
    object.get(name).and_then(|value| value.to_bool()).unwrap_or_default()
}

/// How long a description may be, in bytes: a model reads it with every list of tools.
pub(super) const MOST_TEXT: usize = 8 * 1024;

/// The beginning of a text, cut at a character.
pub(super) fn cut(text: &str) -> &str {
    let mut end = text.len().min(MOST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// What kind of value stands there, in words.
pub(super) fn kind(value: &RawJson) -> &'static str {
    match value.kind() {
        JsonKind::Object => "an object",
        JsonKind::Array => "a list",
        JsonKind::String => "a text",
        JsonKind::Number => "a number",
        JsonKind::Boolean => "a truth value",
        JsonKind::Null => "null",
    }
}
