use std::{fmt, time::Duration};

use crate::{DownstreamName, RawJson};

/// Whether a downstream can be used (design §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DownstreamState {
    /// Being started or reached for the first time.
    Starting,
    /// Connected and listed.
    Ready,
    /// Usable in part: the last list is old, or cut at a limit.
    Degraded,
    /// Cannot be used; the reason says why.
    Broken,
    /// Switched off in the configuration.
    Disabled,
}

impl DownstreamState {
    /// The word used in `check`, metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Broken => "broken",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for DownstreamState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an operator wants to know about one downstream (design §11, `check --json`).
#[derive(Debug, Clone)]
pub struct DownstreamStatus {
    /// Its configured name.
    pub name: DownstreamName,
    /// Whether it can be used.
    pub state: DownstreamState,
    /// Why it is in that state, for an operator: may name commands and addresses, never secrets.
    pub reason: Option<String>,
    /// The protocol revision spoken for the last list.
    pub protocol: Option<String>,
    /// What it says about itself (`serverInfo`), for display only.
    pub server: Option<RawJson>,
    /// How many tools are offered.
    pub tools: usize,
    /// Exposed names that are not `downstream__original`, with the original name.
    pub aliases: Vec<(String, String)>,
    /// Tools that are not offered, with the reason.
    pub dropped: Vec<(String, String)>,
    /// How long it took from the start of the connection to the first list.
    pub started: Option<Duration>,
    /// Whether readiness waits for it.
    pub required: bool,
}
