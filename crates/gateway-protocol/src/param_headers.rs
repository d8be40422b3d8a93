//! Finds the arguments that a tool's input schema wants mirrored in headers (protocol.md §5.3).

use gateway_domain::{ParamHeader, ParamKind, RawJson, RawObject};

/// The annotation, inside a property's schema.
const ANNOTATION: &str = "x-mcp-header";
/// The most subschemas that are looked at (security.md §2.6).
const SUBSCHEMA_LIMIT: usize = 5_000;

/// Keywords whose value is a schema.
const SCHEMA: [&str; 11] = [
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
];
/// Keywords whose value is an array of schemas.
const SCHEMAS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value maps names to schemas.
const SCHEMA_MAPS: [&str; 4] = ["$defs", "definitions", "patternProperties", "dependentSchemas"];

/// Why a tool cannot be offered over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamHeaderError {
    /// The annotation is not a non-empty HTTP token.
    #[error("x-mcp-header {value} is not a header name")]
    Name {
        /// The annotation's JSON.
        value: String,
    },
    /// Two properties want the same header, case aside.
    #[error("x-mcp-header {name:?} is used twice")]
    Repeated {
        /// The name.
        name: String,
    },
    /// The property is not a string, an integer or a boolean.
    #[error("x-mcp-header {name:?} is on a property that is no string, integer or boolean")]
    Type {
        /// The header's name.
        name: String,
    },
    /// The property cannot be reached through `properties` alone.
    #[error("x-mcp-header {name:?} is not reachable through `properties` alone")]
    Unreachable {
        /// The header's name.
        name: String,
    },
    /// More subschemas than are looked at.
    #[error("the input schema has more than {SUBSCHEMA_LIMIT} subschemas")]
    TooLarge,
}

/// The mirrored arguments of a tool with this input schema, in the schema's order.
///
/// # Errors
/// [`ParamHeaderError`]: over HTTP such a tool must be left out, the others stay.
pub fn find(input_schema: &RawJson) -> Result<Vec<ParamHeader>, ParamHeaderError> {
    // Most schemas have none; they are not walked.
    if memchr::memmem::find(input_schema.as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    let mut walk = Walk { found: Vec::new(), subschemas: 0 };
    walk.schema(input_schema.clone(), Some(&[]))?;
    Ok(walk.found)
}

struct Walk {
    found: Vec<ParamHeader>,
    subschemas: usize,
}

impl Walk {
    /// `path` leads here from the root, or is `None` where only data-dependent keywords do. Recursion is
    /// bounded by the nesting that [`RawJson`] allows.
    fn schema(&mut self, schema: RawJson, path: Option<&[String]>) -> Result<(), ParamHeaderError> {
        let Ok(schema) = RawObject::try_from(schema) else { return Ok(()) };
        self.subschemas += 1;
        if self.subschemas > SUBSCHEMA_LIMIT {
            return Err(ParamHeaderError::TooLarge);
        }
        for (keyword, value) in schema.iter() {
            match keyword.as_ref() {
                ANNOTATION => self.annotation(&schema, &value, path)?,
                "properties" => self.properties(value, path)?,
                keyword if SCHEMA.contains(&keyword) => {
                    // `items` may be an array of schemas in old dialects.
                    for element in value.elements(SUBSCHEMA_LIMIT).unwrap_or_else(|| vec![value.clone()]) {
                        self.schema(element, None)?;
                    }
                }
                keyword if SCHEMAS.contains(&keyword) => {
                    for element in value.elements(SUBSCHEMA_LIMIT).unwrap_or_default() {
                        self.schema(element, None)?;
                    }
                }
                keyword if SCHEMA_MAPS.contains(&keyword) => self.properties(value, None)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn properties(&mut self, map: RawJson, path: Option<&[String]>) -> Result<(), ParamHeaderError> {
        let Ok(map) = RawObject::try_from(map) else { return Ok(()) };
        for (name, schema) in map.iter() {
            let path = path.map(|path| [path, &[name.into_owned()]].concat());
            self.schema(schema, path.as_deref())?;
        }
        Ok(())
    }

    fn annotation(
        &mut self,
        schema: &RawObject,
        value: &RawJson,
        path: Option<&[String]>,
    ) -> Result<(), ParamHeaderError> {
        let name = value.to_text().filter(|name| is_token(name)).map(String::from);
        let name = name.ok_or_else(|| ParamHeaderError::Name { value: value.to_string() })?;
        let path = match path {
            Some(path) if !path.is_empty() => path,
            _ => return Err(ParamHeaderError::Unreachable { name }),
        };
        let kind = match schema.get_text("type").as_deref() {
            Some("string") => ParamKind::String,
            Some("integer") => ParamKind::Integer,
            Some("boolean") => ParamKind::Boolean,
            _ => return Err(ParamHeaderError::Type { name }),
        };
        if self.found.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
            return Err(ParamHeaderError::Repeated { name });
        }
        self.found.push(ParamHeader { name: name.into(), path: path.into(), kind });
        Ok(())
    }
}

/// RFC 9110 `token`.
fn is_token(text: &str) -> bool {
    let tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(tchar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expected: Result<&[(&str, &str)], &str>) {
        let found = find(&RawJson::parse(schema.to_owned()).unwrap());
        let found = found.map(|headers| {
            headers.iter().map(|h| (h.name.to_string(), h.path.join("."))).collect::<Vec<_>>()
        });
        let expected = expected
            .map(|rows| rows.iter().map(|(n, p)| ((*n).to_owned(), (*p).to_owned())).collect::<Vec<_>>())
            .map_err(str::to_owned);
        assert_eq!(found.map_err(|error| error.to_string()), expected, "for {schema}");
    }

    #[test]
    fn annotations_are_found_where_they_may_stand() {
        check(r#"{"type":"object"}"#, Ok(&[]));
        check(
            r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},
                "o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N-1"}}}}}"#,
            Ok(&[("A", "a"), ("N-1", "o.n")]),
        );
        check(r#"{"properties":{"x-mcp-header":{"type":"number"}}}"#, Ok(&[]));
        check(r#"{"properties":{"a":{"default":{"x-mcp-header":"A"}}}}"#, Ok(&[]));
    }

    #[test]
    fn annotations_that_cannot_be_honoured_are_errors() {
        for (schema, error) in [
            (r#"{"x-mcp-header":"A"}"#, r#"x-mcp-header "A" is not reachable through `properties` alone"#),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
                r#"x-mcp-header "" is not a header name"#,
            ),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
                r#"x-mcp-header "a b" is not a header name"#,
            ),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#,
                "x-mcp-header 7 is not a header name",
            ),
            (
                r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
                r#"x-mcp-header "A" is on a property that is no string, integer or boolean"#,
            ),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                r#"x-mcp-header "a" is used twice"#,
            ),
            (
                r#"{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}"#,
                r#"x-mcp-header "A" is not reachable through `properties` alone"#,
            ),
            (
                r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
                r#"x-mcp-header "A" is not reachable through `properties` alone"#,
            ),
            (
                r#"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"#,
                r#"x-mcp-header "A" is not reachable through `properties` alone"#,
            ),
        ] {
            check(schema, Err(error));
        }
    }
}
