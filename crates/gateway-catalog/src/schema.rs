//! Takes annotations out of a schema that clients would refuse a tool for.

use gateway_domain::{RawJson, RawObject};

/// Keywords whose value is a schema, an array of schemas, or a map of them.
const NESTED: [&str; 20] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
    "properties",
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
];
/// Those of them whose value maps names to schemas; a name is no keyword.
const MAPS: [&str; 5] = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

const ANNOTATION: &str = "x-mcp-header";

/// The schema without any `x-mcp-header` (protocol.md §20.9); names of properties stay. Recursion is bounded by the
/// nesting that [`RawJson`] allows.
pub(crate) fn without_headers(schema: &RawJson) -> RawJson {
    if !schema.mentions(ANNOTATION.as_bytes()) {
        return schema.clone();
    }
    if let Some(elements) = schema.elements(usize::MAX) {
        return RawJson::array(elements.iter().map(without_headers));
    }
    let Ok(object) = RawObject::try_from(schema.clone()) else { return schema.clone() };
    let mut edit = object.edit().remove(ANNOTATION);
    for (keyword, value) in object.iter().filter(|(keyword, _)| NESTED.contains(&keyword.as_ref())) {
        let is_map = MAPS.contains(&keyword.as_ref());
        let value = if is_map { map_without_headers(&value) } else { without_headers(&value) };
        edit = edit.set(&keyword, value.as_bytes());
    }
    edit.finish()
}

fn map_without_headers(map: &RawJson) -> RawJson {
    let Ok(object) = RawObject::try_from(map.clone()) else { return map.clone() };
    let mut edit = object.edit();
    for (name, schema) in object.iter().filter(|(_, schema)| schema.mentions(ANNOTATION.as_bytes())) {
        edit = edit.set(&name, without_headers(&schema).as_bytes());
    }
    edit.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_go_and_all_else_stays() {
        for (schema, expected) in [
            (r#"{"type":"object","n":1.0}"#, r#"{"type":"object","n":1.0}"#),
            (
                r#"{"properties":{"a":{"type":"array","x-mcp-header":"A"},"x-mcp-header":{"type":"string"}}}"#,
                r#"{"properties":{"a":{"type":"array"},"x-mcp-header":{"type":"string"}}}"#,
            ),
            (
                r#"{"anyOf":[{"x-mcp-header":1}, {"b":1e400}],"items":{"x-mcp-header":"B","n":1}}"#,
                r#"{"anyOf":[{},{"b":1e400}],"items":{"n":1}}"#,
            ),
            (r#"{"default":{"x-mcp-header":"kept"}}"#, r#"{"default":{"x-mcp-header":"kept"}}"#),
            (r#"{"items":true,"not":"x-mcp-header"}"#, r#"{"items":true,"not":"x-mcp-header"}"#),
        ] {
            assert_eq!(without_headers(&RawJson::parse(schema).unwrap()).as_str(), expected);
        }
    }
}
