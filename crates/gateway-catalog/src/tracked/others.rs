//! The lists of a downstream other than that of its tools. Each stands by itself: one that cannot be read stays as
//! it was, and the others are as they are.

use std::time::Duration;

use gateway_domain::{DownstreamState, Error, ListKind, RawObject};
use tokio::time::Instant;

use super::{Listed, Tracked, log};
use crate::{
    CatalogConfig,
    item::{FittedItems, Others, fit_items},
    walk::{Hints, Walk, noun},
};

/// What is known of those lists.
#[derive(Default, Clone)]
pub(super) struct OtherLists {
    pub(super) lists: Others,
    /// Under another name or left out, by list.
    aliases: [Vec<(String, String)>; 3],
    dropped: [Vec<(String, String)>; 3],
    /// Why they are not all whole and as reported.
    pub(super) reason: Option<String>,
    /// What was said of each, and when; `None` if it could not be read.
    said: [Option<(Hints, Instant)>; 3],
}

impl Tracked {
    /// Takes lists that were just read. Whether all could be.
    pub(crate) fn accept_others(
        &self,
        read: Vec<(ListKind, Result<Walk, Error>)>,
        config: &CatalogConfig,
    ) -> bool {
        let now = Instant::now();
        let (mut reasons, mut are_whole) = (Vec::new(), true);
        let mut listed = self.state();
        let mut others = listed.others.clone();
        drop(listed);
        for (list, walked) in read {
            let why = match walked {
                Ok(walked) => {
                    let (why, said) = (walked.reason(), (walked.hints(), now));
                    let fitted = fit_items(&self.source.name, list, walked.into_entries(), &config.rules);
                    others.take(list, fitted, Some(said));
                    why
                }
                Err(error) => {
                    others.said[place(list)] = None;
                    are_whole = false;
                    Some(told(&error))
                }
            };
            reasons.extend(why.map(|why| format!("{}: {why}", noun(list))));
        }
        others.reason = Some(reasons.join("; ")).filter(|reason| !reason.is_empty());
        listed = self.state();
        listed.show_others(others);
        are_whole
    }

    /// Shows lists from the store.
    pub(crate) fn accept_cached_others(
        &self,
        lists: [(ListKind, Vec<RawObject>); 3],
        config: &CatalogConfig,
    ) {
        let mut others = OtherLists::default();
        for (list, definitions) in lists {
            others.take(list, fit_items(&self.source.name, list, definitions, &config.rules), None);
        }
        self.state().show_others(others);
    }

    /// Whether it may have a list of this kind that could not be read.
    pub(crate) fn is_unread(&self, list: ListKind) -> bool {
        let listed = self.state();
        let capability = crate::walk::capability(list);
        let has_it = listed.peer.as_ref().is_none_or(|peer| peer.capabilities.contains(capability));
        has_it && listed.others.said[place(list)].is_none()
    }

    /// Whether all that it offers stands on lists that were read, the same for everybody.
    pub(crate) fn is_known_whole(&self) -> bool {
        let listed = self.state();
        let has_peer_without_resources =
            listed.peer.as_ref().is_some_and(|peer| !peer.capabilities.contains("resources"));
        let is_listed = listed.is_known && has_peer_without_resources;
        drop(listed);
        self.source.is_public && is_listed && !self.is_unread(ListKind::Prompts)
    }

    /// For how long a list stays as it is shown, as far as the downstream says, and whether that is for one
    /// caller only. `None` if it has no such list.
    pub(crate) fn hints(&self, list: ListKind, now: Instant) -> Option<(Duration, bool)> {
        let listed = self.state();
        let capability = crate::walk::capability(list);
        let has_it = listed.peer.as_ref().is_none_or(|peer| peer.capabilities.contains(capability));
        if !has_it {
            return None;
        }
        let said = match list {
            ListKind::Tools => listed.read_at.map(|read_at| (listed.said, read_at)),
            list => listed.others.said[place(list)],
        };
        let (hints, read_at) = said.unwrap_or_else(|| (Hints::default(), now));
        let is_old = listed.failure.is_some() || listed.outdated;
        let ttl = hints.ttl.filter(|_| !is_old).unwrap_or_default();
        let left = ttl.saturating_sub(now.saturating_duration_since(read_at));
        Some((left, hints.is_private))
    }
}

impl OtherLists {
    fn take(&mut self, list: ListKind, fitted: FittedItems, said: Option<(Hints, Instant)>) {
        let at = place(list);
        (self.aliases[at], self.dropped[at], self.said[at]) = (fitted.aliases, fitted.dropped, said);
        self.lists.set(list, fitted.items.into());
    }

    pub(super) fn aliases(&self) -> impl Iterator<Item = (String, String)> {
        self.aliases.iter().flatten().cloned()
    }

    pub(super) fn dropped(&self) -> impl Iterator<Item = (String, String)> {
        self.dropped.iter().flatten().cloned()
    }

    /// As of a downstream that is listed under the same name and address again.
    pub(super) fn inherited(&self) -> Self {
        Self { said: [None; 3], ..self.clone() }
    }
}

impl Listed {
    fn show_others(&mut self, others: OtherLists) {
        (self.taken, self.screened) = (self.taken + 1, None);
        let before = std::mem::replace(&mut self.others, others);
        let now = &self.others;
        self.status.prompts = now.lists.of(ListKind::Prompts).len();
        self.status.resources = now.lists.of(ListKind::Resources).len();
        if (&before.aliases, &before.dropped) != (&now.aliases, &now.dropped) {
            log::names(&self.status.name, now.aliases().collect(), now.dropped().collect());
        }
        if before.reason != now.reason
            && let Some(reason) = &now.reason
        {
            tracing::warn!(downstream = %self.status.name, reason, "lists degraded");
        }
        // Of one whose tools could not be listed that is what there is to say.
        if self.failure.is_none() && self.is_usable() {
            (self.status.state, self.status.reason) = self.verdict();
        }
    }

    /// The state of a downstream that can be used, and what is wrong with its lists.
    pub(super) fn verdict(&self) -> (DownstreamState, Option<String>) {
        let reasons: Vec<_> =
            [&self.tools_reason, &self.others.reason].into_iter().flatten().cloned().collect();
        match reasons.is_empty() {
            true => (DownstreamState::Ready, None),
            false => (DownstreamState::Degraded, Some(reasons.join("; "))),
        }
    }
}

fn place(list: ListKind) -> usize {
    Others::KINDS.iter().position(|known| *known == list).unwrap_or_default()
}

/// The downstream's name stands beside it wherever it is shown.
fn told(error: &Error) -> String {
    match error {
        Error::Downstream(error) => error.fault.to_string(),
        error => error.to_string(),
    }
}
