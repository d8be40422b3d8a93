#![expect(clippy::disallowed_types, reason = "values are made up of schemas, not passed on")]

use serde_json::{Map, Value, json};

/// How deep samples nest; what is required without end has none.
const DEPTH_LIMIT: usize = 12;

/// Arguments that fit a tool's input schema in simple cases: what is required, and nothing else.
pub(crate) fn arguments(schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    value(&schema, &schema, 0).to_string()
}

fn value(schema: &Value, root: &Value, depth: usize) -> Value {
    let Value::Object(members) = schema else { return json!("x") };
    if depth > DEPTH_LIMIT {
        return Value::Null;
    }
    if let Some(fixed) = members.get("const").or_else(|| members.get("enum").and_then(|values| values.get(0)))
    {
        return fixed.clone();
    }
    if let Some(target) = members.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(Value::Null, |target| value(target, root, depth + 1));
    }
    if let Some(parts) = members.get("allOf").and_then(Value::as_array) {
        let own = members.contains_key("properties").then(|| object(members, root, depth));
        let parts = parts.iter().map(|part| value(part, root, depth + 1));
        return parts.chain(own).reduce(merged).unwrap_or_default();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = members.get(choice).and_then(|choices| choices.get(0)) {
            let chosen = value(first, root, depth + 1);
            let own = members.contains_key("properties").then(|| object(members, root, depth));
            return own.into_iter().fold(chosen, merged);
        }
    }
    of_type(members, root, depth)
}

fn of_type(members: &Map<String, Value>, root: &Value, depth: usize) -> Value {
    let kind = match members.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None if members.contains_key("properties") => Some("object"),
        None => Some("string"),
    };
    match kind {
        Some("object") => object(members, root, depth),
        Some("array") => {
            let count = members.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, 16);
            let item = members.get("items").map_or_else(|| json!("x"), |items| value(items, root, depth + 1));
            (0..count).map(|_| item.clone()).collect()
        }
        Some("integer" | "number") => number(members),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        _ => json!(string(members)),
    }
}

/// What is required; inside of other values at least one member, if there is any: some must not be empty.
fn object(members: &Map<String, Value>, root: &Value, depth: usize) -> Value {
    let required = members.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut names: Vec<_> = required.filter_map(Value::as_str).collect();
    let properties = members.get("properties").and_then(Value::as_object);
    if depth > 0 && names.is_empty() {
        names.extend(properties.and_then(|properties| properties.keys().next()).map(String::as_str));
    }
    let sample = |name: &str| {
        let schema = properties.and_then(|properties| properties.get(name));
        schema.map_or_else(|| json!("x"), |schema| value(schema, root, depth + 1))
    };
    names.into_iter().map(|name| (name.to_owned(), sample(name))).collect::<Map<_, _>>().into()
}

fn number(members: &Map<String, Value>) -> Value {
    let least = members.get("minimum").and_then(Value::as_i64);
    let above = members.get("exclusiveMinimum").and_then(Value::as_i64).map(|bound| bound + 1);
    let step = members.get("multipleOf").and_then(Value::as_i64);
    json!(least.or(above).or(step).unwrap_or(1))
}

fn string(members: &Map<String, Value>) -> String {
    let text = match members.get("format").and_then(Value::as_str) {
        Some("date") => "2020-01-01",
        Some("date-time") => "2020-01-01T00:00:00Z",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("email") => "a@b.example",
        Some("uri" | "url") => "https://a.example/",
        Some("ipv4") => "192.0.2.1",
        _ => "x",
    };
    let least = members.get("minLength").and_then(Value::as_u64).unwrap_or(0).min(4096) as usize;
    format!("{text:x<least$}")
}

fn merged(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut all), Value::Object(more)) => {
            all.extend(more);
            Value::Object(all)
        }
        (Value::Object(all), _) => Value::Object(all),
        (_, other) => other,
    }
}
