//! The keywords of a schema one by one, in the order in which they stand.

use std::collections::HashSet;

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{
    converter::{At, Converter, MOST_LEVELS},
    facts::{Bytes, Facts},
    number,
    plain::is_plain,
    types::{Type, fitted},
};
use crate::{
    ir::Definitions,
    source::openapi::{library::Node, object::cut},
};

/// Longer examples are left out: all those of a large API together would cost a model more than they explain.
const MOST_EXAMPLE: usize = 256;

/// What only explains, and so may stand beside a reference in every version.
const ANNOTATIONS: [&str; 5] = ["title", "description", "deprecated", "readOnly", "writeOnly"];

impl Converter<'_> {
    pub(super) fn object(&mut self, node: &Node, schema: &RawObject, facts: &Facts, at: &At) {
        self.out.push(b'{');
        if facts.is_wrapped() {
            self.members(node, schema, facts, at, |name| ANNOTATIONS.contains(&name));
            self.name("anyOf");
            self.out.extend_from_slice(b"[{");
            let inner = at.same(2);
            self.members(node, schema, facts, &inner, |name| !ANNOTATIONS.contains(&name));
            self.closing(node, schema, facts, at);
            self.out.extend_from_slice(br#"},{"type":"null"}]"#);
        } else {
            self.members(node, schema, facts, at, |_| true);
            self.closing(node, schema, facts, at);
        }
        self.out.push(b'}');
    }

    fn members(
        &mut self,
        node: &Node,
        schema: &RawObject,
        facts: &Facts,
        at: &At,
        is_wanted: impl Fn(&str) -> bool,
    ) {
        for (name, value) in schema.iter().filter(|(name, _)| is_wanted(name)) {
            if facts.is_reference && name != "$ref" && !ANNOTATIONS.contains(&name.as_ref()) {
                continue;
            }
            let value = node.with(value);
            match name.as_ref() {
                "$ref" => self.refer(&value, at),
                "$dynamicRef" if !schema.contains("$ref") => self.refer(&value, at),
                "title" | "description" | "format" | "contentEncoding" | "contentMediaType" => {
                    self.words(&name, &value.value, facts);
                }
                "deprecated" | "readOnly" | "writeOnly" | "uniqueItems" => self.flag(&name, &value.value),
                "type" => self.types(&value.value, facts),
                "enum" => self.choices(&value.value, facts, at),
                "const" | "default" => self.plain(&name, &value.value, at),
                "example" => self.examples([value.value], schema.contains("examples"), at),
                "examples" => {
                    self.examples(value.value.elements(usize::MAX).unwrap_or_default(), false, at);
                }
                "pattern" => self.pattern(&value.value, facts),
                _ if NUMBERS.contains(&name.as_ref()) => self.bound(&name, &value.value, facts),
                _ if COUNTS.contains(&name.as_ref()) => self.count(&name, &value.value, facts),
                _ => self.applicator(node, schema, &name, &value, at),
            }
        }
    }

    /// What several keywords say together, at the end.
    fn closing(&mut self, node: &Node, schema: &RawObject, facts: &Facts, at: &At) {
        if facts.bytes != Bytes::No && !facts.is_reference {
            self.member("contentEncoding", br#""base64""#);
        }
        if !facts.is_reference {
            self.required(node, schema, at);
        }
    }

    fn refer(&mut self, value: &Node, at: &At) {
        let Some(reference) = value.value.to_text() else { return };
        if let Some(target) = self.reference(value, &reference, at) {
            let name = format!("{}{}", Definitions::PREFIX, self.registry.name(target, self.direction));
            self.name("$ref");
            self.text(&name);
        }
    }

    fn words(&mut self, name: &str, value: &RawJson, facts: &Facts) {
        let Some(text) = value.to_text() else { return };
        self.is_widened |= name == "format";
        let is_bytes = facts.bytes != Bytes::No && name != "contentMediaType";
        let is_vain = matches!(name, "format") && matches!(text.as_ref(), "binary" | "byte");
        match name {
            "title" | "description" if !text.trim().is_empty() => {
                self.name(name);
                self.text(cut(text.trim()));
            }
            "title" | "description" => {}
            _ if is_bytes || is_vain => {}
            _ => {
                self.name(name);
                self.text(cut(&text));
            }
        }
    }

    /// What is not so by default.
    fn flag(&mut self, name: &str, value: &RawJson) {
        if value.to_bool() == Some(true) {
            self.member(name, b"true");
        }
    }

    fn types(&mut self, value: &RawJson, facts: &Facts) {
        let first = facts.types.first().map(|first| first.as_str());
        // What another language calls it may be less than the type: `date`.
        self.is_widened |= first.is_none() || value.to_text().is_some_and(|word| Some(&*word) != first);
        let mut words: Vec<_> = facts.types.iter().map(|known| format!("\"{}\"", known.as_str())).collect();
        if facts.is_nullable_here() && !words.is_empty() && !facts.types.contains(&Type::Null) {
            words.push("\"null\"".into());
        }
        match words.as_slice() {
            [] => {}
            [only] => self.member("type", only),
            several => self.member("type", format!("[{}]", several.join(","))),
        }
    }

    fn choices(&mut self, value: &RawJson, facts: &Facts, at: &At) {
        let mut choices = Vec::new();
        let mut seen = HashSet::new();
        for item in value.elements(usize::MAX).unwrap_or_default() {
            if !is_plain(&item, MOST_LEVELS.saturating_sub(at.depth + 2)) {
                // Without it the list would refuse what is meant to be accepted.
                self.is_widened = true;
                return;
            }
            let item = fitted(&item, &facts.types);
            if seen.insert(item.clone()) {
                choices.push(item);
            }
        }
        if choices.is_empty() {
            self.is_widened = true;
            return;
        }
        if facts.is_nullable_here() && choices.iter().all(|item| item.kind() != JsonKind::Null) {
            choices.extend(RawJson::parse("null").ok());
        }
        self.member("enum", RawJson::array(choices).as_bytes());
    }

    fn plain(&mut self, name: &str, value: &RawJson, at: &At) {
        if is_plain(value, MOST_LEVELS.saturating_sub(at.depth + 1)) {
            self.member(name, value.as_bytes());
        } else {
            self.is_widened |= name == "const";
        }
    }

    fn examples(&mut self, examples: impl IntoIterator<Item = RawJson>, are_given: bool, at: &At) {
        let mut length = 0;
        let most_levels = MOST_LEVELS.saturating_sub(at.depth + 2);
        let is_short = |example: &RawJson| {
            length += example.as_bytes().len();
            length <= MOST_EXAMPLE && is_plain(example, most_levels)
        };
        let kept: Vec<_> = examples.into_iter().take_while(is_short).collect();
        if !kept.is_empty() && !are_given {
            self.member("examples", RawJson::array(kept).as_bytes());
        }
    }

    fn pattern(&mut self, value: &RawJson, facts: &Facts) {
        let pattern = value.to_text().filter(|_| facts.bytes == Bytes::No);
        match pattern.filter(|pattern| self.patterns.is_usable(pattern)) {
            Some(pattern) => {
                self.name("pattern");
                self.text(&pattern);
            }
            None => self.is_widened = true,
        }
    }

    /// In 3.0 `exclusiveMaximum` says of `maximum` what it is.
    fn bound(&mut self, name: &str, value: &RawJson, facts: &Facts) {
        let digits = if name == "multipleOf" { number::positive(value) } else { number::number(value) };
        let name = match name {
            "maximum" if facts.exclusive_maximum => "exclusiveMaximum",
            "minimum" if facts.exclusive_minimum => "exclusiveMinimum",
            name => name,
        };
        match digits {
            Some(digits) => self.member(name, digits.as_bytes()),
            None => self.is_widened = true,
        }
    }

    fn count(&mut self, name: &str, value: &RawJson, facts: &Facts) {
        let is_of_bytes = name.ends_with("Length") && facts.bytes != Bytes::No;
        match number::count(value).filter(|_| !is_of_bytes) {
            Some(count) => self.member(name, count.to_string()),
            None => self.is_widened = true,
        }
    }
}

const NUMBERS: [&str; 5] = ["multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"];

const COUNTS: [&str; 8] = [
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "maxContains",
    "minContains",
];
