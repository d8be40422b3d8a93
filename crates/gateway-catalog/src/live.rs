use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use gateway_domain::{DownstreamName, Error, ListKind, OfferedTool, ToolRef, Unrestricted, View};
use tokio::{sync::Mutex, task::JoinSet, time::Instant};

use crate::{
    CatalogConfig, ListStore, Listings, Lock, Locked, MemoryStore, Profile, ProfileError, Screen, Source,
    cache::Cache,
    offer::{Offer, OfferedTools},
    profile::Profiles,
    refresh::{self, refresh_for_ever},
    screen::Unscreened,
    shared::{Parts, Shared},
    signal::Changes,
    tracked::Tracked,
    visibility::Rules,
};

/// The catalogue of all downstreams, refreshed in the background. Clones share it; the background ends
/// when [`LiveCatalog::close`] is called or the last clone is dropped.
#[derive(Clone)]
pub struct LiveCatalog {
    pub(crate) shared: Arc<Shared>,
    /// Locked while one is being ended, so that everybody who closes or changes something waits for that.
    refreshers: Arc<Mutex<Refreshers>>,
}

/// The task of each enabled downstream. Each ends when it is dropped.
#[derive(Default)]
struct Refreshers {
    running: HashMap<DownstreamName, JoinSet<()>>,
    /// Those that were told to end and may not have.
    ending: Vec<JoinSet<()>>,
}

impl LiveCatalog {
    /// Begins to list all enabled sources at the same time, each in a task of its own, and keeps their lists
    /// in this process's memory. Must be called within a tokio runtime.
    pub fn start(config: CatalogConfig, listings: Arc<dyn Listings>, sources: Vec<Source>) -> Self {
        Self::with_store(config, listings, Arc::new(MemoryStore::default()), sources)
    }

    /// As [`Self::start`], with lists kept in `store`: a list that is fresh there is shown without asking the
    /// downstream for it (G-5).
    pub fn with_store(
        config: CatalogConfig,
        listings: Arc<dyn Listings>,
        store: Arc<dyn ListStore>,
        sources: Vec<Source>,
    ) -> Self {
        let (rules, screen) =
            (Rules::new(Arc::new(Unrestricted), Arc::new(Unrestricted)), Arc::new(Unscreened));
        let parts = Parts { rules, screen, profiles: Profiles::default() };
        Self::begin(config, listings, store, parts, sources)
    }

    pub(crate) fn begin(
        config: CatalogConfig,
        listings: Arc<dyn Listings>,
        store: Arc<dyn ListStore>,
        parts: Parts,
        sources: Vec<Source>,
    ) -> Self {
        let cache = Cache::new(store, &config);
        let shared = Arc::new(Shared::new(config, listings, cache, parts, sources));
        let mut refreshers = Refreshers::default();
        for tracked in shared.sources().iter() {
            refreshers.start(&shared, tracked);
        }
        Self { shared, refreshers: Arc::new(Mutex::new(refreshers)) }
    }

    /// Adds a source, or replaces the one of its name. From the same address the old list is shown until the
    /// new one is read, from another it goes at once (G-W13). Others are not touched. Does nothing once the
    /// catalogue is closed.
    ///
    /// Dropping the future leaves the source as it was or has it replaced; the task of the one before may
    /// then still be ending.
    pub async fn insert(&self, source: Source) {
        let mut refreshers = self.refreshers.lock().await;
        if self.shared.is_closed() {
            return;
        }
        let name = source.name.clone();
        let old = self.shared.source(&name);
        let new = match &old {
            Some(old) => Tracked::after(old, source, &self.shared.config),
            None => Tracked::new(source),
        };
        // A list that is not for everybody any more is in no store either (G-10).
        let is_kept = |old: &Tracked| old.source.address == new.source.address && new.source.is_public;
        let forgotten = old.filter(|old| !is_kept(old));
        let new = Arc::new(new);
        refreshers.stop(&name);
        self.shared.replace(&name, Some(new.clone()));
        refreshers.start(&self.shared, &new);
        refreshers.ended().await;
        if let Some(old) = forgotten {
            self.shared.cache.remove(&old.source).await;
        }
    }

    /// Takes a source away with its tools and its view; clients are told. Whether there was one.
    ///
    /// Dropping the future leaves the source as it was or has it taken away.
    pub async fn remove(&self, name: &DownstreamName) -> bool {
        let mut refreshers = self.refreshers.lock().await;
        let Some(old) = self.shared.source(name) else { return false };
        refreshers.stop(name);
        self.shared.replace(name, None);
        refreshers.ended().await;
        self.shared.cache.remove(&old.source).await;
        true
    }

