//! What a fake server offers, in either transport.

use crate::{fixtures, transcript::Recording};

/// The modern revision the fakes speak.
pub const MODERN: &str = "2026-07-28";

/// The legacy revisions the fakes speak, oldest first.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Log levels, the least first.
pub(crate) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Which of the two protocol eras a fake serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Era {
    /// `initialize` and sessions only.
    Legacy,
    /// Self-contained requests of 2026-07-28 only.
    Modern,
    /// Both, told apart by each request.
    #[default]
    Dual,
}

/// How `tools/list` is cut into pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paging {
    /// Everything on one page.
    #[default]
    Whole,
    /// This many tools a page.
    Size(usize),
    /// The first page again and again, always with the same cursor.
    SameCursor,
    /// Ever new pages of ten ever new tools, each with a new cursor.
    Endless,
}

/// How `server/discover` is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// With an error of this code.
    Error(i64),
    /// Not answered at all.
    Silent,
    /// The process exits (HTTP: the connection is dropped).
    Exit,
    /// Something that is not JSON.
    Garbage,
    /// An empty result: JSON, but no `DiscoverResult`.
    Empty,
}

/// What a fake server offers; shared by the stdio and the HTTP fake.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The eras it serves.
    pub era: Era,
    /// The newest legacy revision it agrees to; it also agrees to older ones.
    pub protocol: String,
    /// Raw tool definitions, listed byte for byte and in this order. Tools without a behaviour of their own
    /// act like `echo`.
    pub tools: Vec<String>,
    /// How `tools/list` is cut.
    pub paging: Paging,
    /// How `server/discover` is refused. `None`: answered (legacy era: -32601).
    pub probe: Option<Probe>,
    /// A text that appears in every call's result, progress and log line.
    pub marker: Option<String>,
    /// Calls to this tool are never answered.
    pub hang_on: Option<String>,
    /// A call to this tool ends the process (HTTP: drops the connection).
    pub crash_on: Option<String>,
    /// So many progress notifications before every answer to a call that carries a token.
    pub progress_always: u64,
    /// Legacy: ask the client for its roots once it is initialized.
    pub request_roots: bool,
    /// `ttlMs` of modern lists.
    pub ttl_ms: u64,
    /// The whole protocol is offered: prompts, resources, completion, questions, tasks.
    pub whole: bool,
    /// A file that makes several processes one server: what happens to one happens to all.
    pub together: Option<String>,
    /// Where what it takes, and what it asks, is recorded.
    pub record: Recording,
}

impl Profile {
    /// A server of this era with everything the protocol has.
    pub fn whole(era: Era) -> Self {
        Self { era, whole: true, tools: fixtures::whole_tools(era), ..Self::default() }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            era: Era::Dual,
            protocol: LEGACY[LEGACY.len() - 1].to_owned(),
            tools: fixtures::tools(fixtures::DEFAULT_TOOLS.len()),
            paging: Paging::Whole,
            probe: None,
            marker: None,
            hang_on: None,
            crash_on: None,
            progress_always: 0,
            request_roots: false,
            ttl_ms: 0,
            whole: false,
            together: None,
            record: Recording::Off,
        }
    }
}
