//! Keywords whose values are schemas.

use std::rc::Rc;

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{
    converter::{At, Converter, Mark},
    required::Whole,
};
use crate::source::openapi::{library::Node, object::object};

impl Converter<'_> {
    /// Writes a keyword that holds schemas; others are unknown here and left out.
    ///
    /// `unevaluatedProperties` and `unevaluatedItems` are left out: they refuse what other schemas do not mention, and
    /// those may have been widened.
    pub(super) fn applicator(&mut self, node: &Node, schema: &RawObject, name: &str, value: &Node, at: &At) {
        match name {
            "not" => self.exactly(|this| this.one(name, value, &at.same(1))),
            "if" => self.condition(node, schema, value, &at.same(1)),
            "additionalProperties" if !self.has_all_patterns(schema) => self.is_widened = true,
            // A wider one would be contained too often.
            "contains" if schema.contains("maxContains") => {
                self.exactly(|this| this.one(name, value, &at.part(1)));
            }
            "additionalProperties" | "propertyNames" | "contains" | "contentSchema" => {
                self.one(name, value, &at.part(1));
            }
            "items" => self.items(schema, value, at),
            "prefixItems" => self.several(name, value, &at.part(2)),
            "allOf" => self.several(
                name,
                value,
                &At { whole: Some(Rc::new(Whole::new(node.clone()))), ..at.same(2) },
            ),
            "anyOf" => self.several(name, value, &at.same(2)),
            "oneOf" => self.one_of(schema, value, &at.same(2)),
            "properties" => self.properties(value, &at.part(2)),
            "patternProperties" => self.named(name, value, &at.part(2), true),
            "dependentSchemas" => self.named(name, value, &at.same(2), false),
            "dependentRequired" => self.dependent_required(&value.value),
            "unevaluatedProperties" | "unevaluatedItems" | "dependencies" => self.is_widened = true,
            _ => {}
        }
    }

    fn one(&mut self, name: &str, value: &Node, at: &At) {
        if is_schema(&value.value) {
            self.name(name);
            self.schema(value, at);
        } else {
            self.is_widened = true;
        }
    }

    /// Writes something that would refuse more if the schemas in it accepted more; if they do, it is left out.
    fn exactly(&mut self, write: impl FnOnce(&mut Self)) {
        let mark = self.mark();
        write(self);
        if self.is_widened_since(&mark) {
            self.undo(&mark);
        }
    }

    /// Writes `if` with what depends on it. A wider one would ask for `then` where `else` is meant.
    fn condition(&mut self, node: &Node, schema: &RawObject, value: &Node, at: &At) {
        let mark = self.mark();
        self.one("if", value, at);
        if self.is_widened_since(&mark) {
            return self.undo(&mark);
        }
        for name in ["then", "else"] {
            if let Some(value) = schema.get(name) {
                self.one(name, &node.with(value), at);
            }
        }
    }

    /// Whether every pattern for properties is kept; if not, what is left of the properties is not known.
    fn has_all_patterns(&mut self, schema: &RawObject) -> bool {
        let patterns = schema.get("patternProperties").and_then(|patterns| object(&patterns));
        patterns.is_none_or(|patterns| patterns.iter().all(|(pattern, _)| self.patterns.is_usable(&pattern)))
    }

    /// A list of schemas; one alone is a list of one.
    fn several(&mut self, name: &str, value: &Node, at: &At) {
        let items = match value.value.kind() {
            JsonKind::Array => value.value.elements(usize::MAX).unwrap_or_default(),
            JsonKind::Object => vec![value.value.clone()],
            _ => Vec::new(),
        };
        if items.is_empty() {
            return;
        }
        self.name(name);
        self.out.push(b'[');
        for (number, item) in items.into_iter().enumerate() {
            if number > 0 {
                self.out.push(b',');
            }
            self.schema(&value.with(item), at);
        }
        self.out.push(b']');
    }

    /// Exactly one can only be said of schemas that are whole. Where a discriminator tells them apart, or where they
    /// accept more than they should, it becomes at least one.
    fn one_of(&mut self, schema: &RawObject, value: &Node, at: &At) {
        let mark = self.mark();
        self.several("oneOf", value, at);
        self.is_widened |= schema.contains("discriminator");
        match self.is_widened_since(&mark) {
            true if schema.contains("anyOf") => self.undo(&mark),
            true => self.rename(&mark, b"oneOf", b"anyOf"),
            false => {}
        }
    }

    /// Calls the member that was written since something else, of the same length.
    fn rename(&mut self, mark: &Mark, from: &[u8], to: &[u8]) {
        let written = self.out.get_mut(mark.out..).unwrap_or_default();
        let quotes = if written.first() == Some(&b',') { 2 } else { 1 };
        if let Some(name) = written.get_mut(quotes..quotes + from.len()).filter(|name| *name == from) {
            name.copy_from_slice(to);
        }
    }

    /// A list of them, which is how tuples were written before 2020-12, says of each item what it is.
    fn items(&mut self, schema: &RawObject, value: &Node, at: &At) {
        if value.value.kind() != JsonKind::Array {
            return self.one("items", value, &at.part(1));
        }
        if !schema.contains("prefixItems") {
            self.several("prefixItems", value, &at.part(2));
        }
        if let Some(rest) = schema.get("additionalItems") {
            self.one("items", &value.with(rest), &at.part(1));
        }
    }

    fn properties(&mut self, value: &Node, at: &At) {
        self.named("properties", value, at, false);
    }

    fn named(&mut self, name: &str, value: &Node, at: &At, are_patterns: bool) {
        let Some(members) = object(&value.value) else {
            self.is_widened = true;
            return;
        };
        self.name(name);
        self.out.push(b'{');
        for (name, member) in members.iter() {
            if !are_patterns || self.patterns.is_usable(&name) {
                self.name(&name);
                self.schema(&value.with(member), at);
            } else {
                self.is_widened = true;
            }
        }
        self.out.push(b'}');
    }

    fn dependent_required(&mut self, value: &RawJson) {
        let Some(members) = object(value) else { return };
        self.name("dependentRequired");
        self.out.push(b'{');
        for (name, names) in members.iter() {
            let mut names: Vec<_> = names.elements(usize::MAX).unwrap_or_default();
            names.retain(|name| name.kind() == JsonKind::String);
            let mut names: Vec<_> = names.iter().filter_map(RawJson::to_text).collect();
            names.sort_unstable();
            names.dedup();
            let names = names.iter().map(|name| RawJson::string(name));
            self.member(&name, RawJson::array(names).as_bytes());
        }
        self.out.push(b'}');
    }
}

fn is_schema(value: &RawJson) -> bool {
    matches!(value.kind(), JsonKind::Object | JsonKind::Boolean)
}
