//! A tree as JSON, for what the gateway's own keys say nothing about.

use std::fmt::Write as _;

use figment::value::{Num, Tag, Value};
use gateway_domain::{RawJson, RawObject};

use super::{Format, KeyPath, Node, SyntaxError};

/// A number that JSON cannot write: infinite, or none.
const NO_NUMBER: &str = "`inf` and `nan` cannot be written in JSON";

impl Format {
    /// Reads a whole file that is one definition, members in the order of the file. `null` is a value here.
    pub(in crate::config) fn definition(self, text: &str) -> Result<RawObject, SyntaxError> {
        let whole = |message: String| SyntaxError { line: None, message };
        match self.node(text)? {
            node @ Node::Table(_) => node.object().map_err(whole),
            _ => Err(whole("the file must hold keys with values".to_owned())),
        }
    }
}

/// The same of a table in a configuration, of which is only known what was written before what.
pub(in crate::config) fn definition(
    value: &Value,
    path: &KeyPath,
    order: &Order<'_>,
) -> Result<RawObject, String> {
    Node::of(value, path, order).object()
}

/// Where the member of this path stands among the others of its table.
type Order<'a> = dyn Fn(Tag, &KeyPath) -> (usize, usize) + 'a;

impl Node {
    fn object(&self) -> Result<RawObject, String> {
        let mut json = String::new();
        self.write(&mut json)?;
        RawObject::parse(json).map_err(|error| error.to_string())
    }

    fn write(&self, json: &mut String) -> Result<(), String> {
        match self {
            Self::Null => json.push_str("null"),
            Self::Bool(value) => put(json, value),
            Self::Integer(value) => put(json, value),
            // `Debug` tells 1.0 from 1, and JSON reads every way it writes finite numbers.
            Self::Float(value) if value.is_finite() => put(json, format_args!("{value:?}")),
            Self::Float(_) => return Err(NO_NUMBER.to_owned()),
            Self::Text(value) => json.push_str(RawJson::string(value).as_str()),
            Self::List(items) => {
                let items = items.iter().map(|(_, item)| (None, item));
                Self::write_all(items, ['[', ']'], json)?;
            }
            Self::Table(members) => {
                let members = members.iter().map(|(key, _, member)| (Some(key.as_str()), member));
                Self::write_all(members, ['{', '}'], json)?;
            }
        }
        Ok(())
    }

    fn write_all<'a>(
        items: impl Iterator<Item = (Option<&'a str>, &'a Self)>,
        [open, close]: [char; 2],
        json: &mut String,
    ) -> Result<(), String> {
        json.push(open);
        for (index, (key, item)) in items.enumerate() {
            if index > 0 {
                json.push(',');
            }
            if let Some(key) = key {
                json.push_str(RawJson::string(key).as_str());
                json.push(':');
            }
            item.write(json)?;
        }
        json.push(close);
        Ok(())
    }

    fn of(value: &Value, path: &KeyPath, order: &Order<'_>) -> Self {
        match value {
            Value::String(_, text) => Self::Text(text.clone()),
            Value::Char(_, char) => Self::Text(char.to_string()),
            Value::Bool(_, value) => Self::Bool(*value),
            Value::Num(_, number) => Self::of_number(*number),
            Value::Empty(..) => Self::Null,
            Value::Dict(_, members) => {
                let with_path = |(key, member): (&String, _)| (key.clone(), path.key(key), member);
                let mut members: Vec<(_, _, &Value)> = members.iter().map(with_path).collect();
                members.sort_by_cached_key(|(_, path, member)| order(member.tag(), path));
                let node =
                    |(key, path, member): (_, KeyPath, &Value)| (key, 0, Self::of(member, &path, order));
                Self::Table(members.into_iter().map(node).collect())
            }
            Value::Array(_, items) => {
                let node = |(at, item)| (0, Self::of(item, &path.index(at), order));
                Self::List(items.iter().enumerate().map(node).collect())
            }
        }
    }

    fn of_number(number: Num) -> Self {
        let whole = number.to_i128().or_else(|| number.to_u128().and_then(|whole| whole.try_into().ok()));
        match (whole, number.to_f64()) {
            (Some(whole), _) => Self::Integer(whole),
            (None, Some(float)) => Self::Float(float),
            (None, None) => Self::Float(f64::INFINITY),
        }
    }
}

fn put(json: &mut String, value: impl std::fmt::Display) {
    // Writing to a text cannot fail.
    write!(json, "{value}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, text: &str, expected: Result<&str, &str>) {
        let read = format.definition(text);
        let read = read.as_ref().map(RawObject::as_str).map_err(|error| error.message.as_str());
        assert_eq!(read, expected, "{text}");
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        for format in [Format::Yaml, Format::Json] {
            check(format, "[1]", Err("the file must hold keys with values"));
        }
        check(Format::Toml, "a = inf", Err(NO_NUMBER));
        check(Format::Toml, "a = [[1, { b = nan }]]", Err(NO_NUMBER));
        check(Format::Yaml, "a: [.nan]", Err("value `.nan` is not a finite number"));
        check(Format::Json, "{\"a\": 1, \"a\": 2}", Err("duplicate key `a`"));
    }

    #[test]
    fn members_keep_their_order_and_numbers_their_kind() {
        let json = r#"{"b":1,"a":[true,null,1.0,-0.5,1e300,"x\"\n"],"c":{"z":9007199254740993,"y":{}}}"#;
        check(Format::Json, json, Ok(json));
        let yaml =
            "b: 1\na: [true, null, 1.0, -0.5, 1.0e+300, \"x\\\"\\n\"]\nc: {z: 9007199254740993, y: {}}\n";
        check(Format::Yaml, yaml, Ok(json));
        check(Format::Json, "// said by an editor\n{\"a\": 1,}", Ok(r#"{"a":1}"#));
        check(
            Format::Toml,
            "b = 1\na = 1.0\nd = 0x10\n[z]\n[c]\ny = [{ f = '', e = 1 }]\n[z.b]\n[z.a]\n",
            Ok(r#"{"b":1,"a":1.0,"d":16,"z":{"b":{},"a":{}},"c":{"y":[{"f":"","e":1}]}}"#),
        );
        check(Format::Toml, "a = 2026-01-02", Ok(r#"{"a":"2026-01-02"}"#));
    }
}
