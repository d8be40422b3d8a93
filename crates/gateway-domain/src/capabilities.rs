use std::hash::{Hash, Hasher};

use crate::{RawJson, RawObject};

/// The extension of tasks that go on by themselves (protocol.md §15.2).
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What a client can do, as it said: `initialize.params.capabilities` or the modern per-request member
/// (protocol.md §9.1). The bytes are kept, so that settings this crate does not know are carried too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCapabilities {
    raw: RawObject,
}

impl ClientCapabilities {
    /// A client that can do nothing beyond the core.
    pub fn none() -> Self {
        Self { raw: RawObject::empty() }
    }

    /// The declared object.
    pub fn raw(&self) -> &RawObject {
        &self.raw
    }

    /// Whether forms can be shown: `elicitation` with `form`, or empty, which means form only.
    pub fn elicits_forms(&self) -> bool {
        self.raw.get_object("elicitation").is_some_and(|modes| modes.is_empty() || modes.contains("form"))
    }

    /// Whether a user can be sent to a URL.
    pub fn elicits_urls(&self) -> bool {
        self.raw.get_object("elicitation").is_some_and(|modes| modes.contains("url"))
    }

    /// Whether the client can ask its model.
    pub fn samples(&self) -> bool {
        self.raw.contains("sampling")
    }

    /// Whether the client can say which folders it works in.
    pub fn has_roots(&self) -> bool {
        self.raw.contains("roots")
    }

    /// The settings of an extension the client declared.
    pub fn extension(&self, id: &str) -> Option<RawJson> {
        self.raw.get_object("extensions")?.get(id)
    }
}

impl ClientCapabilities {
    /// Whether sampling may offer tools to the model.
    pub fn samples_with_tools(&self) -> bool {
        self.raw.get_object("sampling").is_some_and(|sampling| sampling.contains("tools"))
    }

    /// The same of a client that cannot be asked anything.
    #[must_use]
    pub fn unasked(&self) -> Self {
        let asking = ["roots", "sampling", "elicitation"];
        if !asking.iter().any(|member| self.raw.contains(member)) {
            return self.clone();
        }
        let edit = asking.iter().fold(self.raw.edit(), |edit, member| edit.remove(member));
        RawObject::try_from(edit.finish()).map_or_else(|_| Self::none(), Self::from)
    }

    /// Whether anything can be asked of the client.
    pub fn is_interactive(&self) -> bool {
        self.elicits_forms() || self.elicits_urls() || self.samples() || self.has_roots()
    }

    /// The same in one spelling, without what cannot be carried: only what this crate knows, and of the
    /// extensions those in `extensions`, settings as they came. Clients that can do the same have equal ones,
    /// so that they can be keys.
    #[must_use]
    pub fn canonical(&self, extensions: &[String]) -> Self {
        // What most modern requests declare.
        if self.raw.is_empty() {
            return Self::none();
        }
        let mut members = Vec::new();
        if let Some(roots) = self.raw.get_object("roots") {
            let changes = roots.get("listChanged").and_then(|changes| changes.to_bool()) == Some(true);
            members.push(format!(r#""roots":{}"#, if changes { r#"{"listChanged":true}"# } else { "{}" }));
        }
        if let Some(sampling) = self.raw.get_object("sampling") {
            let known = ["context", "tools"].into_iter().filter(|member| sampling.contains(member));
            members.push(format!(r#""sampling":{}"#, empties(known)));
        }
        let modes = [("form", self.elicits_forms()), ("url", self.elicits_urls())];
        let mut modes = modes.into_iter().filter(|(_, can)| *can).map(|(mode, _)| mode).peekable();
        if modes.peek().is_some() {
            members.push(format!(r#""elicitation":{}"#, empties(modes)));
        }
        let allowed = extensions.iter().filter_map(|id| Some((id, self.extension(id)?)));
        let allowed: Vec<_> = allowed.map(|(id, value)| format!("{}:{value}", RawJson::string(id))).collect();
        if !allowed.is_empty() {
            members.push(format!(r#""extensions":{{{}}}"#, allowed.join(",")));
        }
        let text = format!("{{{}}}", members.join(","));
        // Made of valid parts; a name that is repeated in `extensions` makes it invalid.
        RawObject::parse(text).map_or_else(|_| Self::none(), Self::from)
    }
}

/// `{"a":{},"b":{}}`.
fn empties<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let members: Vec<_> = names.map(|name| format!(r#""{name}":{{}}"#)).collect();
    format!("{{{}}}", members.join(","))
}

impl From<RawObject> for ClientCapabilities {
    fn from(raw: RawObject) -> Self {
        Self { raw }
    }
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self::none()
    }
}

impl Hash for ClientCapabilities {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.as_str().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_abilities_have_one_spelling() {
        let ui = "io.modelcontextprotocol/ui".to_owned();
        for (given, canonical) in [
            ("{}", "{}"),
            (r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#),
            (r#"{"elicitation":{"url":{},"form":{"x":1}}}"#, r#"{"elicitation":{"form":{},"url":{}}}"#),
            (r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"url":{}}}"#),
            (r#"{"sampling":{"tools":{"y":1},"z":2},"roots":{}}"#, r#"{"roots":{},"sampling":{"tools":{}}}"#),
            (
                r#"{"roots":{"listChanged":true},"experimental":{"a":{}}}"#,
                r#"{"roots":{"listChanged":true}}"#,
            ),
            (
                r#"{"extensions":{"a.b/c":{},"io.modelcontextprotocol/ui":{"mimeTypes":[ "t" ]}}}"#,
                r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[ "t" ]}}}"#,
            ),
        ] {
            let given = ClientCapabilities::from(RawObject::parse(given).unwrap());
            let made = given.canonical(std::slice::from_ref(&ui));
            assert_eq!(made.raw().as_str(), canonical);
            assert_eq!(made.canonical(std::slice::from_ref(&ui)), made);
        }
    }
}
