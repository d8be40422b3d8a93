//! The expressions' language: minijinja's, without what is of no use here or makes much out of little.

use std::sync::OnceLock;

use gateway_domain::RawJson;
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value};

use super::{RESULT_LIMIT, node, write::Writer};
use crate::error::TemplateError;

/// What one expression may do. One unit of fuel pays for one instruction, or for 64 bytes that are read or made by a
/// filter or operator: this lets a text of the largest size pass through one filter and be put together with another,
/// takes some tens of milliseconds, and holds memory to about 25 MB.
const FUEL: u64 = 400_000;
/// What one expression may do where others wait for the thread: less than a millisecond.
const LITTLE_FUEL: u64 = 5_000;
/// How many bytes one unit of fuel pays for.
const BYTES_PER_FUEL: u64 = 64;
/// How many numbers `range` gives.
const RANGE_LIMIT: usize = 10_000;

/// The filters that there are.
#[rustfmt::skip]
pub(super) const FILTERS: &[&str] = &[
    "abs", "batch", "bool", "capitalize", "count", "d", "default", "dictsort", "first", "float", "fromJson", "groupby",
    "int", "items", "join", "json", "last", "length", "lines", "list", "lower", "map", "max", "min", "quote", "reject",
    "rejectattr", "replace", "reverse", "round", "select", "selectattr", "sort", "split", "string", "sum", "title",
    "trim", "unique", "upper",
];
/// Filters of the library that there are not: they mark text as HTML, format without bound, or are of no use without
/// statements.
#[rustfmt::skip]
const NO_FILTERS: &[&str] = &["attr", "chain", "e", "escape", "format", "indent", "pprint", "safe", "slice", "zip"];
/// The tests that there are, after `is`.
#[rustfmt::skip]
pub(super) const TESTS: &[&str] = &[
    "!=", "<", "<=", "==", ">", ">=", "boolean", "defined", "divisibleby", "endingwith", "eq", "even", "false", "float",
    "ge", "gt", "in", "integer", "iterable", "le", "lt", "mapping", "ne", "none", "number", "odd", "sequence",
    "startingwith", "string", "true", "undefined",
];
/// Tests of the library that there are not: other names for those above, and what concerns HTML or the library itself.
#[rustfmt::skip]
const NO_TESTS: &[&str] = &[
    "equalto", "escaped", "filter", "greaterthan", "int", "lessthan", "lower", "safe", "sameas", "test", "upper",
];
/// The functions that there are.
pub(super) const FUNCTIONS: &[&str] = &["fromJson", "json", "quote", "range"];
/// Functions of the library that there are not: they show what is not to be seen, or need statements.
const NO_FUNCTIONS: &[&str] = &["debug", "dict", "namespace"];

/// The environment in which expressions do a little. It holds no templates and can load none.
pub(super) fn little() -> &'static Environment<'static> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| build(LITTLE_FUEL))
}

/// The same in which they do all that they may.
pub(super) fn whole() -> &'static Environment<'static> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| build(FUEL))
}

fn build(fuel: u64) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(fuel));
    // Has errors say which value was missing.
    environment.set_debug(true);
    NO_FILTERS.iter().for_each(|name| environment.remove_filter(name));
    NO_TESTS.iter().for_each(|name| environment.remove_test(name));
    NO_FUNCTIONS.iter().for_each(|name| environment.remove_global(name));
    environment.add_filter("string", string);
    environment.add_filter("json", json);
    environment.add_filter("quote", quote);
    environment.add_filter("fromJson", from_json);
    environment.add_function("json", json);
    environment.add_function("quote", quote);
    environment.add_function("fromJson", from_json);
    environment.add_function("range", range);
    environment
}

/// A value as JSON text.
fn json(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    written(state, |out| out.value(value))
}

/// A value as text in quotes, so that it can stand in JSON text; what is no text is written as JSON first.
fn quote(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    written(state, |out| out.text(|out| out.escaped_value(value)))
}

/// A value as text: texts as they are, anything else as JSON.
fn string(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => json(state, value),
    }
}

/// The value that JSON text says.
fn from_json(state: &State<'_, '_>, text: &Value) -> Result<Value, Error> {
    let text = text.as_str().ok_or_else(|| impossible("`fromJson` takes a text that is JSON".to_owned()))?;
    // The library has filters pay for the texts they take, and functions for nothing.
    state.consume_fuel(text.len() as u64 / BYTES_PER_FUEL)?;
    let parsed = RawJson::parse(text.to_owned());
    parsed.map(|json| node::value(json.into())).map_err(|error| impossible(format!("`fromJson`: {error}")))
}

/// The numbers from `first`, or from 0, up to but without `end`.
fn range(first: i64, end: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let (first, end) = end.map_or((0, first), |end| (first, end));
    let step = usize::try_from(step.unwrap_or(1)).ok().filter(|step| *step > 0);
    let step = step.ok_or_else(|| impossible("the step of `range` is at least 1".to_owned()))?;
    let numbers: Vec<_> = (first..end).step_by(step).take(RANGE_LIMIT + 1).map(Value::from).collect();
    if numbers.len() > RANGE_LIMIT {
        return Err(impossible(format!("`range` gives at most {RANGE_LIMIT} numbers")));
    }
    Ok(Value::from(numbers))
}

fn written(
    state: &State<'_, '_>,
    write: impl FnOnce(&mut Writer) -> Result<(), TemplateError>,
) -> Result<String, Error> {
    // The text is paid for when it is there. What cannot be paid for is not written.
    let fuel = state.fuel_levels().map_or(u64::MAX, |(_, left)| left);
    let affordable = usize::try_from(fuel.saturating_mul(BYTES_PER_FUEL)).unwrap_or(usize::MAX);
    let mut out = Writer::new(RESULT_LIMIT.min(affordable));
    let text = write(&mut out).and_then(|()| out.into_text());
    text.map_err(|error| match error.is_missing {
        true => Error::new(ErrorKind::UndefinedError, error.reason),
        false if affordable < RESULT_LIMIT => Error::from(ErrorKind::OutOfFuel),
        false => impossible(error.reason),
    })
}

fn impossible(reason: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}
