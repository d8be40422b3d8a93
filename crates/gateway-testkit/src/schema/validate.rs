//! The part of JSON Schema that the published files use.

use serde_json::{Map, Value};

/// The error names the place in the value.
pub(super) fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(schema) = schema.as_object() else { return Ok(()) };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = target.strip_prefix('#').unwrap_or(target);
        let target = root.pointer(pointer).ok_or_else(|| format!("{at}: no {target} in the schema"))?;
        check(root, target, value, at)?;
    }
    kind(schema, value, at)?;
    literal(schema, value, at)?;
    bounds(schema, value, at)?;
    combined(root, schema, value, at)?;
    match value {
        Value::Object(members) => object(root, schema, members, at),
        Value::Array(items) => array(root, schema, items, at),
        _ => Ok(()),
    }
}

fn kind(schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    let fits = match schema.get("type") {
        Some(Value::String(kind)) => is(kind, value),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(|kind| is(kind, value)),
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("{at}: {value} is no {}", schema["type"])) }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        _ => false,
    }
}

fn literal(schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    if schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{at}: {value} is not {}", schema["const"]));
    }
    match schema.get("enum").and_then(Value::as_array) {
        Some(all) if !all.contains(value) => Err(format!("{at}: {value} is none of {}", schema["enum"])),
        _ => Ok(()),
    }
}

fn bounds(schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(number) = value.as_f64()
        && (bound("minimum").is_some_and(|least| number < least)
            || bound("maximum").is_some_and(|most| number > most))
    {
        return Err(format!("{at}: {number} is out of bounds"));
    }
    match (value.as_array(), schema.get("maxItems").and_then(Value::as_u64)) {
        (Some(items), Some(most)) if items.len() as u64 > most => {
            Err(format!("{at}: more than {most} items"))
        }
        _ => Ok(()),
    }
}

fn combined(root: &Value, schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        check(root, part, value, at)?;
    }
    for word in ["anyOf", "oneOf"] {
        let Some(parts) = schema.get(word).and_then(Value::as_array) else { continue };
        let reasons: Vec<String> =
            parts.iter().filter_map(|part| check(root, part, value, at).err()).collect();
        if reasons.len() == parts.len() {
            return Err(format!("{at}: fits none of {}: {}", parts.len(), reasons.join("; ")));
        }
    }
    Ok(())
}

fn object(
    root: &Value,
    schema: &Map<String, Value>,
    members: &Map<String, Value>,
    at: &str,
) -> Result<(), String> {
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if name.as_str().is_some_and(|name| !members.contains_key(name)) {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (name, value) in members {
        let at = format!("{at}.{name}");
        match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) => check(root, schema, value, &at)?,
            (None, Some(Value::Bool(false))) => return Err(format!("{at}: may not be there")),
            (None, Some(schema)) => check(root, schema, value, &at)?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn array(root: &Value, schema: &Map<String, Value>, items: &[Value], at: &str) -> Result<(), String> {
    let Some(each) = schema.get("items") else { return Ok(()) };
    items.iter().enumerate().try_for_each(|(n, item)| check(root, each, item, &format!("{at}[{n}]")))
}
