use gateway_domain::{JsonKind, RawJson, RawObject, printable};

use super::members::Members;
use crate::{
    definition::OutputType,
    error::{StepError, TemplateError, WorkflowError},
    plan::{PlannedOutput, PlannedProperty, PlannedValue},
    template::{Scope, Template},
};

/// How much of a value is shown that is not what it should be, in characters.
const FOUND_LIMIT: usize = 100;

/// The output that the definition describes (C-70 to C-72). A value that cannot be had, or is null, is the property's
/// default. A property that is null nevertheless is left out, so that the output is what its schema says.
///
/// # Errors
/// A property cannot be had and has no default, or a required one is not there.
pub(crate) fn build(planned: &PlannedOutput, scope: &Scope) -> Result<RawObject, WorkflowError> {
    let output = object("output", &planned.properties, scope).map_err(WorkflowError::Template)?;
    match planned.required.iter().find(|name| !output.contains(name)) {
        Some(name) => Err(WorkflowError::Template(TemplateError {
            place: format!("output.{name}"),
            reason: "is required, and is null".to_owned(),
            is_missing: true,
        })),
        None => Ok(output),
    }
}

fn object(place: &str, properties: &[PlannedProperty], scope: &Scope) -> Result<RawObject, TemplateError> {
    let mut members = Members::new();
    for property in properties {
        let place = format!("{place}.{}", property.name);
        if let Some(value) = value(&place, property, scope)? {
            members.add(&property.name, &value);
        }
    }
    let too_deep = |error: StepError| TemplateError {
        place: place.to_owned(),
        reason: error.to_string(),
        is_missing: false,
    };
    members.finish().map_err(too_deep)
}

/// A property's value, or its default; `None`: it is null.
fn value(place: &str, property: &PlannedProperty, scope: &Scope) -> Result<Option<RawJson>, TemplateError> {
    let value = match &property.value {
        PlannedValue::Template(template) => converted(place, template, property.kind, scope),
        PlannedValue::Properties(inner) => {
            object(place, inner, scope).map(|object| Some(object.raw().clone()))
        }
    };
    match (value, &property.default) {
        (Ok(Some(value)), _) => Ok(Some(value)),
        (_, Some(default)) => Ok(Some(default.clone()).filter(|default| default.kind() != JsonKind::Null)),
        (other, None) => other,
    }
}

/// What a template comes to, as the type that its property has; `None`: it is null.
fn converted(
    place: &str,
    template: &Template,
    kind: OutputType,
    scope: &Scope,
) -> Result<Option<RawJson>, TemplateError> {
    let value = template.value(scope).map_err(|error| TemplateError { place: place.to_owned(), ..error })?;
    if value.kind() == JsonKind::Null {
        return Ok(None);
    }
    let as_it_should_be = convert(&value, kind).ok_or_else(|| TemplateError {
        place: place.to_owned(),
        reason: format!("came to {}, which is no {}", printable(value.as_str(), FOUND_LIMIT), name(kind)),
        is_missing: false,
    });
    as_it_should_be.map(Some)
}

/// A value as another type (C-70): values of the type stay as they came, texts are read, and anything is a string.
fn convert(value: &RawJson, kind: OutputType) -> Option<RawJson> {
    let read = || RawJson::parse(value.to_text()?.into_owned()).ok();
    match kind {
        OutputType::String if value.kind() == JsonKind::String => Some(value.clone()),
        OutputType::String => Some(RawJson::string(value.as_str())),
        OutputType::Integer => whole(value).or_else(|| whole(&read()?)),
        OutputType::Number => {
            of_kind(value.clone(), JsonKind::Number).or_else(|| of_kind(read()?, JsonKind::Number))
        }
        OutputType::Boolean => {
            of_kind(value.clone(), JsonKind::Boolean).or_else(|| boolean(&value.to_text()?))
        }
        OutputType::Object => {
            of_kind(value.clone(), JsonKind::Object).or_else(|| of_kind(read()?, JsonKind::Object))
        }
        OutputType::Array => {
            of_kind(value.clone(), JsonKind::Array).or_else(|| of_kind(read()?, JsonKind::Array))
        }
    }
}

fn of_kind(value: RawJson, kind: JsonKind) -> Option<RawJson> {
    (value.kind() == kind).then_some(value)
}

/// A whole number, of any size. One that is written with a fraction of nothing but zeros loses that.
fn whole(value: &RawJson) -> Option<RawJson> {
    if value.kind() != JsonKind::Number {
        return None;
    }
    let (digits, fraction) = value.as_str().split_once('.').unwrap_or((value.as_str(), ""));
    let is_whole = !digits.contains(['e', 'E']) && fraction.bytes().all(|digit| digit == b'0');
    is_whole.then(|| RawJson::parse(digits.to_owned()).ok()).flatten()
}

/// The same texts as in conditions (C-45).
fn boolean(text: &str) -> Option<RawJson> {
    match text.trim() {
        "true" | "True" | "TRUE" => RawJson::parse("true").ok(),
        "false" | "False" | "FALSE" => RawJson::parse("false").ok(),
        _ => None,
    }
}

fn name(kind: OutputType) -> &'static str {
    match kind {
        OutputType::String => "string",
        OutputType::Integer => "integer",
        OutputType::Number => "number",
        OutputType::Boolean => "boolean",
        OutputType::Object => "object",
        OutputType::Array => "array",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_type_stay_as_they_came_and_texts_are_read() {
        use OutputType::{Array, Boolean, Integer, Number, Object, String};
        let rows = [
            (Integer, "9007199254740993", Some("9007199254740993")),
            (Integer, "-123456789012345678901234567890", Some("-123456789012345678901234567890")),
            (Integer, "2.0", Some("2")),
            (Integer, "2.5", None),
            (Integer, "1e3", None),
            (Integer, r#"" 42 ""#, Some("42")),
            (Integer, r#""4x""#, None),
            (Integer, r#""""#, None),
            (Integer, "true", None),
            (Number, "1e400", Some("1e400")),
            (Number, "1.50", Some("1.50")),
            (Number, r#""1.50""#, Some("1.50")),
            (Number, r#""NaN""#, None),
            (Number, r#""true""#, None),
            (Boolean, "false", Some("false")),
            (Boolean, r#""True""#, Some("true")),
            (Boolean, r#""FALSE""#, Some("false")),
            (Boolean, r#""yes""#, None),
            (Boolean, "1", None),
            (Object, r#"{ "a":1.0}"#, Some(r#"{ "a":1.0}"#)),
            (Object, r#""{ \"a\":1.0}""#, Some(r#"{ "a":1.0}"#)),
            (Object, "[1]", None),
            (Object, r#""{""#, None),
            (Array, "[ 1.0 ]", Some("[ 1.0 ]")),
            (Array, r#""[1,2]""#, Some("[1,2]")),
            (Array, r#""1,2""#, None),
            (String, r#""\u0061""#, Some(r#""\u0061""#)),
            (String, "1.0", Some(r#""1.0""#)),
            (String, r#"{"a":"b"}"#, Some(r#""{\"a\":\"b\"}""#)),
            (String, "true", Some(r#""true""#)),
        ];
        for (kind, given, expected) in rows {
            let made = convert(&RawJson::parse(given).unwrap(), kind);
            assert_eq!(made.as_ref().map(RawJson::as_str), expected, "{given} as {}", name(kind));
        }
    }
}
