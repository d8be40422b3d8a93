use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use gateway_aggregate::FitRules;
use gateway_domain::DownstreamName;
use wildmatch::WildMatch;

use crate::Signal;

/// Limits of the catalogue. The defaults are those of security.md §3.3 and requirements.md §7b.
#[derive(Debug, Clone)]
pub struct CatalogConfig {
    /// What exposed names must look like, and how many tools of what size a downstream may have.
    pub rules: FitRules,
    /// Tools on a page. Default 100.
    pub page_size: usize,
    /// How many pages of one downstream's list are read. Default 100.
    pub max_pages: usize,
    /// How long whoever asks for a list waits at most: for first lists while no downstream is ready, for
    /// flushed ones, and for those that are not for everybody. Default 5 s.
    pub budget: Duration,
    /// A first list is answered when no downstream has become ready for this long. Default 500 ms.
    pub settle: Duration,
    /// How long a list is fresh if nothing announces a change (G-4), and the most that a downstream may say
    /// of its own. Default 900 s.
    pub ttl: Duration,
    /// How long announcements of changes are gathered before a list is read again; it grows while a
    /// downstream announces one after the other. Default 50 ms.
    pub gather: Duration,
    /// How soon a downstream that failed, or gave an empty list, is tried again, growing to the second.
    /// Default 1 s to 15 s.
    pub retry: (Duration, Duration),
    /// Whether a list that lacks a downstream's tools is an error that names the downstream, instead of a
    /// partial list (G-W6). Default false.
    pub strict: bool,
    /// How long the store of lists may take for one operation before it is done without. Default 500 ms.
    pub store_timeout: Duration,
    /// How many lists that are not for everybody are remembered to route calls by: one for each session and
    /// downstream (G-10). Default 1,000.
    pub private_lists: usize,
    /// How long such a list is remembered. Default 300 s.
    pub private_ttl: Duration,
    /// For how many classes of callers who may not see everything their lists are kept, so that they need not be
    /// worked out for each request. Default 64.
    pub filtered_classes: usize,
    /// How many URIs that callers were shown outside shared lists are remembered to route reads by.
    /// Default 10,000.
    pub links: usize,
    /// How many downstreams are asked at the same time for a resource that nobody is known to have. Default 8.
    pub asked_at_once: usize,
    /// How long finding out who watches a resource may take, and having that watch it. Default 10 s.
    pub subscribe_timeout: Duration,
    /// The most bytes that the instructions of all downstreams have together. Default 16 KiB.
    pub instructions_bytes: usize,
    /// The extensions that are offered to clients if a downstream has them. Default MCP Apps and Tasks.
    pub extensions: Vec<String>,
    /// The clock that stored lists are dated by, which processes that share a store have in common.
    /// Default [`SystemTime::now`].
    pub wall_clock: fn() -> SystemTime,
}

impl Default for CatalogConfig {
    fn default() -> Self {
        Self {
            rules: FitRules::default(),
            page_size: 100,
            max_pages: 100,
            budget: Duration::from_secs(5),
            settle: Duration::from_millis(500),
            ttl: Duration::from_secs(900),
            gather: Duration::from_millis(50),
            retry: (Duration::from_secs(1), Duration::from_secs(15)),
            strict: false,
            store_timeout: Duration::from_millis(500),
            private_lists: 1_000,
            private_ttl: Duration::from_secs(300),
            filtered_classes: 64,
            links: 10_000,
            asked_at_once: 8,
            subscribe_timeout: Duration::from_secs(10),
            instructions_bytes: 16 * 1024,
            extensions: ["io.modelcontextprotocol/ui", "io.modelcontextprotocol/tasks"]
                .map(Into::into)
                .into(),
            wall_clock: SystemTime::now,
        }
    }
}

/// A downstream as the catalogue sees it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name.
    pub name: DownstreamName,
    /// What identifies where its list comes from, without secrets. A list that was read from elsewhere is
    /// never shown as its own (G-W13).
    pub address: String,
    /// Whether its list is the same for every caller. If not it is neither cached nor shared: each caller's
    /// list is read in the caller's own session (G-10).
    pub is_public: bool,
    /// Whether it is proved to who calls it, so that the gateway itself may have nothing to be let in with. Counts where
    /// the list is not public.
    pub is_per_caller: bool,
    /// Which of its tools are offered.
    pub filter: ToolFilter,
    /// Whether readiness waits for it.
    pub required: bool,
    /// Whether it is used at all; otherwise it only shows in the status.
    pub enabled: bool,
    /// Whether calls to it mirror arguments in headers, so that a tool whose annotations cannot be
    /// honoured must be left out (protocol.md §5.3).
    pub mirrors_headers: bool,
    /// How long its whole list may be waited for, once there is a session.
    pub list_timeout: Duration,
    /// Tells of changes; the downstream's transport has it as its observer.
    pub signal: Arc<Signal>,
}

