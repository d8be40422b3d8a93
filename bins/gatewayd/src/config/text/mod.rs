//! A file's text as a tree of values that remember their line, whatever the format.

mod definition;
mod json;
mod toml;
mod yaml;

use std::collections::BTreeMap;
use std::path::Path;

use figment::value::{Dict, Value};

use super::key_path::KeyPath;

pub(super) use definition::definition;

/// The notations a configuration may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Toml,
    Yaml,
    Json,
}

impl Format {
    /// By extension; `None` for one we do not read.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" | "jsonc" => Some(Self::Json),
            _ => None,
        }
    }

    /// Reads a whole file.
    pub(super) fn parse(self, text: &str) -> Result<Document, SyntaxError> {
        Document::of(self.node(text)?)
    }

    fn node(self, text: &str) -> Result<Node, SyntaxError> {
        // Editors on Windows put a byte order mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
            Self::Json => json::parse(text),
        }
    }
}

/// The value that an environment variable spells in TOML's notation, if it does.
pub(super) fn inline_value(text: &str) -> Option<Value> {
    Some(toml::parse_value(text)?.value(&KeyPath::default(), &mut BTreeMap::new()))
}

/// A file as it was written: values, and the line each stands on.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) values: Dict,
    pub(super) lines: Lines,
}

/// Where each value stands.
pub(super) type Lines = BTreeMap<KeyPath, Written>;

/// Where a value stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// Its line, from 1.
    pub(super) line: usize,
    /// Grows from one member of a table to the next.
    pub(super) order: usize,
}

fn written(lines: &mut Lines, path: KeyPath, line: usize) {
    let order = lines.len();
    lines.insert(path, Written { line, order });
}

impl Document {
    fn of(node: Node) -> Result<Self, SyntaxError> {
        let mut lines = Lines::new();
        match node.value(&KeyPath::default(), &mut lines) {
            Value::Dict(_, values) => Ok(Self { values, lines }),
            Value::Empty(..) => Ok(Self { values: Dict::new(), lines }),
            _ => {
                Err(SyntaxError { line: Some(1), message: "the file must hold keys with values".to_owned() })
            }
        }
    }
}

/// Why a text is not in its format.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) line: Option<usize>,
    pub(super) message: String,
}

/// What the three parsers have in common.
#[derive(Debug)]
enum Node {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<(usize, Self)>),
    Table(Vec<(String, usize, Self)>),
}

impl Node {
    /// The value for the layers; a member that is null counts as not written.
    fn value(self, path: &KeyPath, lines: &mut Lines) -> Value {
        match self {
            Self::Null => Value::from(figment::value::Empty::None),
            Self::Bool(value) => Value::from(value),
            Self::Integer(value) => Value::from(value),
            Self::Float(value) => Value::from(value),
            Self::Text(value) => Value::from(value),
            Self::List(items) => {
                let values = items.into_iter().enumerate().map(|(index, (line, item))| {
                    let path = path.index(index);
                    let value = item.value(&path, lines);
                    written(lines, path, line);
                    value
                });
                Value::from(values.collect::<Vec<_>>())
            }
            Self::Table(members) => {
                let mut dict = Dict::new();
                for (key, line, member) in members {
                    let path = path.key(&key);
                    if !matches!(member, Self::Null) {
                        dict.insert(key, member.value(&path, lines));
                    }
                    written(lines, path, line);
                }
                Value::from(dict)
            }
        }
    }
}

/// Where the lines of a text end.
#[derive(Debug)]
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn of(text: &str) -> Self {
        Self(memchr::memchr_iter(b'\n', text.as_bytes()).collect())
    }

    /// The line of a byte offset.
    fn line_at(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|newline| *newline < offset)
    }
}
