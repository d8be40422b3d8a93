use std::{borrow::Cow, sync::Arc};

use crate::{Era, RawJson, RawObject};

/// A tool as a downstream reports it: the definition's own bytes, every member included (A-2, A-W5, A-W6),
/// and the name under which it is offered, which differs from its own name when that did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    name: Arc<str>,
    original: Arc<str>,
    definition: RawObject,
}

impl Tool {
    /// A tool with nothing but a name. Members are added with [`Self::with`].
    pub fn new(name: &str) -> Self {
        let definition = RawObject::empty().edit().set("name", RawJson::string(name).as_bytes()).finish();
        Self {
            name: name.into(),
            original: name.into(),
            definition: RawObject::try_from(definition).unwrap_or_else(|_| RawObject::empty()),
        }
    }

    /// A tool from the object that stands in a `tools/list` result. `None` if its `name` is not a string.
    pub fn from_definition(definition: RawObject) -> Option<Self> {
        let name: Arc<str> = definition.get_text("name")?.into();
        Some(Self { name: name.clone(), original: name, definition })
    }

    /// The same tool with one member of its definition set, for callers that make tools by hand.
    /// `name` itself is not set this way; see [`Self::offered_as`].
    #[must_use]
    pub fn with(mut self, member: &str, value: &RawJson) -> Self {
        if member != "name" {
            let edited = self.definition.edit().set(member, value.as_bytes()).finish();
            self.definition = RawObject::try_from(edited).unwrap_or(self.definition);
        }
        self
    }

    /// The same tool, offered under another name. Calls still carry [`Self::original`].
    #[must_use]
    pub fn offered_as(mut self, alias: &str) -> Self {
        self.name = alias.into();
        self
    }

    /// The same tool with another definition, as when texts of it were cleaned. What it is called stays the same.
    #[must_use]
    pub fn redefined(self, definition: RawObject) -> Self {
        Self { definition, ..self }
    }

    /// The name under which the tool is offered, without a downstream in front.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tool's own name on its downstream, byte for byte: what calls carry.
    pub fn original(&self) -> &Arc<str> {
        &self.original
    }

    /// The whole definition as it was reported, its own `name` included.
    pub fn definition(&self) -> &RawObject {
        &self.definition
    }

    /// `title`, if it is there and a string.
    pub fn title(&self) -> Option<String> {
        self.definition.get_text("title")
    }

    /// `description`, if it is there and a string.
    pub fn description(&self) -> Option<String> {
        self.definition.get_text("description")
    }

    /// `inputSchema`, raw.
    pub fn input_schema(&self) -> Option<RawJson> {
        self.definition.get("inputSchema")
    }

    /// `outputSchema`, raw.
    pub fn output_schema(&self) -> Option<RawJson> {
        self.definition.get("outputSchema")
    }

    /// `annotations`, raw.
    pub fn annotations(&self) -> Option<RawJson> {
        self.definition.get("annotations")
    }

    /// `icons`, raw.
    pub fn icons(&self) -> Option<RawJson> {
        self.definition.get("icons")
    }

    /// Members this crate has no name for (`_meta`, `execution`, what a later revision adds), in order.
    pub fn unknown(&self) -> impl Iterator<Item = (Cow<'_, str>, RawJson)> {
        const KNOWN: [&str; 7] =
            ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons"];
        self.definition.iter().filter(|(name, _)| !KNOWN.contains(&name.as_ref()))
    }

    /// Whether clients of the legacy era can read the whole definition.
    pub fn is_legacy(&self) -> bool {
        let Some(schema) = self.output_schema() else { return true };
        RawObject::try_from(schema).is_ok_and(|schema| schema.get_text("type").as_deref() == Some("object"))
    }

