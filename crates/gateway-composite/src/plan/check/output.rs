//! What a workflow may return (C-39).

use std::sync::Arc;

use gateway_domain::{JsonKind, RawJson};

use super::findings::Findings;
use crate::definition::{Output, OutputProperty, OutputType, OutputValue, Place, Problem, hint, shown};

/// How deep properties may stand in properties.
const MAX_DEPTH: usize = 10;

/// Looks at every property, and at the names of those that are required if the properties are known.
pub(super) fn check(output: &Output, is_known: bool, findings: &mut Findings<'_>) {
    let place = Place::default().member("output");
    let mut problems = Vec::new();
    properties(&place.member("properties"), &output.properties, 1, &mut problems);
    let names: Vec<&str> = output.properties.iter().map(|(name, _)| &**name).collect();
    let is_strange = |name: &str| is_known && !names.contains(&name);
    for (at, name) in output.required.iter().enumerate().filter(|(_, name)| is_strange(name)) {
        let message = format!("names `{}`, but there is no such property{}", shown(name), hint(name, &names));
        problems.push(place.member("required").element(at).problem(message));
    }
    for problem in problems {
        findings.add(problem);
    }
}

fn properties(
    place: &Place,
    properties: &[(Arc<str>, OutputProperty)],
    depth: usize,
    problems: &mut Vec<Problem>,
) {
    if properties.is_empty() {
        problems.push(place.problem("must have at least one property"));
    }
    if depth > MAX_DEPTH {
        problems.push(place.problem(format!("stands {depth} levels deep, but may stand {MAX_DEPTH}")));
        return;
    }
    for (name, property) in properties {
        check_property(&place.member(name), property, depth, problems);
    }
}

fn check_property(place: &Place, property: &OutputProperty, depth: usize, problems: &mut Vec<Problem>) {
    if property.description.trim().is_empty() {
        problems
            .push(place.member("description").problem("is required; say what it is, as models will read it"));
    }
    if let OutputValue::Properties(nested) = &property.value {
        let place = place.member("properties");
        if property.kind != OutputType::Object {
            problems.push(place.problem("only goes with `type: object`"));
        }
        properties(&place, nested, depth + 1, problems);
    }
    if property.default.as_ref().is_some_and(|default| !is_of(property.kind, default)) {
        problems.push(place.member("default").problem(format!("must be of type `{}`", word(property.kind))));
    }
}

/// Whether a value has a type, as JSON Schema has it: `1.0` is an integer.
fn is_of(kind: OutputType, value: &RawJson) -> bool {
    match (kind, value.kind()) {
        (OutputType::Integer, JsonKind::Number) => {
            value.as_str().parse().is_ok_and(|number: f64| number.is_finite() && number.fract() == 0.0)
        }
        (OutputType::String, JsonKind::String)
        | (OutputType::Number, JsonKind::Number)
        | (OutputType::Boolean, JsonKind::Boolean)
        | (OutputType::Object, JsonKind::Object)
        | (OutputType::Array, JsonKind::Array) => true,
        _ => false,
    }
}

fn word(kind: OutputType) -> &'static str {
    match kind {
        OutputType::String => "string",
        OutputType::Integer => "integer",
        OutputType::Number => "number",
        OutputType::Boolean => "boolean",
        OutputType::Object => "object",
        OutputType::Array => "array",
    }
}
