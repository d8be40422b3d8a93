//! What is logged of a downstream's lists.

use std::time::Duration;

use gateway_domain::DownstreamStatus;

/// So many aliases and so many tools left out are logged one by one; the status has them all.
const LOGGED_NAMES: usize = 20;

pub(super) fn ready(status: &DownstreamStatus, took: Duration) {
    let (protocol, tools, took_ms) = (status.protocol.as_deref(), status.tools, took.as_millis());
    tracing::info!(downstream = %status.name, protocol, tools, took_ms, "downstream ready");
}

/// Names are the downstream's text, so they are written with their controls escaped.
pub(super) fn names(status: &DownstreamStatus) {
    let downstream = &status.name;
    for (alias, name) in status.aliases.iter().take(LOGGED_NAMES) {
        tracing::warn!(%downstream, alias, ?name, "tool offered under another name");
    }
    for (name, reason) in status.dropped.iter().take(LOGGED_NAMES) {
        tracing::warn!(%downstream, ?name, ?reason, "tool left out");
    }
    let more = [&status.aliases, &status.dropped].map(|names| names.len().saturating_sub(LOGGED_NAMES));
    if more != [0, 0] {
        tracing::warn!(%downstream, renamed = more[0], left_out = more[1], "more tools renamed or left out");
    }
}