/// Which tools of a downstream are offered, and to whom: patterns with `*` and `?` over its own names,
/// case-sensitive. Deny wins; what is kept for workflows need not be allowed; no allow patterns means all.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    allow: Vec<WildMatch>,
    deny: Vec<WildMatch>,
    workflows: Vec<WildMatch>,
}

/// Who can use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Clients and steps of workflows: clients are shown it.
    Shown,
    /// Steps of workflows alone: for clients there is no such tool (C-79).
    Hidden,
}

impl ToolFilter {
    /// A filter of these patterns.
    pub fn new(allow: &[String], deny: &[String]) -> Self {
        Self { allow: compile(allow), deny: compile(deny), workflows: Vec::new() }
    }

    /// The same, with tools that are kept for workflows.
    #[must_use]
    pub fn with_workflows(self, workflows: &[String]) -> Self {
        Self { workflows: compile(workflows), ..self }
    }

    /// Who can use the tool of this name; `None`: nobody.
    pub fn exposure(&self, name: &str) -> Option<Exposure> {
        let any = |patterns: &[WildMatch]| patterns.iter().any(|pattern| pattern.matches(name));
        if any(&self.deny) {
            return None;
        }
        if any(&self.workflows) {
            return Some(Exposure::Hidden);
        }
        (self.allow.is_empty() || any(&self.allow)).then_some(Exposure::Shown)
    }

    /// Whether clients are shown the tool of this name.
    pub(crate) fn is_shown(&self, name: &str) -> bool {
        self.exposure(name) == Some(Exposure::Shown)
    }

    /// Whether anybody is offered the tool of this name.
    pub fn admits(&self, name: &str) -> bool {
        self.exposure(name).is_some()
    }
}

fn compile(patterns: &[String]) -> Vec<WildMatch> {
    patterns.iter().map(|pattern| WildMatch::new(pattern)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_for_workflows_is_for_no_client_and_deny_wins() {
        let check = |[allow, deny, workflows]: [&[&str]; 3], name: &str, expected| {
            let own = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
            let filter = ToolFilter::new(&own(allow), &own(deny)).with_workflows(&own(workflows));
            assert_eq!(filter.exposure(name), expected, "{allow:?} {deny:?} {workflows:?} {name}");
        };
        check([&[], &["drop"], &["drop"]], "drop", None);
        check([&["*"], &["drop*"], &["*"]], "drop_all", None);
        check([&["read"], &[], &["write"]], "other", None);
        check([&[], &[], &["Write"]], "write", Some(Exposure::Shown));
        check([&["*"], &[], &["write"]], "write", Some(Exposure::Hidden));
        check([&["read"], &[], &["write*"]], "write_all", Some(Exposure::Hidden));
        check([&["write"], &[], &["write"]], "write", Some(Exposure::Hidden));
        check([&[], &[], &["*"]], "anything", Some(Exposure::Hidden));
    }

    #[test]
    fn deny_wins_and_no_allow_means_all() {
        let check = |allow: &[&str], deny: &[&str], name: &str, expected: bool| {
            let own = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
            assert_eq!(
                ToolFilter::new(&own(allow), &own(deny)).admits(name),
                expected,
                "{allow:?} {deny:?} {name}"
            );
        };
        check(&[], &[], "query", true);
        check(&["query", "fetch_*"], &["fetch_secret"], "query", true);
        check(&["query", "fetch_*"], &["fetch_secret"], "fetch_page", true);
        check(&["query", "fetch_*"], &["fetch_secret"], "fetch_secret", false);
        check(&["query", "fetch_*"], &["fetch_secret"], "delete", false);
        check(&["Query"], &[], "query", false);
        check(&[], &["*"], "query", false);
        check(&["a.b"], &[], "axb", false);
    }
}
