use std::{
    collections::HashMap,
    convert::Infallible,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use gateway_aggregate::{Listing, build};
use gateway_domain::{
    Caller, CallerError, Catalog, CatalogEntry, Directory, DownstreamName, DownstreamStatus, Era, Error,
    InternalError, NAMESPACE_SEPARATOR, OfferedTool, ToolsPage, View,
};
use tokio::{sync::watch, task::JoinSet, time::Instant};

use crate::{CatalogConfig, Listings, Source, source::Tracked, view::ListView};

/// The catalogue of all downstreams, refreshed in the background. Clones share it; the background ends
/// when [`LiveCatalog::close`] is called or the last clone is dropped.
#[derive(Clone)]
pub struct LiveCatalog {
    shared: Arc<Shared>,
    /// Locked while they are being ended, so that everybody who closes waits for that.
    refreshers: Arc<tokio::sync::Mutex<JoinSet<()>>>,
}

struct Shared {
    config: CatalogConfig,
    listings: Arc<dyn Listings>,
    /// In the order of their names.
    sources: Vec<Arc<Tracked>>,
    snapshot: ArcSwap<Snapshot>,
    /// One rebuild at a time; readers never wait for it.
    rebuilding: Mutex<()>,
    /// Counts refreshes that have ended, for those who wait for one.
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Clone, Copy)]
struct Progress {
    refreshes: u64,
    /// When a downstream last became ready.
    last_ready: Option<Instant>,
}

/// What is offered at one moment. Swapped whole.
struct Snapshot {
    all: Arc<ListView>,
    each: HashMap<DownstreamName, Arc<ListView>>,
}

impl LiveCatalog {
    /// Begins to list all enabled sources at the same time, each in a task of its own. Must be called
    /// within a tokio runtime.
    pub fn start(config: CatalogConfig, listings: Arc<dyn Listings>, mut sources: Vec<Source>) -> Self {
        sources.sort_by(|a, b| a.name.cmp(&b.name));
        let sources: Vec<_> = sources.into_iter().map(|source| Arc::new(Tracked::new(source))).collect();
        let empty = |size| Arc::new(ListView::new(0, Catalog::default(), HashMap::new(), size));
        let enabled = sources.iter().filter(|tracked| tracked.source.enabled);
        let each = enabled.map(|tracked| (tracked.source.name.clone(), empty(config.page_size))).collect();
        let snapshot = ArcSwap::from_pointee(Snapshot { all: empty(config.page_size), each });
        let progress = watch::Sender::new(Progress { refreshes: 0, last_ready: None });
        let rebuilding = Mutex::new(());
        let shared = Arc::new(Shared { config, listings, sources, snapshot, rebuilding, progress });
        let mut refreshers = JoinSet::new();
        for tracked in shared.enabled() {
            refreshers.spawn(refresh_for_ever(shared.clone(), tracked.clone()));
        }
        Self { shared, refreshers: Arc::new(tokio::sync::Mutex::new(refreshers)) }
    }

