use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{LazyLock, Mutex, PoisonError},
};

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
    if schema.as_bytes().len() < Verdicts::SHORT {
        return judge(schema);
    }
    let key = VERDICTS.hasher.hash_one(schema.as_bytes());
    if let Some(verdict) = VERDICTS.get(key) {
        return verdict;
    }
    let verdict = judge(schema);
    VERDICTS.put(key, verdict);
    verdict
}

/// What was said of schemas before. Thousands of operations may share one large schema.
static VERDICTS: LazyLock<Verdicts> = LazyLock::new(Verdicts::default);

#[derive(Default)]
struct Verdicts {
    /// Has a secret key, so that no document can bring about that two schemas have the same hash.
    hasher: RandomState,
    known: Mutex<HashMap<u64, bool>>,
}

impl Verdicts {
    /// Schemas that are shorter, in bytes, are judged each time.
    const SHORT: usize = 256;
    const MOST: usize = 4096;

    fn get(&self, key: u64) -> Option<bool> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied()
    }

    fn put(&self, key: u64, verdict: bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == Self::MOST {
            known.clear();
        }
        known.insert(key, verdict);
    }
}

fn judge(schema: &RawJson) -> bool {
    let Ok(schema) = value::parse(schema) else { return false };
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
