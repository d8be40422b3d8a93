//! JSON with the comments and trailing commas that editors allow in their own settings.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{LineIndex, Node, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let index = LineIndex::of(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &EDITORS_JSON).map_err(|error| {
        SyntaxError { line: Some(index.line_at(error.range().start)), message: error.kind().to_string() }
    })?;
    parsed.value.map_or(Ok(Node::Null), |value| of_value(value, &index))
}

const EDITORS_JSON: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn of_value(value: Value<'_>, index: &LineIndex) -> Result<Node, SyntaxError> {
    Ok(match value {
        Value::NullKeyword(_) => Node::Null,
        Value::BooleanLit(value) => Node::Bool(value.value),
        Value::StringLit(value) => Node::Text(value.value.into_owned()),
        Value::NumberLit(number) => of_number(number.value),
        Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| {
                let line = index.line_at(item.start());
                of_value(item, index).map(|node| (line, node))
            });
            Node::List(items.collect::<Result<_, _>>()?)
        }
        Value::Object(object) => of_object(object, index)?,
    })
}

fn of_object(object: Object<'_>, index: &LineIndex) -> Result<Node, SyntaxError> {
    let mut seen = BTreeSet::new();
    let mut members = Vec::with_capacity(object.properties.len());
    for property in object.properties {
        let line = index.line_at(property.range.start);
        let name = property.name.into_string();
        if !seen.insert(name.clone()) {
            return Err(SyntaxError { line: Some(line), message: format!("duplicate key `{name}`") });
        }
        members.push((name, line, of_value(property.value, index)?));
    }
    Ok(Node::Table(members))
}

fn of_number(text: &str) -> Node {
    match (text.parse(), text.parse()) {
        (Ok(integer), _) => Node::Integer(integer),
        (_, Ok(float)) => Node::Float(float),
        _ => Node::Text(text.to_owned()),
    }
}
