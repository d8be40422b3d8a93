use gateway_domain::RawJson;
use serde_json::{Map, Value};

use super::value;
use crate::ir::Definitions;

/// Keywords that make a schema a place of its own, from which references would lead elsewhere, and references that do
/// not lead to definitions.
const FOREIGN: [&str; 7] =
    ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"];

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Whether the schema can stand in the schema of a tool: valid by JSON Schema 2020-12, with references to definitions
/// only.
pub(crate) fn is_sound(schema: &RawJson) -> bool {
    let Some(schema) = value::parse(schema) else { return false };
    jsonschema::draft202012::meta::is_valid(&schema) && is_closed(&schema)
}

fn is_closed(schema: &Value) -> bool {
    let Value::Object(members) = schema else { return true };
    members.iter().all(|(keyword, value)| match keyword.as_str() {
        "$ref" => value.as_str().is_some_and(is_definition),
        "$schema" => value == DIALECT,
        keyword => !FOREIGN.contains(&keyword) && below(keyword, value).all(is_closed),
    })
}

/// A name of letters, digits, `_`, `-` and `.`, as [`Definitions`] has them.
fn is_definition(reference: &str) -> bool {
    reference.strip_prefix(Definitions::PREFIX).is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    })
}

/// The schemas that a keyword holds.
pub(super) fn below<'a>(keyword: &str, value: &'a Value) -> Box<dyn Iterator<Item = &'a Value> + 'a> {
    match (holds(keyword), value) {
        (Holds::Schema, schema) => Box::new(std::iter::once(schema)),
        (Holds::List, Value::Array(schemas)) => Box::new(schemas.iter()),
        (Holds::Map, Value::Object(schemas)) => Box::new(schemas.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// As [`below`], to be changed.
pub(super) fn below_mut<'a>(
    keyword: &str,
    value: &'a mut Value,
) -> Box<dyn Iterator<Item = &'a mut Map<String, Value>> + 'a> {
    let schemas: Box<dyn Iterator<Item = &'a mut Value> + 'a> = match (holds(keyword), value) {
        (Holds::Schema, schema) => Box::new(std::iter::once(schema)),
        (Holds::List, Value::Array(schemas)) => Box::new(schemas.iter_mut()),
        (Holds::Map, Value::Object(schemas)) => Box::new(schemas.values_mut()),
        _ => Box::new(std::iter::empty()),
    };
    Box::new(schemas.filter_map(Value::as_object_mut))
}

enum Holds {
    Schema,
    List,
    Map,
    Nothing,
}

fn holds(keyword: &str) -> Holds {
    match keyword {
        "items"
        | "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Holds::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => Holds::Map,
        _ => Holds::Nothing,
    }
}
