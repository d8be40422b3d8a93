use std::hash::{Hash, Hasher};

use crate::{RawJson, RawObject};

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
