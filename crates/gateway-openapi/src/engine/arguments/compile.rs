use gateway_domain::RawJson;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

use super::{effort::Effort, value, vet};

/// The largest that one compiled pattern may be, in bytes. What is larger is not checked.
const PATTERN_BYTES: usize = 256 * 1024;

/// The most patterns that are compiled of one schema.
const PATTERNS: usize = 128;

/// A schema that values can be checked against.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) validator: Validator,
    pub(super) effort: Effort,
}

impl Compiled {
    /// Compiles a schema. Nothing is fetched, formats are not asserted, and patterns are those that are matched in
    /// linear time: others (with look-around or back-references), and those that would become too large, match
    /// everything. `None`, and a line in the log: it is no schema, or one whose alternatives multiply without end.
    pub(super) fn new(schema: &RawJson) -> Option<Self> {
        Self::read(schema)
            .inspect_err(|reason| tracing::warn!(%reason, "a schema cannot be compiled; nothing is checked"))
            .ok()
    }

    fn read(schema: &RawJson) -> Result<Self, String> {
        let mut value = value::parse(schema)?;
        let effort = Effort::of(&value);
        if !effort.is_bearable() {
            return Err("its alternatives are too many".into());
        }
        if count(&value) > PATTERNS {
            relax(&mut value, &|_| false);
        }
        let validator = build(&value).or_else(|_| {
            relax(&mut value, &|pattern| build(&serde_json::json!({ "pattern": pattern })).is_ok());
            build(&value)
        })?;
        Ok(Self { validator, effort })
    }
}

fn build(schema: &Value) -> Result<Validator, String> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| error.masked().to_string())
}

fn count(schema: &Value) -> usize {
    let Value::Object(members) = schema else { return 0 };
    let own = members.iter().map(|(keyword, value)| match (keyword.as_str(), value) {
        ("pattern", _) => 1,
        ("patternProperties", Value::Object(patterns)) => patterns.len(),
        _ => 0,
    });
    let nested = members.iter().flat_map(|(keyword, value)| vet::below(keyword, value)).map(count);
    own.sum::<usize>() + nested.sum::<usize>()
}

/// Takes the patterns away that are not to be kept. Where properties were judged by such a pattern, what other
/// properties there may be is open as well.
fn relax(schema: &mut Value, keep: &dyn Fn(&str) -> bool) {
    if let Value::Object(members) = schema {
        relax_members(members, keep);
    }
}

/// Whether anything was taken away. A schema accepts more then, and one that excludes it would accept less: such
/// keywords go as well.
fn relax_members(members: &mut Map<String, Value>, keep: &dyn Fn(&str) -> bool) -> bool {
    let mut is_wider = false;
    if members.get("pattern").and_then(Value::as_str).is_some_and(|pattern| !keep(pattern)) {
        members.remove("pattern");
        is_wider = true;
    }
    if let Some(Value::Object(patterns)) = members.get_mut("patternProperties") {
        let before = patterns.len();
        patterns.retain(|pattern, _| keep(pattern));
        if patterns.len() < before {
            is_wider = true;
            members.remove("additionalProperties");
            members.remove("unevaluatedProperties");
        }
    }
    let mut wider = Vec::new();
    for (keyword, value) in members.iter_mut() {
        // All of them, and not only the first one.
        if vet::below_mut(keyword, value)
            .filter_map(|schema| relax_members(schema, keep).then_some(()))
            .count()
            > 0
        {
            wider.push(keyword.clone());
        }
    }
    wider.iter().for_each(|keyword| lift(members, keyword));
    is_wider || !wider.is_empty()
}

fn lift(members: &mut Map<String, Value>, keyword: &str) {
    match keyword {
        "not" => drop(members.remove("not")),
        "if" => ["if", "then", "else"].iter().for_each(|keyword| drop(members.remove(*keyword))),
        "contains" => drop(members.remove("maxContains")),
        "oneOf" => {
            if let Some(alternatives) = members.remove("oneOf") {
                members.entry("anyOf").or_insert(alternatives);
            }
        }
        _ => {}
    }
}
