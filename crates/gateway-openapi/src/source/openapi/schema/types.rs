//! `type`, and values that have to have one of the types.

use gateway_domain::{JsonKind, RawJson};

/// The seven types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    Integer,
    String,
}

impl Type {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::String => "string",
        }
    }

    /// The type that an author means by a word, be it one of another language.
    fn parse(word: &str) -> Option<Self> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "null" | "nil" => Self::Null,
            "boolean" | "bool" => Self::Boolean,
            "object" => Self::Object,
            "array" => Self::Array,
            "number" | "float" | "double" | "decimal" => Self::Number,
            "integer" | "int" | "int32" | "int64" | "long" => Self::Integer,
            "string" | "file" | "date" | "date-time" | "datetime" | "uuid" => Self::String,
            _ => return None,
        })
    }
}

/// What the value of `type` allows; empty: everything.
pub(super) fn types(value: Option<&RawJson>) -> Vec<Type> {
    let Some(value) = value else { return Vec::new() };
    let words = match value.kind() {
        JsonKind::String => vec![value.clone()],
        JsonKind::Array => value.elements(MOST_TYPES).unwrap_or_default(),
        _ => return Vec::new(),
    };
    let mut found = Vec::with_capacity(words.len());
    for word in &words {
        let known = match word.kind() {
            JsonKind::Null => Some(Type::Null),
            _ => word.to_text().and_then(|word| Type::parse(&word)),
        };
        // One that is not known may be anything, so all of them together are.
        let Some(known) = known else { return Vec::new() };
        if !found.contains(&known) {
            found.push(known);
        }
    }
    found
}

const MOST_TYPES: usize = 16;

/// An item of an `enum` as the only type there is would have it: YAML makes a number of `1.10` and a truth value of
/// `true`, where the author of an `enum` of strings has forgotten the quotes.
pub(super) fn fitted(item: &RawJson, types: &[Type]) -> RawJson {
    let mut meant = types.iter().filter(|known| **known != Type::Null);
    let (Some(only), None) = (meant.next(), meant.next()) else { return item.clone() };
    match (only, item.kind()) {
        (Type::String, JsonKind::Number | JsonKind::Boolean) => RawJson::string(item.as_str()),
        (Type::Integer | Type::Number | Type::Boolean, JsonKind::String) => {
            let parsed = item.to_text().and_then(|text| RawJson::parse(text.trim().to_owned()).ok());
            let wanted = if *only == Type::Boolean { JsonKind::Boolean } else { JsonKind::Number };
            parsed.filter(|parsed| parsed.kind() == wanted).unwrap_or_else(|| item.clone())
        }
        _ => item.clone(),
    }
}
