use std::collections::BTreeMap;

use gateway_domain::{JsonKind, RawJson, RawObject};

/// The members of a JSON answer that are passed on (see [`crate::engine::Override::fields`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(BTreeMap<String, Self>);

impl Fields {
    pub(crate) fn new(paths: &[Vec<String>]) -> Self {
        let mut fields = Self::default();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            fields.add(path);
        }
        fields
    }

    /// A path that ends here takes everything below, whatever longer paths say.
    fn add(&mut self, path: &[String]) {
        let Some((first, rest)) = path.split_first() else { return self.0.clear() };
        let is_new = !self.0.contains_key(first);
        let below = self.0.entry(first.clone()).or_default();
        if is_new || !below.is_all() {
            below.add(rest);
        }
    }

    /// Whether everything is passed on.
    pub(crate) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// The value without what is not passed on. Arrays are passed through, `null` stays; where members are wanted of
    /// something else than an object there is nothing. What is kept is kept byte for byte. `None` if it cannot be
    /// told what a name stands for, because it stands twice.
    pub(super) fn keep(&self, value: &RawJson) -> Option<RawJson> {
        let mut kept = Vec::new();
        if !self.write(value, &mut kept)? {
            kept.extend_from_slice(b"{}");
        }
        RawJson::parse(kept).ok()
    }

    /// Whether anything is left of the value. Nests no deeper than [`RawJson`] does.
    fn write(&self, value: &RawJson, out: &mut Vec<u8>) -> Option<bool> {
        match value.kind() {
            JsonKind::Object if !self.is_all() => {
                self.members(&RawObject::try_from(value.clone()).ok()?, out)?
            }
            JsonKind::Array if !self.is_all() => self.items(&value.elements(usize::MAX)?, out)?,
            JsonKind::String | JsonKind::Number | JsonKind::Boolean if !self.is_all() => return Some(false),
            _ => out.extend_from_slice(value.as_bytes()),
        }
        Some(true)
    }

    fn members(&self, object: &RawObject, out: &mut Vec<u8>) -> Option<()> {
        out.push(b'{');
        let first = out.len();
        for (name, value) in object.iter() {
            let Some(fields) = self.0.get(name.as_ref()) else { continue };
            let before = out.len();
            if before > first {
                out.push(b',');
            }
            out.extend_from_slice(RawJson::string(&name).as_bytes());
            out.push(b':');
            if !fields.write(&value, out)? {
                out.truncate(before);
            }
        }
        out.push(b'}');
        Some(())
    }

    fn items(&self, items: &[RawJson], out: &mut Vec<u8>) -> Option<()> {
        out.push(b'[');
        let first = out.len();
        for item in items {
            let before = out.len();
            if before > first {
                out.push(b',');
            }
            if !self.write(item, out)? {
                out.truncate(before);
            }
        }
        out.push(b']');
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths with dots, apart by spaces.
    fn fields(paths: &str) -> Fields {
        let path = |path: &str| path.split('.').map(str::to_owned).collect();
        Fields::new(&paths.split_whitespace().map(path).collect::<Vec<Vec<String>>>())
    }

    #[test]
    fn only_the_named_members_are_left() {
        assert!(Fields::new(&[vec![]]).is_all());
        for (paths, value, expected) in [
            ("", r#"{ "a":1.0 }"#, Some(r#"{ "a":1.0 }"#)),
            ("id", r#"{"id":9007199254740993,"secret":1}"#, Some(r#"{"id":9007199254740993}"#)),
            ("id", r#"[{"id":1e400,"x":1},{"x":2},{"id":-0}]"#, Some(r#"[{"id":1e400},{},{"id":-0}]"#)),
            ("id", r#"{"\u0069d":1,"x":2}"#, Some(r#"{"id":1}"#)),
            ("id", r#"{"x":{"id":1}}"#, Some("{}")),
            ("id", r#"[1,"a",null,true]"#, Some("[null]")),
            ("id", "7", Some("{}")),
            ("id", "null", Some("null")),
            ("id", r#"{"id":1,"id":2}"#, None),
            ("items.id", r#"{"items":[{"id":1,"x":[2]}],"next":3}"#, Some(r#"{"items":[{"id":1}]}"#)),
            ("items.id", r#"{"items":null,"x":1}"#, Some(r#"{"items":null}"#)),
            ("items.id", r#"{"items":"secret"}"#, Some("{}")),
            ("items.id items", r#"{"items":{"x":1}}"#, Some(r#"{"items":{"x":1}}"#)),
            ("items items.id", r#"{"items":{"x":1}}"#, Some(r#"{"items":{"x":1}}"#)),
            ("b a", r#"{"a":1,"b":{"c":2}}"#, Some(r#"{"a":1,"b":{"c":2}}"#)),
        ] {
            let kept = fields(paths).keep(&RawJson::parse(value).unwrap());
            assert_eq!(kept.as_ref().map(RawJson::as_str), expected, "for {paths} of {value}");
        }
    }
}
