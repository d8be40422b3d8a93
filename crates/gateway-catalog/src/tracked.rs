use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gateway_domain::{DownstreamState, DownstreamStatus, ListKind, ListRemark, PeerInfo, SessionCounts};
use tokio::{sync::Notify, time::Instant};

use crate::{
    CatalogConfig, Screen, Source,
    item::Others,
    offer::{Offer, OfferedTools, Seeker},
    screen,
    tracked::{demand::Demands, failure::Failure, others::OtherLists},
    walk::Hints,
    warnings::Warnings,
};

mod demand;
mod failure;
mod log;
mod others;

pub(crate) use failure::Stage;

/// Lists that hold for at least this long are read again by themselves; the others when somebody asks.
const READ_BY_ITSELF: Duration = Duration::from_secs(60);

/// A downstream and what was last read from it.
pub(crate) struct Tracked {
    pub(crate) source: Source,
    state: Mutex<Listed>,
    /// Wakes the refresh that somebody wants.
    wake: Notify,
    /// Whether the first attempt has ended, well or not, and its tools are in the snapshot.
    settled: AtomicBool,
    /// Whether the first list may come from the store.
    pub(crate) may_begin_cached: bool,
}

struct Listed {
    status: DownstreamStatus,
    failure: Option<Failure>,
    /// Whether its supervision has said that it is broken, and not yet that it is well again.
    is_found_broken: bool,
    /// Whether a list has been read since this source is here, or found in the store, and can be seen: what is
    /// not on it is no tool of the downstream.
    is_known: bool,
    /// The last list that could be read; kept while the downstream fails.
    tools: OfferedTools,
    /// The URIs of views that those have.
    views: Arc<[String]>,
    /// What is wrong with that list.
    tools_reason: Option<String>,
    /// What the downstream said of it.
    said: Hints,
    /// Its other lists.
    others: OtherLists,
    /// What the downstream said of itself when it was last connected to.
    peer: Option<PeerInfo>,
    /// When that list was read.
    read_at: Option<Instant>,
    /// How long it is fresh after that.
    ttl: Duration,
    /// When the downstream was last asked for one, whatever came of it.
    asked_at: Option<Instant>,
    /// Whether there is reason to believe that it has changed since.
    outdated: bool,
    /// Whether an empty list would be no surprise: a change was announced, or the list flushed.
    empty_is_news: bool,
    empty: Option<Empty>,
    demands: Demands,
    warnings: Warnings,
    /// Counts the lists that were taken.
    taken: u64,
    /// What is left of them, and the number of the verdicts that it was left by.
    screened: Option<(u64, Known)>,
}

/// A downstream whose last pulls gave no tools.
#[derive(Clone, Copy)]
struct Empty {
    since: Instant,
    /// From when on somebody who asks for the list has it read again.
    again: Instant,
    delay: Duration,
}

/// A list that was just read.
pub(crate) struct Read<'a> {
    pub(crate) peer: &'a PeerInfo,
    pub(crate) offer: Offer,
    /// Why the list is not whole or not as reported.
    pub(crate) reason: Option<String>,
    pub(crate) ttl: Duration,
    pub(crate) said: Hints,
    /// Whether the downstream gave no tools at all.
    pub(crate) is_empty: bool,
    pub(crate) took: Duration,
}

/// What a downstream offers, as far as it is known.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) tools: OfferedTools,
    pub(crate) views: Arc<[String]>,
    pub(crate) others: Others,
}

impl Tracked {
    pub(crate) fn new(source: Source) -> Self {
        let (state, reason) = match source.enabled {
            true => (DownstreamState::Starting, None),
            false => (DownstreamState::Disabled, Some("`enabled` is false in its configuration".to_owned())),
        };
        let status = DownstreamStatus {
            name: source.name.clone(),
            state,
            reason,
            protocol: None,
            server: None,
            tools: 0,
            prompts: 0,
            resources: 0,
            aliases: Vec::new(),
            dropped: Vec::new(),
            started: None,
            required: source.required,
            list_age: None,
            is_stale: false,
            sessions: SessionCounts::default(),
        };
        let settled = AtomicBool::new(!source.enabled);
        let listed = Listed {
            status,
            failure: None,
            is_found_broken: false,
            is_known: false,
            tools: OfferedTools::default(),
            views: Arc::default(),
            tools_reason: None,
            said: Hints::default(),
            others: OtherLists::default(),
            peer: None,
            read_at: None,
            ttl: Duration::ZERO,
            asked_at: None,
            outdated: false,
            empty_is_news: false,
            empty: None,
            demands: Demands::default(),
            warnings: Warnings::default(),
            taken: 0,
            screened: None,
        };
        Self { source, state: Mutex::new(listed), wake: Notify::new(), settled, may_begin_cached: true }
    }

