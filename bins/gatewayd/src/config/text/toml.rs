//! TOML.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{LineIndex, Node, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let index = LineIndex::of(text);
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        line: error.span().map(|span| index.line_at(span.start)),
        message: error.message().to_owned(),
    })?;
    Ok(of_table(table.into_inner(), &index))
}

pub(super) fn parse_value(text: &str) -> Option<Node> {
    Some(of_value(DeValue::parse(text).ok()?.into_inner(), &LineIndex::of(text)))
}

fn of_table(table: DeTable<'_>, index: &LineIndex) -> Node {
    let mut members: Vec<_> = table.into_iter().collect();
    // The parser has them by name.
    members.sort_by_key(|(key, _)| key.span().start);
    let members = members.into_iter().map(|(key, value)| {
        let line = index.line_at(key.span().start);
        (key.into_inner().into_owned(), line, of_value(value.into_inner(), index))
    });
    Node::Table(members.collect())
}

fn of_value(value: DeValue<'_>, index: &LineIndex) -> Node {
    match value {
        DeValue::String(value) => Node::Text(value.into_owned()),
        DeValue::Boolean(value) => Node::Bool(value),
        DeValue::Integer(value) => i128::from_str_radix(value.as_str(), value.radix())
            .map_or_else(|_| Node::Text(value.as_str().to_owned()), Node::Integer),
        DeValue::Float(value) => {
            value.as_str().parse().map_or_else(|_| Node::Text(value.as_str().to_owned()), Node::Float)
        }
        DeValue::Datetime(value) => Node::Text(value.to_string()),
        DeValue::Array(items) => {
            let at = |item: &Spanned<DeValue<'_>>| index.line_at(item.span().start);
            Node::List(
                items.into_iter().map(|item| (at(&item), of_value(item.into_inner(), index))).collect(),
            )
        }
        DeValue::Table(table) => of_table(table, index),
    }
}
