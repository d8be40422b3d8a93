use std::sync::Arc;

use gateway_domain::RawJson;

use super::{
    super::{Draft, Flaws, Output, OutputProperty, OutputType, OutputValue},
    members::Members,
    value::{Read, Value},
};

/// `output` (C-27). `None`: it is no object.
pub(super) fn output(value: Value) -> Draft<Option<Output>> {
    let place = value.place.clone();
    let mut members = match value.members(&["properties", "required"]) {
        Ok(members) => members,
        Err(problems) => return Draft::left_out(None, &place, problems),
    };
    let output = Output {
        properties: members.draft("properties", properties).unwrap_or_default(),
        required: members.take("required", names).unwrap_or_default(),
    };
    members.drafted(Some(output))
}

/// A list of texts.
pub(super) fn names(value: Value) -> Read<Vec<Arc<str>>> {
    value.list(|name, _| name.text().map(Arc::from))
}

fn properties(value: Value) -> Draft<Vec<(Arc<str>, OutputProperty)>> {
    let object = match value.indexed("an object") {
        Ok(object) => object,
        Err(problems) => return Draft::left_out(Vec::new(), &value.place, problems),
    };
    let (mut properties, mut flaws) = (Vec::new(), Flaws::default());
    for (name, raw) in object.iter() {
        let draft = property(Value { raw, place: value.place.member(&name) });
        properties.push((name.into(), draft.value));
        flaws.absorb(draft.flaws);
    }
    Draft { value: properties, flaws }
}

/// Nested no deeper than the text, which is bounded where it was parsed.
fn property(value: Value) -> Draft<OutputProperty> {
    let place = value.place.clone();
    let mut members = match value.members(&["type", "description", "value", "properties", "default"]) {
        Ok(members) => members,
        Err(problems) => return Draft::left_out(unreadable(), &place, problems),
    };
    members.demand("type");
    let kind = members.take("type", |kind| kind.word(OutputType::ALL));
    let description = members.take("description", Value::text).unwrap_or_default();
    let template = members.take("value", Value::text);
    let nested = members.draft("properties", properties);
    report_source(&mut members);
    let default = members.take("default", Value::any);
    // That there is one is known, even if it cannot be read.
    let default = default.or_else(|| members.is_left_out("default").then(|| RawJson::string("")));
    if kind.is_none() {
        members.leave_out("default");
    }
    let likely = if nested.is_some() { OutputType::Object } else { OutputType::String };
    let source = template.map(OutputValue::Template).or_else(|| nested.map(OutputValue::Properties));
    let (kind, value) = (kind.unwrap_or(likely), source.unwrap_or_else(|| unreadable().value));
    members.drafted(OutputProperty { kind, description, value, default })
}

fn report_source(members: &mut Members) {
    match (members.has("value"), members.has("properties")) {
        (true, true) => members.report("properties", "must not stand beside `value`; keep one of both"),
        (false, false) => {
            members.report("value", "is required, or `properties` for an object of several members");
        }
        _ => {}
    }
}

/// What stands in for a property that cannot be read: it is there, and refers to nothing.
fn unreadable() -> OutputProperty {
    let value = OutputValue::Template(String::new());
    OutputProperty { kind: OutputType::String, description: String::new(), value, default: None }
}
