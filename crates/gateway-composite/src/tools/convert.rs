use std::sync::Arc;

use gateway_domain::{RawJson, RawObject, Tool};

use super::{Definitions, Floor, annotations::shown};
use crate::{
    definition::{Output, OutputProperty, OutputValue},
    plan::Workflow,
};

/// One tool for each workflow, in the order of their names, with the annotations that its author gave (C-1 to C-4,
/// C-W9).
pub fn convert_workflow_defs_to_tools(definitions: &Definitions) -> Vec<Tool> {
    definitions.iter().map(|workflow| tool_of(workflow, None)).collect()
}

/// The tool for a workflow; what its author does not say of it, its own tools do (C-21).
pub(crate) fn tool_of(workflow: &Workflow, floor: Option<Floor>) -> Tool {
    let definition = workflow.definition();
    let parameters = definition.parameters.as_ref().map(RawObject::raw).cloned();
    let tool = Tool::new(&definition.name)
        .with("description", &RawJson::string(&definition.description))
        .with("inputSchema", &parameters.unwrap_or_else(|| of_type("object").raw().clone()));
    let output = definition.output.as_ref().map(schema);
    let annotations = shown(definition.annotations.as_ref(), floor);
    let more = [("outputSchema", output), ("annotations", annotations)];
    more.into_iter().fold(tool, |tool, (member, value)| match value {
        Some(value) => tool.with(member, value.raw()),
        None => tool,
    })
}

/// What an output is like, never where it comes from (C-3).
fn schema(output: &Output) -> RawObject {
    let schema = with(&of_type("object"), "properties", properties(&output.properties).raw());
    match output.required.as_slice() {
        [] => schema,
        names => with(&schema, "required", &RawJson::array(names.iter().map(|name| RawJson::string(name)))),
    }
}

/// Not deeper than a definition may be (C-39).
fn properties(properties: &[(Arc<str>, OutputProperty)]) -> RawObject {
    let each = properties.iter().map(|(name, property)| (name, described(property)));
    each.fold(RawObject::empty(), |all, (name, schema)| with(&all, name, schema.raw()))
}

fn described(property: &OutputProperty) -> RawObject {
    let schema = of_type(property.kind.as_str());
    let schema = with(&schema, "description", &RawJson::string(&property.description));
    match &property.value {
        OutputValue::Template(_) => schema,
        OutputValue::Properties(inner) => with(&schema, "properties", properties(inner).raw()),
    }
}

fn of_type(word: &str) -> RawObject {
    with(&RawObject::empty(), "type", &RawJson::string(word))
}

fn with(object: &RawObject, member: &str, value: &RawJson) -> RawObject {
    RawObject::try_from(object.edit().set(member, value.as_bytes()).finish()).unwrap_or_default()
}
