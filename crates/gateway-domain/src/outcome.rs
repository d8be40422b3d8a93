use crate::{RawJson, RawObject};

/// How a call ended (design §1). A downstream's JSON-RPC error is an answer too.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The result object as the downstream wrote it.
    Complete(RawObject),
    /// The other side needs answers first.
    InputRequired {
        /// What it asks, keyed; each value is `{method, params}`.
        requests: Option<RawObject>,
        /// Its own state, to be given back byte for byte.
        state: Option<RawJson>,
    },
    /// It goes on by itself (Tasks extension); the flat task object.
    Task(RawObject),
    /// The downstream answered with an error.
    Failed(PeerError),
}

/// A JSON-RPC error as a peer wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerError {
    /// Its code.
    pub code: i64,
    /// The whole error object: `code`, `message`, `data` and whatever else.
    pub raw: RawObject,
}

impl PeerError {
    /// Reads an error object; `None` if it has no integer `code`.
    pub fn new(raw: RawObject) -> Option<Self> {
        Some(Self { code: raw.get("code")?.to_integer()?, raw })
    }

    /// Its message, for a log.
    pub fn message(&self) -> String {
        self.raw.get_text("message").unwrap_or_default()
    }
}
