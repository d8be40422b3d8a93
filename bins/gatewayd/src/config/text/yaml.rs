//! YAML, with the parser's own bounds on aliases, depth and events.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{Node, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // What YAML 1.2 has (§10.3), so that nobody's `no` or `1_000` becomes something else.
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        reject_unsupported_tags: true,
        budget: serde_saphyr::budget! { max_nodes: MOST_NODES },
    };
    serde_saphyr::from_str_with_options::<Node>(text, options).map_err(|error| SyntaxError {
        line: error.location().and_then(|at| usize::try_from(at.line()).ok()),
        message: without_position(&error.render_with_formatter(&serde_saphyr::UserMessageFormatter)),
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

/// Values after aliases are replaced; a configuration of thousands of downstreams has fewer.
const MOST_NODES: usize = 50_000;

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element::<Spanned<Node>>()? {
            items.push((line_of(&item), item.value));
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Node>>()? {
            let line = line_of(&key);
            members.push((key.value, line, value.value));
        }
        Ok(Node::Table(members))
    }
}

/// The position stands in front already.
fn without_position(message: &str) -> String {
    message.split_once(" at line ").map_or(message, |(message, _)| message).to_owned()
}

fn line_of<T>(spanned: &Spanned<T>) -> usize {
    usize::try_from(spanned.referenced.line()).unwrap_or_default()
}