    /// Waits until the first attempt to list every downstream has ended, well or not, at most `bound`.
    pub async fn settled(&self, bound: Duration) {
        let mut progress = self.shared.progress.subscribe();
        let all = async {
            while !self.shared.sources.iter().all(|tracked| tracked.is_settled()) {
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
        self.refreshers.lock().await.shutdown().await;
        for tracked in &self.shared.sources {
            tracked.settle();
        }
        self.shared.progress.send_modify(|progress| progress.refreshes += 1);
    }

    /// Waits for the downstreams behind a view that are still starting: until none is, until one is ready
    /// and no other has become ready for the settle time, or until the budget is used up.
    pub(crate) async fn patience(&self, view: &View) {
        let concerned: Vec<_> = self.shared.concerned(view).collect();
        if concerned.iter().all(|tracked| tracked.is_settled()) {
            return;
        }
        let deadline = Instant::now() + self.shared.config.budget;
        let mut progress = self.shared.progress.subscribe();
        while !concerned.iter().all(|tracked| tracked.is_settled()) {
            let last_ready = progress.borrow_and_update().last_ready;
            // One that is ready but not settled is on no list yet.
            let ready = concerned.iter().any(|tracked| tracked.is_settled() && tracked.is_ready());
            let until = match last_ready.filter(|_| ready) {
                Some(last) => (last + self.shared.config.settle).min(deadline),
                None => deadline,
            };
            match tokio::time::timeout_at(until, progress.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }

    /// The downstream that is still starting and might have an exposed name, as the view of it alone. This
    /// is a guess about whom to wait for, never about where a call goes.
    pub(crate) fn starting(&self, view: &View, name: &str) -> Option<View> {
        if let View::Downstream(_) = view {
            return None;
        }
        let might_have = |tracked: &&Arc<Tracked>| {
            let rest = name.strip_prefix(tracked.source.name.as_str());
            !tracked.is_settled() && rest.is_some_and(|rest| rest.starts_with(NAMESPACE_SEPARATOR))
        };
        let starting = self.shared.sources.iter().find(might_have)?;
        Some(View::Downstream(starting.source.name.clone()))
    }

    fn view(&self, view: &View) -> Option<Arc<ListView>> {
        let snapshot = self.shared.snapshot.load();
        match view {
            View::All => Some(snapshot.all.clone()),
            View::Downstream(name) => snapshot.each.get(name).cloned(),
        }
    }
}

#[async_trait]
impl Directory for LiveCatalog {
    async fn tools(
        &self,
        view: &View,
        era: Era,
        _: &Caller,
        cursor: Option<&str>,
    ) -> Result<ToolsPage, Error> {
        self.patience(view).await;
        match self.view(view) {
            Some(list) => list.page(era, cursor),
            None => Err(unknown(view)),
        }
    }

    fn tool(&self, view: &View, _: &Caller, name: &str) -> Option<Arc<OfferedTool>> {
        self.view(view)?.tool(name).cloned()
    }

    fn has_view(&self, view: &View) -> bool {
        match view {
            View::All => true,
            View::Downstream(name) => self.shared.enabled().any(|tracked| tracked.source.name == *name),
        }
    }

    fn generation(&self, view: &View) -> u64 {
        self.view(view).map_or(0, |list| list.generation)
    }

    async fn changed(&self, view: &View, seen: u64) -> u64 {
        let mut progress = self.shared.progress.subscribe();
        loop {
            let generation = self.generation(view);
            if generation != seen {
                return generation;
            }
            if progress.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn downstreams(&self) -> Vec<DownstreamStatus> {
        self.shared.sources.iter().map(|tracked| tracked.status()).collect()
    }
}

impl fmt::Debug for LiveCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveCatalog")
            .field("tools", &self.shared.snapshot.load().all.len())
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn enabled(&self) -> impl Iterator<Item = &Arc<Tracked>> {
        self.sources.iter().filter(|tracked| tracked.source.enabled)
    }

    fn concerned<'a>(&'a self, view: &'a View) -> impl Iterator<Item = &'a Arc<Tracked>> {
        self.sources.iter().filter(move |tracked| match view {
            View::All => true,
            View::Downstream(name) => tracked.source.name == *name,
        })
    }

    /// Makes what a refresh brought visible, then tells those who wait.
    fn publish(&self, tracked: &Tracked, became_ready: bool) {
        if let Err(error) = self.rebuild() {
            tracing::error!(%error, "the catalogue could not be rebuilt; the last one stays");
        }
        // Only now: whoever sees that all have settled must find their tools in the snapshot.
        self.tell(tracked, became_ready);
    }

    fn tell(&self, tracked: &Tracked, became_ready: bool) {
        tracked.settle();
        self.progress.send_modify(|progress| {
            progress.refreshes += 1;
            if became_ready {
                progress.last_ready = Some(Instant::now());
            }
        });
    }

    /// Builds a snapshot of what is known now and swaps it in. Views in which nothing visible changed
    /// keep their generation and their rendered pages.
    fn rebuild(&self) -> Result<(), Error> {
        let _one_at_a_time = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.snapshot.load_full();
        let tools: Vec<_> = self.enabled().map(|tracked| (&tracked.source.name, tracked.tools())).collect();
        let listings: Vec<_> = tools
            .iter()
            .map(|(name, tools)| {
                Listing::new(name.as_str(), tools.iter().map(|offered| offered.tool.clone()))
            })
            .collect();
        // `fit` has made every listing acceptable, so this is a bug if it fails.
        let catalog = build(&listings).map_err(|_| InternalError { what: "fitted listings were refused" })?;
        let all =
            self.next(&old.all, catalog, tools.iter().flat_map(|(_, tools)| tools), CatalogEntry::new)?;
        let mut each = HashMap::with_capacity(tools.len());
        for (name, tools) in &tools {
            let entries =
                tools.iter().map(|offered| CatalogEntry::unprefixed(name.as_str(), offered.tool.clone()));
            let catalog =
                Catalog::new(entries.collect()).map_err(|_| InternalError { what: "a name stands twice" })?;
            let list = match old.each.get(*name) {
                Some(old) => self.next(old, catalog, tools.iter(), CatalogEntry::unprefixed)?,
                None => return Err(InternalError { what: "a downstream without a view" }.into()),
            };
            each.insert((*name).clone(), list);
        }
        self.snapshot.store(Arc::new(Snapshot { all, each }));
        Ok(())
    }

    fn next<'a>(
        &self,
        old: &Arc<ListView>,
        catalog: Catalog,
        tools: impl Iterator<Item = &'a Arc<OfferedTool>>,
        entry: impl Fn(&str, gateway_domain::Tool) -> CatalogEntry,
    ) -> Result<Arc<ListView>, Error> {
        if old.shows_the_same(&catalog) {
            return Ok(old.clone());
        }
        let named = |offered: &Arc<OfferedTool>| {
            let entry = entry(offered.downstream.as_str(), offered.tool.clone());
            (Arc::from(entry.name()), offered.clone())
        };
        let tools = tools.map(named).collect();
        Ok(Arc::new(ListView::new(old.generation + 1, catalog, tools, self.config.page_size)))
    }
}

fn unknown(view: &View) -> Error {
    let name = match view {
        View::All => String::new(),
        View::Downstream(name) => name.to_string(),
    };
    CallerError::UnknownDownstream { name }.into()
}

/// Keeps one downstream's list fresh whatever happens: a panic is a bug, but no reason never to list that
/// downstream again.
async fn refresh_for_ever(shared: Arc<Shared>, tracked: Arc<Tracked>) {
    let (first, last) = shared.config.retry;
    let (mut delay, mut panics) = (first, 0_u64);
    loop {
        let begun = Instant::now();
        until_panic(keep_fresh(&shared, &tracked)).await;
        panics += 1;
        tracing::error!(downstream = %tracked.source.name, panics, "reading the list panicked, trying again");
        tracked.break_off(panics);
        // Not the snapshot: building it may be what panicked.
        shared.tell(&tracked, false);
        if begun.elapsed() > last {
            delay = first;
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(last);
    }
}

/// Runs what has no end until it panics; the panic's hook has reported what was wrong.
async fn until_panic(endless: impl Future<Output = Infallible>) {
    let mut endless = pin!(endless);
    let polled = std::future::poll_fn(|context| {
        // It is never polled again, and what it shares is behind locks that forgive.
        match catch_unwind(AssertUnwindSafe(|| endless.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(never)) => match never {},
            Err(_) => Poll::Ready(()),
        }
    });
    polled.await;
}

/// Lists one downstream again and again: when it says that something changed, when its session was lost,
/// when the list is old, and after a failure with a growing delay.
async fn keep_fresh(shared: &Shared, tracked: &Tracked) -> Infallible {
    let (first, last) = shared.config.retry;
    let gather = shared.config.gather;
    let (mut delay, mut pause) = (first, gather);
    let signal = &tracked.source.signal;
    loop {
        let was_ready = tracked.is_ready();
        let refreshed = tracked.refresh(shared.listings.as_ref(), &shared.config).await;
        shared.publish(tracked, !was_ready && refreshed.is_ok());
        if refreshed.is_ok() {
            delay = first;
            let listed = Instant::now();
            if tokio::time::timeout(shared.config.ttl, signal.given()).await.is_ok() {
                // A downstream that announces a change, or ends, whenever it has been listed is listed
                // less and less often.
                pause = if listed.elapsed() < first { (pause * 2).min(last) } else { gather };
                tokio::time::sleep(pause).await;
            }
        } else {
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(last);
        }
        // What was signalled until now is answered by the refresh that follows; what comes while it runs
        // is kept and leads to another.
        signal.clear();
        if let Some(reason) = signal.take_lost() {
            tracing::info!(downstream = %tracked.source.name, reason, "session lost, opening another");
        }
    }
}