    /// What comes after `old` under its name. From the same address its list is shown until this one's is
    /// read, as far as this one's filter admits it; from another it is not this one's list (G-W13).
    pub(crate) fn after(old: &Self, source: Source, config: &CatalogConfig) -> Self {
        let both = |is: fn(&Source) -> bool| is(&old.source) && is(&source);
        let same = old.source.address == source.address && both(|s| s.is_public) && both(|s| s.enabled);
        let mut new = Self::new(source);
        let (tools, read_at, ttl, others, peer) = {
            let old = old.state();
            let read_at = old.read_at.filter(|_| same);
            (old.tools.clone(), read_at, old.ttl, old.others.inherited(), old.peer.clone())
        };
        new.inherit_health(old, read_at.is_some());
        if !same {
            return new;
        }
        let admitted = tools.of(Seeker::Step).map(|offered| offered.tool.clone());
        let admitted = admitted.filter(|tool| new.source.filter.admits(tool.original())).collect();
        let era = peer.as_ref().map(|peer| peer.era);
        let offer = Offer::of(&new.source, era, admitted, &config.rules);
        new.may_begin_cached = false;
        if read_at.is_some() {
            {
                let mut listed = new.state();
                listed.show(offer);
                (listed.read_at, listed.ttl, listed.outdated) = (read_at, ttl, true);
                (listed.status.prompts, listed.status.resources) =
                    [ListKind::Prompts, ListKind::Resources].map(|list| others.lists.of(list).len()).into();
                (listed.others, listed.peer) = (others, peer);
            }
            new.settle();
        }
        new
    }

    /// One that has the same signal has the same sessions, and is as well as `old` was; what is listed for
    /// others than before is not known to be.
    fn inherit_health(&self, old: &Self, keeps_list: bool) {
        let (before, after) = (&old.source, &self.source);
        let same_sessions = Arc::ptr_eq(&before.signal, &after.signal) && before.enabled && after.enabled;
        if !same_sessions || before.is_public != after.is_public {
            return;
        }
        let (status, failure, is_found_broken) = {
            let old = old.state();
            (old.status.clone(), old.failure.clone(), old.is_found_broken)
        };
        let state = match status.state {
            // It was usable by the list that goes.
            DownstreamState::Degraded if failure.is_some() && !keeps_list => DownstreamState::Broken,
            state => state,
        };
        let mut listed = self.state();
        (listed.failure, listed.is_found_broken) = (failure, is_found_broken);
        let (prompts, resources) = (0, 0);
        listed.status = DownstreamStatus { required: after.required, state, prompts, resources, ..status };
        listed.show(Offer::default());
    }

    pub(crate) fn status(&self, now: Instant) -> DownstreamStatus {
        let listed = self.state();
        let list_age = listed.read_at.map(|read_at| now.saturating_duration_since(read_at));
        let mut status = listed.status.clone();
        status.aliases.extend(listed.others.aliases());
        status.dropped.extend(listed.others.dropped());
        DownstreamStatus { list_age, is_stale: listed.is_stale(now), ..status }
    }

    /// What clients are told, if it is not well.
    pub(crate) fn remark(&self, now: Instant) -> Option<ListRemark> {
        use DownstreamState::{Broken, Degraded, Disabled, Ready, Starting};
        let listed = self.state();
        let is_stale = listed.is_stale(now);
        let state = listed.status.state;
        let kind = match (state, &listed.failure) {
            (Disabled, _) => return None,
            (_, Some(failure)) => failure.kind,
            (Ready | Degraded, None) if is_stale => "stale",
            (Ready, None) => return None,
            (Degraded, None) => "partial",
            (Starting | Broken, None) => state.as_str(),
        };
        Some(ListRemark { downstream: self.source.name.clone(), state, is_stale, kind })
    }

