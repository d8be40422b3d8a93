//! What is logged of a downstream's lists.

use std::time::Duration;

use gateway_domain::{DownstreamName, DownstreamStatus};

/// So many aliases and so many tools left out are logged one by one; the status has them all.
const LOGGED_NAMES: usize = 20;

pub(super) fn ready(status: &DownstreamStatus, took: Duration) {
    let (protocol, tools, took_ms) = (status.protocol.as_deref(), status.tools, took.as_millis());
    tracing::info!(downstream = %status.name, protocol, tools, took_ms, "downstream ready");
}

/// Names are the downstream's text, so they are written with their controls escaped.
pub(super) fn names(
    downstream: &DownstreamName,
    aliases: Vec<(String, String)>,
    dropped: Vec<(String, String)>,
) {
    for (alias, name) in aliases.iter().take(LOGGED_NAMES) {
        tracing::warn!(%downstream, alias, ?name, "offered under another name");
    }
    for (name, reason) in dropped.iter().take(LOGGED_NAMES) {
        tracing::warn!(%downstream, ?name, ?reason, "left out of the lists");
    }
    let more = [&aliases, &dropped].map(|names| names.len().saturating_sub(LOGGED_NAMES));
    if more != [0, 0] {
        tracing::warn!(%downstream, renamed = more[0], left_out = more[1], "more renamed or left out");
    }
}
