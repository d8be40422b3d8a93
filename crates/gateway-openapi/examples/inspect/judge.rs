#![expect(clippy::disallowed_types, reason = "the validator of JSON Schema needs values")]

use std::collections::BTreeSet;

use gateway_openapi::engine::Tool;
use serde_json::Value;

/// The longest name that APIs of models accept.
const NAME_LIMIT: usize = 64;

/// Everything that is wrong with the tools themselves.
pub(crate) fn faults(tools: &[Tool]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    for tool in tools {
        let definition = tool.definition();
        let name = definition.name().to_string();
        let mut add = |fault: String| {
            faults.push(format!("{name} ({} {}): {fault}", tool.operation().method, tool.operation().path))
        };
        let is_legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > NAME_LIMIT || !name.chars().all(is_legal) {
            add("the name is not legal".into());
        }
        if !names.insert(name.clone()) {
            add("the name is not unique".into());
        }
        match definition.input_schema() {
            None => add("there is no input schema".into()),
            Some(schema) => schema_fault(schema.as_str(), true)
                .into_iter()
                .for_each(|fault| add(format!("input schema: {fault}"))),
        }
        if let Some(schema) = definition.output_schema() {
            schema_fault(schema.as_str(), false)
                .into_iter()
                .for_each(|fault| add(format!("output schema: {fault}")));
        }
        let ending = format!("Calls {} {}", tool.operation().method, tool.operation().path);
        if !definition.description().is_some_and(|text| text.ends_with(&ending)) {
            add("the description does not say what is called".into());
        }
    }
    faults
}

fn schema_fault(text: &str, is_input: bool) -> Option<String> {
    let schema: Value = match serde_json::from_str(text) {
        Ok(schema) => schema,
        Err(error) => return Some(error.to_string()),
    };
    if is_input && schema.get("type") != Some(&Value::from("object")) {
        return Some("it is not of an object".into());
    }
    if let Err(error) = jsonschema::draft202012::meta::validate(&schema) {
        return Some(format!("not 2020-12 at {}: {error}", error.instance_path()));
    }
    if let Some(target) = dangling(&schema, &schema) {
        return Some(format!("{target} is not there"));
    }
    jsonschema::draft202012::new(&schema).err().map(|error| error.to_string())
}

/// A reference in the value that leads to nothing in the schema. Looks into examples as well: nothing in a tool's
/// schema may look like a reference that is none.
fn dangling(value: &Value, root: &Value) -> Option<String> {
    match value {
        Value::Object(members) => members.iter().find_map(|(name, member)| match member {
            Value::String(target) if name == "$ref" => {
                let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                found.is_none().then(|| target.clone())
            }
            _ => dangling(member, root),
        }),
        Value::Array(items) => items.iter().find_map(|item| dangling(item, root)),
        _ => None,
    }
}