    /// Whether a list lacks this downstream's tools.
    pub(crate) fn is_missing(&self) -> bool {
        let listed = self.state();
        match listed.status.state {
            DownstreamState::Broken => true,
            DownstreamState::Starting => listed.read_at.is_none(),
            _ => false,
        }
    }

    /// Its tools as they are, whatever the verdicts.
    pub(crate) fn as_listed(&self) -> OfferedTools {
        self.state().tools.clone()
    }

    /// What is left of its lists by the verdicts of this number, which are asked for once.
    pub(crate) fn known(&self, screen: &dyn Screen, verdicts: u64) -> Known {
        let (taken, read) = {
            let listed = self.state();
            if let Some((known, left)) = &listed.screened
                && *known == verdicts
            {
                return left.clone();
            }
            let (tools, views) = (listed.tools.clone(), listed.views.clone());
            (listed.taken, Known { tools, views, others: listed.others.lists.clone() })
        };
        let left = Known {
            tools: screen::tools(screen, &self.source, &read.tools),
            views: read.views,
            others: screen::others(screen, &self.source.name, &read.others),
        };
        let mut listed = self.state();
        if listed.taken == taken {
            listed.status.tools = left.tools.shown.len();
            listed.screened = Some((verdicts, left.clone()));
        }
        left
    }

    /// What the downstream said of itself; `None` as long as it has not been connected to.
    pub(crate) fn peer(&self) -> Option<PeerInfo> {
        self.state().peer.clone()
    }

    /// Whether it has, or may have, a capability.
    pub(crate) fn may_have(&self, capability: &str) -> bool {
        self.state().peer.as_ref().is_none_or(|peer| peer.capabilities.contains(capability))
    }

    /// Whether it says, or does not say yet, that its resources can be watched.
    pub(crate) fn may_be_watched(&self) -> bool {
        self.state().peer.as_ref().is_none_or(PeerInfo::may_have_subscriptions)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.state().is_usable()
    }

    /// When the list is to be read again although nobody asks.
    pub(crate) fn due(&self) -> Option<Instant> {
        let listed = self.state();
        let ttl = Some(listed.ttl).filter(|ttl| *ttl >= READ_BY_ITSELF)?;
        listed.asked_at.max(listed.read_at)?.checked_add(ttl)
    }

    /// Notes that the list shown may not be the downstream's any more.
    pub(crate) fn outdate(&self, was_announced: bool) {
        let mut listed = self.state();
        listed.outdated = true;
        listed.empty_is_news |= was_announced;
    }

    /// The lists together are fresh for this long.
    pub(crate) fn hold_for(&self, ttl: Duration) {
        self.state().ttl = ttl;
    }

    /// Shows a list from the store. Whether the downstream can be used is not known by that.
    pub(crate) fn accept_cached(&self, offer: Offer, age: Duration, left: Duration) {
        let mut listed = self.state();
        listed.show(offer);
        let now = Instant::now();
        // Time before the machine's own is as long ago as can be told.
        let (read_at, ttl) = now.checked_sub(age).map_or((now, left), |at| (at, age.saturating_add(left)));
        (listed.read_at, listed.ttl) = (Some(read_at), ttl);
        (listed.outdated, listed.empty, listed.empty_is_news) = (false, None, false);
    }

    /// Notes that the downstream can be used; what it lists is another matter.
    pub(crate) fn connected(&self, peer: &PeerInfo, took: Duration) {
        let (mut status, reason) = {
            let mut listed = self.state();
            listed.tools_reason = None;
            (listed.status.clone(), listed.verdict().1)
        };
        self.recover(&mut status, peer, reason, took);
        let mut listed = self.state();
        listed.status = status;
        listed.peer = Some(peer.clone());
        listed.recover();
    }

    /// Notes that only callers can use the downstream, each as itself: nothing is known against it.
    pub(crate) fn awaits_callers(&self) {
        let mut listed = self.state();
        listed.tools_reason = None;
        (listed.status.state, listed.status.reason) = (DownstreamState::Ready, None);
        listed.recover();
    }

