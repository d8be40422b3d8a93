use gateway_domain::{JsonKind, RawJson, RawObject};

use super::types::{Type, types};
use crate::source::openapi::{
    document::Version,
    media::{self, Content},
};

/// What several keywords of one schema say together.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) types: Vec<Type>,
    pub(super) nullable: bool,
    /// Whether it goes on elsewhere: then null has to be allowed beside the whole of it.
    pub(super) is_combined: bool,
    pub(super) exclusive_maximum: bool,
    pub(super) exclusive_minimum: bool,
    /// Whether its value is bytes, which are base64 here.
    pub(super) bytes: Bytes,
    /// Whether only annotations count (OpenAPI 3.0 §4.7.23: what stands beside a reference is ignored).
    pub(super) is_reference: bool,
}

/// How bytes are a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bytes {
    /// It is none.
    No,
    /// Base64 in the API as well: 3.0's `byte`.
    Encoded,
    /// As they are in the API: 3.0's `binary`, `file`, a binary media type without encoding. Lengths and patterns are
    /// those of the bytes.
    Raw,
}

impl Facts {
    pub(super) fn of(schema: &RawObject, version: Version) -> Self {
        let truth = |name| schema.get(name).is_some_and(|value: RawJson| value.to_bool() == Some(true));
        let types = types(schema.get("type").as_ref());
        let has_reference = schema.get("$ref").is_some_and(|value| value.kind() == JsonKind::String);
        Self {
            nullable: truth("nullable"),
            is_combined: COMBINED.iter().any(|name| schema.contains(name)),
            exclusive_maximum: truth("exclusiveMaximum"),
            exclusive_minimum: truth("exclusiveMinimum"),
            bytes: bytes(schema, &types),
            is_reference: has_reference && version == Version::V30,
            types,
        }
    }

    /// Whether null is allowed beside all of the schema rather than in it.
    pub(super) fn is_wrapped(&self) -> bool {
        self.nullable && self.is_combined
    }

    /// Whether null is allowed in it.
    pub(super) fn is_nullable_here(&self) -> bool {
        self.nullable && !self.is_combined
    }
}

const COMBINED: [&str; 9] =
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "const", "$recursiveRef"];

fn bytes(schema: &RawObject, types: &[Type]) -> Bytes {
    let text = |name| schema.get_text(name);
    if schema.get_text("type").is_some_and(|word| word.trim().eq_ignore_ascii_case("file")) {
        return Bytes::Raw;
    }
    if !types.is_empty() && !types.contains(&Type::String) {
        return Bytes::No;
    }
    match text("format").as_deref() {
        Some("binary") => return Bytes::Raw,
        Some("byte") => return Bytes::Encoded,
        _ => {}
    }
    let is_binary = text("contentMediaType").is_some_and(|kind| media::content(&kind) == Content::Binary);
    match schema.contains("contentEncoding") {
        false if is_binary && types.contains(&Type::String) => Bytes::Raw,
        _ => Bytes::No,
    }
}
