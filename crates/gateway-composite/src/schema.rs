//! JSON Schemas that the author of a workflow writes, and values that are judged by them (C-31, C-42, C-66, C-W8).

#![expect(clippy::disallowed_types, reason = "the validator of JSON Schema takes nothing else")]

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use gateway_domain::{JsonKind, RawJson, RawObject, printable};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Number, Value};

/// The largest that one compiled pattern may be, in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;
/// How many problems of a value are told.
const PROBLEMS: usize = 3;
/// How long the text of one may be, in characters.
const PROBLEM_CHARS: usize = 300;

/// Whether a value has to be what a `format` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formats {
    /// It has to, as users' answers to forms have to be what the form says.
    Asserted,
    /// It says something to readers only, as is the default of JSON Schema 2020-12.
    Noted,
}

/// A compiled schema. Nothing is fetched; patterns are matched in linear time.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator,
    /// Of the schema's properties, in the order of the text.
    defaults: Vec<(String, RawJson)>,
}

impl Schema {
    /// Compiles a schema: of the draft that its `$schema` names, else 2020-12.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn compile(schema: &RawObject, formats: Formats) -> Result<Self, String> {
        let value = value(schema.raw())?;
        let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
        let validator = jsonschema::options()
            .offline()
            .should_validate_formats(formats == Formats::Asserted)
            .with_pattern_options(patterns)
            .build(&value)
            .map_err(|error| problem(&error))?;
        Ok(Self { validator, defaults: defaults(schema) })
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// What does not, in words for a model: where, and what should be there. What is there is not repeated; at most
    /// three problems are told.
    pub(crate) fn check(&self, value: &RawJson) -> Result<(), String> {
        let value = self::value(value)?;
        let mut errors = self.validator.iter_errors(&value);
        let problems: Vec<_> = errors.by_ref().take(PROBLEMS).map(|error| problem(&error)).collect();
        if problems.is_empty() {
            return Ok(());
        }
        let more = if errors.next().is_some() { "; and more" } else { "" };
        Err(problems.join("; ") + more)
    }

    /// The object with the defaults of the schema's properties for members that are missing; what is given stays as it
    /// is (C-42).
    pub(crate) fn complete(&self, given: &RawObject) -> RawObject {
        let missing = self.defaults.iter().filter(|(name, _)| !given.contains(name));
        let edit = missing.fold(given.edit(), |edit, (name, default)| edit.set(name, default.as_bytes()));
        if edit.is_unchanged() {
            return given.clone();
        }
        // Names that were missing do not stand twice now.
        RawObject::try_from(edit.finish()).unwrap_or_else(|_| given.clone())
    }
}

fn defaults(schema: &RawObject) -> Vec<(String, RawJson)> {
    let properties = schema.get_object("properties").unwrap_or_default();
    let defaults = properties.iter().filter_map(|(name, property)| {
        let default = RawObject::try_from(property).ok()?.get("default")?;
        Some((name.into_owned(), default))
    });
    defaults.collect()
}

/// The value, for the validator only. Integers up to 64 bits are exact, other numbers the nearest that an `f64` can
/// hold.
fn value(json: &RawJson) -> Result<Value, String> {
    Ok(match json.kind() {
        JsonKind::Object => {
            let object = RawObject::try_from(json.clone()).map_err(|error| error.to_string())?;
            let members = object.iter().map(|(name, member)| Ok((name.into_owned(), value(&member)?)));
            Value::Object(members.collect::<Result<Map<_, _>, String>>()?)
        }
        JsonKind::Array => {
            let elements = json.elements(usize::MAX).unwrap_or_default();
            Value::Array(elements.iter().map(value).collect::<Result<_, _>>()?)
        }
        JsonKind::String => Value::String(json.to_text().unwrap_or_default().into_owned()),
        JsonKind::Number => Value::Number(number(json.as_str())),
        JsonKind::Boolean => Value::Bool(json.to_bool() == Some(true)),
        JsonKind::Null => Value::Null,
    })
}

fn number(text: &str) -> Number {
    let integer = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    integer.unwrap_or_else(|_| {
        let float = text.parse::<f64>().unwrap_or_default().clamp(f64::MIN, f64::MAX);
        Number::from_f64(float).unwrap_or_else(|| Number::from(0))
    })
}

fn problem(error: &ValidationError<'_>) -> String {
    let place = place(error.instance_path().as_str());
    let text = match place.as_str() {
        "" => error.masked().to_string(),
        place => format!("`{place}`: {}", error.masked()),
    };
    printable(&text, PROBLEM_CHARS)
}

/// `/items/0/id` as `items[0].id`.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let _infallible = match name.parse::<usize>() {
            Ok(index) => write!(place, "[{index}]"),
            Err(_) if place.is_empty() => write!(place, "{name}"),
            Err(_) => write!(place, ".{name}"),
        };
    }
    place
}