    /// Takes a list that was just read. An empty one that nothing announced is not believed at once: it is
    /// almost always a hiccup, and would take the tools away from everybody (G-8).
    pub(crate) fn accept(&self, read: Read<'_>, config: &CatalogConfig) {
        let now = Instant::now();
        let mut listed = self.state();
        listed.asked_at = Some(now);
        listed.note_empty(read.is_empty, config.retry, now);
        let keeps = read.is_empty && listed.keeps_its_list(config.ttl, now);
        let mut status = listed.status.clone();
        drop(listed);
        let other_names = status.aliases != read.offer.aliases || status.dropped != read.offer.dropped;
        let reason = {
            let mut listed = self.state();
            listed.tools_reason = if keeps { Some(KEPT.to_owned()) } else { read.reason };
            listed.verdict().1
        };
        status.tools = if keeps { status.tools } else { read.offer.tools.shown.len() };
        self.recover(&mut status, read.peer, reason, read.took);
        let mut listed = self.state();
        listed.status = status;
        // A flush since this refresh began is answered by the next one.
        let is_flushed = listed.demands.is_flushed();
        listed.outdated = keeps || is_flushed;
        if !keeps {
            listed.show(read.offer);
            (listed.read_at, listed.ttl, listed.empty_is_news) = (Some(now), read.ttl, is_flushed);
            listed.said = read.said;
        }
        listed.peer = Some(read.peer.clone());
        listed.recover();
        if other_names && !keeps {
            let DownstreamStatus { name, aliases, dropped, .. } = &listed.status;
            log::names(name, aliases.clone(), dropped.clone());
        }
    }

    fn recover(
        &self,
        status: &mut DownstreamStatus,
        peer: &PeerInfo,
        reason: Option<String>,
        took: Duration,
    ) {
        let was_usable = self.is_ready() && !self.has_failed();
        let other_reason = status.reason != reason;
        status.state = if reason.is_none() { DownstreamState::Ready } else { DownstreamState::Degraded };
        status.reason = reason;
        status.protocol = Some(peer.protocol.clone());
        status.server = peer.server.clone();
        status.started.get_or_insert(took);
        if !was_usable {
            log::ready(status, took);
        }
        if let Some(reason) = status.reason.as_ref().filter(|_| other_reason) {
            tracing::warn!(downstream = %status.name, reason, "list of tools degraded");
        }
    }

    fn state(&self) -> MutexGuard<'_, Listed> {
        // Every critical section is a few assignments.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listed {
    fn is_usable(&self) -> bool {
        matches!(self.status.state, DownstreamState::Ready | DownstreamState::Degraded)
    }

    fn recover(&mut self) {
        (self.failure, self.is_found_broken) = (None, false);
        self.warnings.recovered();
    }

    fn is_old(&self, now: Instant) -> bool {
        self.read_at.is_some_and(|read_at| now.saturating_duration_since(read_at) >= self.ttl)
    }

    fn is_stale(&self, now: Instant) -> bool {
        self.read_at.is_some() && (self.outdated || self.is_old(now))
    }

    fn show(&mut self, offer: Offer) {
        (self.taken, self.screened) = (self.taken + 1, None);
        self.status.tools = offer.tools.shown.len();
        self.views = offer.views.into();
        (self.status.aliases, self.status.dropped) = (offer.aliases, offer.dropped);
        self.tools = offer.tools;
    }

    fn note_empty(&mut self, is_empty: bool, retry: (Duration, Duration), now: Instant) {
        let before = self.empty.take();
        if is_empty {
            let delay = before.map_or(retry.0, |empty| (empty.delay * 2).min(retry.1));
            let since = before.map_or(now, |empty| empty.since);
            self.empty = Some(Empty { since, again: now + delay, delay });
        }
    }

    /// Whether an empty pull leaves the list that is shown: until the downstream has stood by it for as long
    /// as any list is fresh.
    fn keeps_its_list(&self, longest: Duration, now: Instant) -> bool {
        let lasts = self.empty.is_some_and(|empty| now.saturating_duration_since(empty.since) >= longest);
        !self.tools.is_empty() && !self.empty_is_news && !lasts
    }
}

/// Said of a downstream whose earlier list is shown instead of the empty one it gave.
const KEPT: &str = "it gave a list without tools, which is not believed yet; the one before is shown";
