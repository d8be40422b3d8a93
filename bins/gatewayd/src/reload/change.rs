//! What is different between two configurations, and what that means for what runs.

use crate::config::{Config, Downstream, InheritEnv, Reach, Security, Workflow};

/// What becomes of one downstream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// It is started, after one of its name has ended.
    Start(Downstream),
    /// Nothing that concerns its sessions: only which tools are offered, and how.
    Relist(Downstream),
    /// It is configured and not used any more.
    Stop(Downstream),
    /// It is not there any more.
    Remove(gateway_domain::DownstreamName),
}

/// Everything that is different about downstreams, by name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changes {
    pub(super) added: Vec<Change>,
    pub(super) changed: Vec<Change>,
    pub(super) removed: Vec<Change>,
    pub(super) kept: usize,
}

impl Change {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Start(downstream) | Self::Relist(downstream) | Self::Stop(downstream) => {
                downstream.name.as_str()
            }
            Self::Remove(name) => name.as_str(),
        }
    }
}

impl Changes {
    pub(super) fn between(old: &Config, new: &Config) -> Self {
        let mut changes = Self::default();
        for downstream in &new.downstreams {
            let before = old.downstreams.iter().find(|before| before.name == downstream.name);
            match before {
                Some(before) => match change(old, before, new, downstream) {
                    Some(change) => changes.changed.push(change),
                    None => changes.kept += 1,
                },
                None if downstream.enabled => changes.added.push(Change::Start(downstream.clone())),
                None => changes.added.push(Change::Relist(downstream.clone())),
            }
        }
        let is_gone =
            |before: &&Downstream| !new.downstreams.iter().any(|downstream| downstream.name == before.name);
        let gone = old.downstreams.iter().filter(is_gone);
        changes.removed = gone.map(|before| Change::Remove(before.name.clone())).collect();
        changes
    }

    pub(super) fn into_all(self) -> impl Iterator<Item = Change> {
        // What goes makes room first.
        self.removed.into_iter().chain(self.changed).chain(self.added)
    }
}

fn change(old: &Config, before: &Downstream, new: &Config, after: &Downstream) -> Option<Change> {
    let is_same = runs(before) == runs(after)
        && has_same_environment(old, new, after)
        && has_same_pages(old, new, after);
    match (before.enabled, after.enabled) {
        (true, true) if !is_same => Some(Change::Start(after.clone())),
        (false, true) => Some(Change::Start(after.clone())),
        (true, false) => Some(Change::Stop(after.clone())),
        (true, true) | (false, false) => (before != after).then(|| Change::Relist(after.clone())),
    }
}

/// The downstream without what concerns only the catalogue.
fn runs(downstream: &Downstream) -> Downstream {
    let mut downstream = downstream.clone();
    downstream.required = false;
    downstream.enabled = true;
    downstream.public_tool_list = true;
    downstream.tools.allow.clear();
    downstream.tools.deny.clear();
    downstream.tools.workflows.clear();
    downstream
}

/// A child that inherits everything inherits all but secrets, wherever in the configuration those stand.
fn has_same_environment(old: &Config, new: &Config, downstream: &Downstream) -> bool {
    let inherits_all =
        matches!(&downstream.reach, Reach::Command(command) if command.inherit_env == InheritEnv::All);
    !inherits_all || old.secret_variables == new.secret_variables
}

/// Where users of a downstream are sent to is told with each call that sends them there.
fn has_same_pages(old: &Config, new: &Config, downstream: &Downstream) -> bool {
    !downstream.reach.is_per_user() || old.public_url() == new.public_url()
}

/// Workflows that are written differently, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WorkflowChanges<'a> {
    pub(super) added: Vec<&'a str>,
    pub(super) changed: Vec<&'a str>,
    pub(super) removed: Vec<&'a str>,
}

