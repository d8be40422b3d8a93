use gateway_domain::{JsonKind, RawJson, RawObject, printable};

use super::shared::Shared;
use crate::{
    definition::OutputType,
    error::{StepError, TemplateError, WorkflowError},
    plan::{PlannedOutput, PlannedProperty, PlannedValue},
    template::{Context, RESULT_LIMIT, Template, Writer, truth},
};

/// How much of a value is shown that is not what it should be, in characters.
const FOUND_LIMIT: usize = 100;

/// The output that the definition describes, if it does (C-70 to C-72). A value that cannot be had, or is null, is the
/// property's default. A property that is null nevertheless is left out, so that the output is what its schema says.
///
/// # Errors
/// A property cannot be had and has no default, or a required one is not there; or all of it is more than an output may
/// have (C-57) or the run may hold (C-W18).
pub(crate) async fn build(shared: &Shared, context: &Context) -> Result<Option<RawObject>, WorkflowError> {
    let workflow = shared.workflow.clone();
    let work = move |context: &Context| {
        workflow.output.as_ref().map(|planned| written(planned, context)).transpose()
    };
    let Some(output) = shared.evaluate(context, work).await.map_err(WorkflowError::Template)? else {
        return Ok(None);
    };
    shared.charge_bytes(output.as_str().len()).map_err(|error| match error {
        StepError::LimitExceeded { what, limit } => WorkflowError::LimitExceeded { what, limit },
        _ => WorkflowError::Internal,
    })?;
    Ok(Some(output))
}

fn written(planned: &PlannedOutput, context: &Context) -> Result<RawObject, TemplateError> {
    let mut out = Writer::new(RESULT_LIMIT);
    object(&planned.properties, context, &mut out).map_err(|error| error.within("output"))?;
    let output = RawObject::try_from(out.finish()?).map_err(|error| failed(error.to_string()))?;
    match planned.required.iter().find(|name| !output.contains(name)) {
        Some(name) => Err(TemplateError {
            is_missing: true,
            ..failed(format!("output `{name}` is required, but came to null; give it a `default`"))
        }),
        None => Ok(output),
    }
}

fn object(properties: &[PlannedProperty], context: &Context, out: &mut Writer) -> Result<(), TemplateError> {
    let mut separator = "{";
    for property in properties {
        let before = out.len();
        let named = |out: &mut Writer| {
            out.raw(separator)?;
            out.text(|out| out.escaped(&property.name))?;
            out.raw(":")
        };
        let is_there = named(out)
            .and_then(|()| value(property, context, out))
            .map_err(|error| error.within(&property.name))?;
        match is_there {
            true => separator = ",",
            false => out.truncate(before),
        }
    }
    out.raw(if separator == "{" { "{}" } else { "}" })
}

/// Writes a property's value, or its default; `false`: it is null, and nothing of it counts.
fn value(property: &PlannedProperty, context: &Context, out: &mut Writer) -> Result<bool, TemplateError> {
    let before = out.len();
    let written = match &property.value {
        PlannedValue::Template(template) => converted(template, property.kind, context, out),
        PlannedValue::Properties(inner) => object(inner, context, out).map(|()| true),
    };
    match (written, &property.default) {
        (Ok(true), _) => Ok(true),
        (_, Some(default)) => {
            out.truncate(before);
            out.raw(default.as_str())?;
            Ok(default.kind() != JsonKind::Null)
        }
        (other, None) => other,
    }
}

/// Writes what a template comes to, as the type that its property has; `false`: it is null.
fn converted(
    template: &Template,
    kind: OutputType,
    context: &Context,
    out: &mut Writer,
) -> Result<bool, TemplateError> {
    let value = template.value_in(context, out.rest())?;
    if value.kind() == JsonKind::Null {
        return Ok(false);
    }
    let value = convert(&value, kind).ok_or_else(|| {
        failed(format!("came to {}, which is no {}", printable(value.as_str(), FOUND_LIMIT), name(kind)))
    })?;
    out.raw(value.as_str()).map(|()| true)
}

fn failed(reason: String) -> TemplateError {
    TemplateError { place: String::new(), reason, is_missing: false }
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
            of_kind(value.clone(), JsonKind::Boolean).or_else(|| boolean(truth(value.to_text()?.trim())?))
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

fn boolean(truth: bool) -> Option<RawJson> {
    RawJson::parse(truth.to_string()).ok()
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