    /// Forgets the cached list of one downstream, or of all, and reads it again at once; who asks for a list
    /// meanwhile waits for it within the budget, then is shown the old one as a stale one (G-11). Gives how
    /// many lists were forgotten: none for an unknown name or one that has no list.
    pub fn flush(&self, downstream: Option<&DownstreamName>) -> usize {
        if self.shared.is_closed() {
            return 0;
        }
        let now = Instant::now();
        let sources = self.shared.sources();
        let concerned =
            sources.iter().filter(|tracked| downstream.is_none_or(|name| tracked.source.name == *name));
        let flushed = concerned.filter(|tracked| tracked.source.enabled).filter(|tracked| {
            if tracked.source.is_public {
                return tracked.flush(now);
            }
            self.shared.forget_private(tracked, Changes::ALL);
            false
        });
        flushed.count()
    }

    /// Has clients told that they may be shown other lists, since the rules of the [`gateway_domain::Decider`] have
    /// changed. What is decided follows the rules at once, whether this is called or not. Never blocks.
    pub fn rules_changed(&self) {
        self.shared.renew_all();
    }

    /// Asks the [`crate::Screen`] about everything again that was listed, since its verdicts are others now; clients are
    /// told of what that changes. Blocks for as long as the screen takes.
    pub fn rescreen(&self) {
        self.shared.rescreen();
    }

    /// Has these profiles from now on, in the place of those before; clients are told of what that changes.
    ///
    /// # Errors
    /// They cannot be as they are; then those before stay.
    pub fn set_profiles(&self, profiles: Vec<Profile>) -> Result<(), ProfileError> {
        self.shared.replace_profiles(Profiles::new(profiles, &self.shared.config.rules)?);
        Ok(())
    }

    /// All tools as they are now, as far as they are known, whoever may use them: what a lock file would have. Those of
    /// downstreams whose lists are not for everybody are not among them; [`Self::whole_lock`] has them too.
    pub fn lock(&self) -> Lock {
        let sources = self.shared.sources();
        let enabled = sources.iter().filter(|tracked| tracked.source.enabled);
        Lock::new(enabled.flat_map(|tracked| locked(tracked, &tracked.as_listed(), &*self.shared.screen)))
    }

    /// The same with the tools of downstreams whose lists are not for everybody, as the gateway itself is shown them:
    /// each is listed once, one after the other, within its own time. Gives also those whose tools are not among them,
    /// since they are proved to who calls them ([`Source::is_per_caller`]), or could not be listed. What they show to
    /// their callers besides is new to whoever looks.
    ///
    /// Cancel-safe: dropping the future ends what it has begun.
    pub async fn whole_lock(&self) -> (Lock, Vec<DownstreamName>) {
        let sources = self.shared.sources();
        let (mut tools, mut missing) = (Vec::new(), Vec::new());
        for tracked in sources.iter().filter(|tracked| tracked.source.enabled) {
            let source = &tracked.source;
            if source.is_public {
                tools.extend(locked(tracked, &tracked.as_listed(), &*self.shared.screen));
            } else if source.is_per_caller {
                missing.push(source.name.clone());
            } else {
                match refresh::list(&self.shared, source, ListKind::Tools, None).await {
                    Ok((session, walked)) => {
                        let (era, rules) = (Some(session.peer().era), &self.shared.config.rules);
                        let offer = Offer::of(source, era, walked.into_tools(), rules);
                        tools.extend(locked(tracked, &offer.tools, &*self.shared.screen));
                    }
                    Err(unread) => {
                        tracing::warn!(downstream = %source.name, error = %unread.error, "its tools cannot be listed");
                        missing.push(source.name.clone());
                    }
                }
            }
        }
        (Lock::new(tools), missing)
    }

    /// Waits until the first attempt to list every downstream has ended, well or not, at most `bound`.
    pub async fn settled(&self, bound: Duration) {
        let mut progress = self.shared.progress.subscribe();
        let all = async {
            while !self.shared.sources().iter().all(|tracked| tracked.is_settled()) {
                if progress.changed().await.is_err() {
                    return;
                }
            }
        };
        // What is there when the time is over is what there is.
        drop(tokio::time::timeout(bound, all).await);
    }

    /// Stops refreshing; no session is asked for any more when this returns. What was listed stays listed;
    /// nobody waits for the rest. Dropping the future does not stop what it has begun.
    pub async fn close(&self) {
        let mut refreshers = self.refreshers.lock().await;
        self.shared.close();
        let names: Vec<_> = refreshers.running.keys().cloned().collect();
        names.iter().for_each(|name| refreshers.stop(name));
        refreshers.ended().await;
        // What one of them has told while it ended is told.
        self.shared.close();
    }

