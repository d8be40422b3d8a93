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
    /// How many tools are offered to everybody.
    pub tools: usize,
    /// How many prompts are.
    pub prompts: usize,
    /// How many resources are listed, templates not among them.
    pub resources: usize,
    /// Exposed names that are not `downstream__original`, with the original name.
    pub aliases: Vec<(String, String)>,
    /// Tools that are not offered, with the reason.
    pub dropped: Vec<(String, String)>,
    /// How long it took from the start of the connection to the first list.
    pub started: Option<Duration>,
    /// Whether readiness waits for it.
    pub required: bool,
    /// How long ago the list that is shown was read; `None` if there is none.
    pub list_age: Option<Duration>,
    /// Whether that list should have been replaced by now.
    pub is_stale: bool,
    /// What became of its sessions.
    pub sessions: SessionCounts,
}

/// What clients are told of a downstream whose tools are not all on a list, or are old there. Nothing of it
/// is the downstream's or the operator's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRemark {
    /// Its configured name.
    pub downstream: DownstreamName,
    /// Whether it can be used.
    pub state: DownstreamState,
    /// Whether the tools that are listed are those of an earlier list.
    pub is_stale: bool,
    /// A word for what is wrong: `starting`, `stale`, `partial`, or the kind of a failure, which is `gateway`
    /// if it is the gateway's own.
    pub kind: &'static str,
}

/// What became of a downstream's sessions since the gateway started, or since the downstream was
/// reconfigured. Processes for stdio, MCP sessions or connections for HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Held, lent, being opened or being closed at this moment.
    pub in_use: u64,
    /// Waiting to be used again at this moment.
    pub idle: u64,
    /// Calls in them that wait for a client's answers at this moment.
    pub parked: u64,
    /// Opened so far.
    pub opened: u64,
    /// Attempts to open one that failed.
    pub failed: u64,
    /// Ended without being asked to.
    pub lost: u64,
    /// Ended to make room for another client's.
    pub evicted: u64,
    /// Calls refused because all were in use.
    pub exhausted: u64,
    /// How often the downstream was found broken, by failing to open or by failing calls.
    pub broken: u64,
    /// Signs of life that were asked for and did not come.
    pub unanswered_pings: u64,
}