impl<'a> WorkflowChanges<'a> {
    /// Where one is written is no part of it.
    pub(super) fn between(old: &'a [Workflow], new: &'a [Workflow]) -> Self {
        let of = |all: &'a [Workflow], name: &str| all.iter().find(|workflow| workflow.name == name);
        let mut changes = Self::default();
        for workflow in new {
            match of(old, &workflow.name) {
                None => changes.added.push(&workflow.name),
                Some(before) if before.definition != workflow.definition => {
                    changes.changed.push(&workflow.name)
                }
                Some(_) => {}
            }
        }
        let gone = old.iter().filter(|workflow| of(new, &workflow.name).is_none());
        changes.removed = gone.map(|workflow| workflow.name.as_str()).collect();
        changes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Which face the gateway shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Whose keys, hosts, origins and limits can be replaced.
    Http,
    /// Which has one client and keeps its limits.
    Stdio,
}

/// Keys that are different and stay as they are until the gateway is started again. The second value is the
/// configuration with those keys as they were.
pub(super) fn needs_restart(face: Face, old: &Config, new: Config) -> (Vec<&'static str>, Config) {
    let mut keys = Vec::new();
    let mut note = |is_other: bool, key| {
        if is_other {
            keys.push(key);
        }
    };
    note(old.names != new.names, "names");
    note(old.lists != new.lists, "lists");
    note(old.questions != new.questions, "questions");
    note(old.runs != new.runs, "runs");
    note(old.extensions != new.extensions, "extensions");
    note(old.log != new.log, "log");
    let (before, after) = (&old.security, &new.security);
    note(before.oauth != after.oauth, "oauth");
    note(before.audit != after.audit, "audit");
    note(before.rates != after.rates, "rates");
    note(before.tls != after.tls, "tls");
    note(before.telemetry != after.telemetry, "telemetry");
    let mut kept = Config {
        names: old.names,
        lists: old.lists,
        log: old.log.clone(),
        questions: old.questions.clone(),
        runs: old.runs,
        extensions: old.extensions.clone(),
        security: Security {
            oauth: before.oauth.clone(),
            audit: before.audit.clone(),
            rates: before.rates.clone(),
            tls: before.tls.clone(),
            telemetry: before.telemetry.clone(),
            ..after.clone()
        },
        ..new.clone()
    };
    match face {
        Face::Http => {
            note(old.listen != new.listen, "listen");
            note(old.admin_listen != new.admin_listen, "admin.listen");
            (kept.listen, kept.admin_listen) = (old.listen, old.admin_listen);
        }
        Face::Stdio => {
            note(old.limits != new.limits, "limits");
            note(old.shutdown_grace != new.shutdown_grace, "shutdown_grace");
            (kept.limits, kept.shutdown_grace) = (old.limits, old.shutdown_grace);
        }
    }
    (keys, kept)
}

/// Whether other texts are to be redacted.
pub(super) fn redaction(old: &Config, new: &Config) -> bool {
    old.security.redaction != new.security.redaction || old.secrets != new.secrets
}

/// Keys of the HTTP face that are different and can be replaced while it serves.
pub(super) fn edge_keys(old: &Config, new: &Config) -> Vec<&'static str> {
    let rows = [
        (old.clients != new.clients, "clients"),
        (old.security.key_header != new.security.key_header, "key_header"),
        (old.security.policy != new.security.policy, "policy"),
        (old.security.pins != new.security.pins, "pins"),
        (old.security.profiles != new.security.profiles, "profiles"),
        (old.allowed_hosts != new.allowed_hosts, "allowed_hosts"),
        (old.allowed_origins != new.allowed_origins, "allowed_origins"),
        (old.allow_unauthenticated != new.allow_unauthenticated, "allow_unauthenticated"),
        (old.limits != new.limits, "limits"),
        (old.http2 != new.http2, "http2"),
        (old.cancel_on_disconnect != new.cancel_on_disconnect, "cancel_on_disconnect"),
        (old.shutdown_grace != new.shutdown_grace, "shutdown_grace"),
    ];
    rows.into_iter().filter(|(is_other, _)| *is_other).map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests;
