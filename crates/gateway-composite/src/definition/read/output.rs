use std::sync::Arc;

use super::{
    super::{Output, OutputProperty, OutputType, OutputValue},
    value::{Read, Value},
};

/// `output` (C-27).
pub(super) fn output(value: Value) -> Read<Output> {
    let mut members = value.members(&["properties", "required"])?;
    let output = Output {
        properties: members.take("properties", properties).unwrap_or_default(),
        required: members.take("required", names).unwrap_or_default(),
    };
    members.finish(Some(output))
}

/// A list of texts.
pub(super) fn names(value: Value) -> Read<Vec<Arc<str>>> {
    value.list(|name, _| name.text().map(Arc::from))
}

fn properties(value: Value) -> Read<Vec<(Arc<str>, OutputProperty)>> {
    let (mut properties, mut problems) = (Vec::new(), Vec::new());
    for (name, raw) in value.indexed("an object")?.iter() {
        match property(Value { raw, place: value.place.member(&name) }) {
            Ok(property) => properties.push((name.into(), property)),
            Err(more) => problems.extend(more),
        }
    }
    if problems.is_empty() { Ok(properties) } else { Err(problems) }
}

/// Nested no deeper than the text, which is bounded where it was parsed.
fn property(value: Value) -> Read<OutputProperty> {
    let mut members = value.members(&["type", "description", "value", "properties", "default"])?;
    let kind = members.demand("type", |kind| kind.word(OutputType::ALL));
    let description = members.take("description", Value::text).unwrap_or_default();
    let template = members.take("value", Value::text);
    let nested = members.take("properties", properties);
    match (members.has("value"), members.has("properties")) {
        (true, true) => members.report("properties", "must not stand beside `value`; keep one of both"),
        (false, false) => {
            members.report("value", "is required, or `properties` for an object of several members");
        }
        _ => {}
    }
    let default = members.take("default", Value::any);
    let source = template.map(OutputValue::Template).or_else(|| nested.map(OutputValue::Properties));
    let property = kind.zip(source).map(|(kind, value)| OutputProperty { kind, description, value, default });
    members.finish(property)
}