    /// The definition as a client is shown it under `exposed`: only `name` differs, and a tool without an
    /// `inputSchema`, or with one that has no `type`, gets `"type":"object"` there (A-43). A legacy client is not shown an `outputSchema` whose
    /// root is no object type: it would refuse the whole list (protocol.md §20.8). Nobody is shown `execution`: the
    /// tasks it speaks of are not offered (§20.11).
    pub fn render(&self, exposed: &str, era: Era) -> RawJson {
        let mut edit = self.definition.edit().remove("execution");
        if era == Era::Legacy && !self.is_legacy() {
            edit = edit.remove("outputSchema");
        }
        if *self.original != *exposed {
            edit = edit.set("name", RawJson::string(exposed).as_bytes());
        }
        match self.definition.get_object("inputSchema") {
            None if !self.definition.contains("inputSchema") => {
                edit = edit.set("inputSchema", br#"{"type":"object"}"#);
            }
            Some(schema) if !schema.contains("type") => {
                let typed = schema.edit().set("type", br#""object""#).finish();
                edit = edit.set("inputSchema", typed.as_bytes());
            }
            _ => {}
        }
        edit.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_keeps_every_byte_but_its_name() {
        let text = r#"{ "x-new":1.0,"name":"re\u0061d", "inputSchema":{"type":"object","n":9007199254740993},"_meta":{"a/b":[1e400]}}"#;
        let tool = Tool::from_definition(RawObject::parse(text).unwrap()).unwrap();
        assert_eq!(tool.name(), "read");
        for era in [Era::Legacy, Era::Modern] {
            assert_eq!(tool.render("read", era).as_str(), text);
            assert_eq!(tool.render("f__read", era).as_str(), text.replace(r#""re\u0061d""#, r#""f__read""#));
        }
        let unknown: Vec<_> = tool.unknown().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(unknown, ["x-new", "_meta"]);
    }

    #[test]
    fn nobody_is_shown_how_tasks_work_in_the_downstream() {
        let text =
            r#"{"name":"t","execution":{"taskSupport":"required"},"inputSchema":{"type":"object"},"x":1.0}"#;
        let tool = Tool::from_definition(RawObject::parse(text).unwrap()).unwrap();
        for era in [Era::Legacy, Era::Modern] {
            let expected = r#"{"name":"d__t","inputSchema":{"type":"object"},"x":1.0}"#;
            assert_eq!(tool.render("d__t", era).as_str(), expected);
        }
    }

    #[test]
    fn absent_stays_absent_but_for_the_schema() {
        let tool = Tool::new("t");
        assert_eq!(
            tool.render("d__t", Era::Modern).as_str(),
            r#"{"name":"d__t","inputSchema":{"type":"object"}}"#
        );
        assert_eq!((tool.title(), tool.icons()), (None, None));
        for (schema, shown) in
            [("{}", r#"{"type":"object"}"#), (r#"{"x":1.0}"#, r#"{"x":1.0,"type":"object"}"#)]
        {
            let tool = Tool::new("t").with("inputSchema", &RawJson::parse(schema).unwrap());
            assert_eq!(
                tool.render("t", Era::Modern).as_str(),
                format!(r#"{{"name":"t","inputSchema":{shown}}}"#)
            );
        }
    }

    #[test]
    fn legacy_clients_are_spared_output_schemas_they_cannot_read() {
        for (schema, kept) in [
            (r#"{"type":"object","n":1.0}"#, true),
            (r#"{"type":"array"}"#, false),
            (r#"{"anyOf":[{"type":"object"}]}"#, false),
            (r#"{"type":["object"]}"#, false),
        ] {
            let text = format!(
                r#"{{"name":"t","outputSchema":{schema},"inputSchema":{{"type":"object"}},"x":1.0}}"#
            );
            let tool = Tool::from_definition(RawObject::parse(text.clone()).unwrap()).unwrap();
            assert_eq!(tool.render("t", Era::Modern).as_str(), text);
            let legacy = if kept {
                text
            } else {
                r#"{"name":"t","inputSchema":{"type":"object"},"x":1.0}"#.to_owned()
            };
            assert_eq!(tool.render("t", Era::Legacy).as_str(), legacy);
        }
    }
}