    /// Waits for the downstreams behind a view that are still starting: until none is, until one is ready
    /// and no other has become ready for the settle time, or until the budget is used up. Waits as well for
    /// lists that were flushed or empty and are being read again, within the budget from then.
    pub(crate) async fn patience(&self, view: &View) {
        let concerned = self.concerned(view);
        let budget = self.shared.config.budget;
        let now = Instant::now();
        let is_settled =
            |tracked: &Arc<Tracked>| tracked.is_settled() && tracked.awaited(budget, now).is_none();
        if concerned.iter().all(is_settled) || self.shared.is_closed() {
            return;
        }
        let deadline = now + budget;
        let mut progress = self.shared.progress.subscribe();
        while let Some(until) = {
            let last_ready = progress.borrow_and_update().last_ready;
            self.until(&concerned, last_ready, deadline)
        } {
            match tokio::time::timeout_at(until, progress.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }

    /// Until when there is something to wait for.
    fn until(
        &self,
        concerned: &[Arc<Tracked>],
        last_ready: Option<Instant>,
        deadline: Instant,
    ) -> Option<Instant> {
        if self.shared.is_closed() {
            return None;
        }
        let (now, config) = (Instant::now(), &self.shared.config);
        let awaited = concerned.iter().filter_map(|tracked| tracked.awaited(config.budget, now)).max();
        let starting = !concerned.iter().all(|tracked| tracked.is_settled());
        let starting = starting.then(|| {
            // One that is ready but not settled is on no list yet.
            let ready = concerned.iter().any(|tracked| tracked.is_settled() && tracked.is_ready());
            // Nobody is served by being told early that a list is not whole.
            let settles = ready && !config.strict;
            last_ready.filter(|_| settles).map_or(deadline, |last| (last + config.settle).min(deadline))
        });
        // However much is flushed meanwhile, nobody waits longer than the budget in all.
        awaited.max(starting).map(|until| until.min(deadline)).filter(|until| *until > now)
    }

    /// Waits for the list that an exposed name would be on, within the budget, if that list is not known
    /// yet. Whether there was such a list to wait for; the error is its downstream's if it is still not known.
    /// Nobody waits for one that could not be read. Cancel-safe.
    pub(crate) async fn listed(&self, view: &View, list: ListKind, name: &str) -> Result<bool, Error> {
        let deadline = Instant::now() + self.shared.config.budget;
        let mut progress = self.shared.progress.subscribe();
        let mut has_waited = false;
        loop {
            progress.borrow_and_update();
            let now = Instant::now();
            let Some(owner) = self.owner(view, list, name) else { return Ok(has_waited) };
            let Some(fault) = owner.unlisted(now) else { return Ok(has_waited) };
            if owner.has_failed() || now >= deadline || self.shared.is_closed() {
                return Err(fault.before(&owner.source.name));
            }
            has_waited = true;
            // Looked at once more when the time is over.
            drop(tokio::time::timeout_at(deadline, progress.changed()).await);
        }
    }

    /// The downstream that alone could have an exposed name, of those that are the same for everybody. This
    /// is a guess about whom to wait for, never about where a call goes.
    fn owner(&self, view: &View, list: ListKind, name: &str) -> Option<Arc<Tracked>> {
        let (owner, _) = self.shared.possible_owner(view, list, name)?;
        Some(owner).filter(|owner| owner.source.is_public)
    }

    /// Those whose lists a view shows, and that are the same for everybody.
    pub(crate) fn concerned(&self, view: &View) -> Vec<Arc<Tracked>> {
        self.behind(view, |source| source.is_public)
    }

    pub(crate) fn behind(&self, view: &View, which: impl Fn(&Source) -> bool) -> Vec<Arc<Tracked>> {
        let is_behind = |tracked: &&Arc<Tracked>| {
            which(&tracked.source) && self.shared.is_behind(view, &tracked.source.name)
        };
        match view {
            View::Downstream(name) => self.shared.source(name).iter().filter(is_behind).cloned().collect(),
            View::All | View::Profile(_) => self.shared.sources().iter().filter(is_behind).cloned().collect(),
        }
    }
}

/// Tools by the names that they have on `/mcp`.
fn locked(tracked: &Tracked, tools: &OfferedTools, screen: &dyn Screen) -> Vec<(String, Locked)> {
    let name = &tracked.source.name;
    let one = |offered: &Arc<OfferedTool>| {
        let exposed = ToolRef::new(name.as_str(), offered.tool.name()).to_string();
        (exposed, Locked::new(name, &screen.pinned(offered.tool.clone())))
    };
    tools.shown.iter().chain(&tools.hidden).map(one).collect()
}

impl fmt::Debug for LiveCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.shared.view(&View::All).map_or(0, |all| all.tools.len());
        f.debug_struct("LiveCatalog").field("tools", &tools).finish_non_exhaustive()
    }
}

impl Refreshers {
    fn start(&mut self, shared: &Arc<Shared>, tracked: &Arc<Tracked>) {
        if tracked.source.enabled {
            let mut task = JoinSet::new();
            task.spawn(refresh_for_ever(shared.clone(), tracked.clone()));
            self.running.insert(tracked.source.name.clone(), task);
        }
    }

    /// Has a task end; it may still be ending.
    fn stop(&mut self, name: &DownstreamName) {
        if let Some(mut task) = self.running.remove(name) {
            task.abort_all();
            self.ending.push(task);
        }
    }

    /// Waits until all that were stopped have ended. Cancel-safe: who asks next waits for the rest.
    async fn ended(&mut self) {
        while let Some(task) = self.ending.last_mut() {
            task.shutdown().await;
            self.ending.pop();
        }
    }
}
