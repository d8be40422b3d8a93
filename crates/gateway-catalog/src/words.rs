use std::sync::Arc;

use gateway_aggregate::{Effort, mark_uri};
use gateway_domain::{Caller, DownstreamName, Outcome, PeerError, RawJson, RawObject};

use crate::{
    shared::Shared,
    uris::{self, TRACE},
};

/// Puts what a downstream said into the words of a client on `/mcp` or a profile:
/// URIs that would lead elsewhere are marked.
pub(crate) struct Words {
    shared: Arc<Shared>,
    caller: Caller,
    downstream: DownstreamName,
    said: Said,
}

/// What it was said about.
pub(crate) enum Said {
    Tool,
    Prompt,
    Resource {
        /// The URI as the client knows it.
        asked: Arc<str>,
        own: Arc<str>,
    },
}

impl Words {
    pub(crate) fn new(shared: Arc<Shared>, caller: Caller, downstream: DownstreamName, said: Said) -> Self {
        Self { shared, caller, downstream, said }
    }

    pub(crate) fn put(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Complete(result) => Outcome::Complete(self.result(result)),
            Outcome::Failed(error) => Outcome::Failed(self.error(error)),
            other => other,
        }
    }

    /// `notifications/resources/updated`. It may be about a resource below the one that is watched, which clients
    /// recognise by what both begin with: below a marked one all are marked.
    pub(crate) fn updated(&self, params: RawObject) -> RawObject {
        let is_marked = matches!(&self.said, Said::Resource { asked, own } if asked != own);
        let mut effort = Effort::default();
        let mut words = |uri: &str| match self.uri(uri, &mut effort) {
            None if is_marked => mark_uri(self.downstream.as_str(), uri),
            shown => shown,
        };
        let changed = uris::in_member(&params, "uri", &mut words);
        parsed(changed, params)
    }

    fn result(&self, result: RawObject) -> RawObject {
        // Of one result with all its links, however many.
        let mut effort = Effort::default();
        let words = &mut |uri: &str| self.uri(uri, &mut effort);
        let changed = match self.said {
            Said::Resource { .. } => uris::in_contents(&result, words),
            // Most results have nothing to do with resources, and are not looked into.
            _ if !result.raw().mentions(TRACE) => None,
            Said::Tool => uris::in_tool_result(&result, words),
            Said::Prompt => uris::in_prompt_result(&result, words),
        };
        parsed(changed, result)
    }

    /// That a resource is not found is said with its URI.
    fn error(&self, error: PeerError) -> PeerError {
        let Said::Resource { asked, own } = &self.said else { return error };
        let data = error.raw.get_object("data").filter(|_| asked != own);
        let mut words = |uri: &str| self.uri(uri, &mut Effort::default());
        let data = data.and_then(|data| uris::in_member(&data, "uri", &mut words));
        let changed = data.map(|data| error.raw.edit().set("data", data.as_bytes()).finish());
        PeerError { raw: parsed(changed, error.raw), ..error }
    }

    fn uri(&self, uri: &str, effort: &mut Effort) -> Option<String> {
        if let Said::Resource { asked, own } = &self.said
            && *uri == **own
        {
            return (asked != own).then(|| asked.to_string());
        }
        self.shared.shown_uri(&self.caller, &self.downstream, uri, effort)
    }
}

/// `changed`, which is an object with other values in it, or what was before.
fn parsed(changed: Option<RawJson>, before: RawObject) -> RawObject {
    changed.and_then(|changed| RawObject::try_from(changed).ok()).unwrap_or(before)
}
