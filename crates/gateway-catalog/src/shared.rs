use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use gateway_aggregate::{Listing, Owned, Ownership, build};
use gateway_domain::{
    Catalog, CatalogEntry, DownstreamName, Error, InternalError, ListKind, OfferedTool, Tool, View,
};
use tokio::{sync::watch, time::Instant};

use crate::{
    CatalogConfig, Listings, Screen, Source,
    cache::Cache,
    filtered::Filtered,
    item::{Item, Others, prefixed},
    item_view::{ItemView, Shown},
    links::Links,
    private::Routes,
    profile::{Compiled, Profiles},
    signal::Changes,
    tracked::{Known, Tracked},
    uris,
    view::{ListView, Views},
    visibility::Rules,
};

/// What all who use the catalogue, and all who keep it fresh, have in common.
pub(crate) struct Shared {
    pub(crate) config: CatalogConfig,
    pub(crate) listings: Arc<dyn Listings>,
    pub(crate) cache: Cache,
    pub(crate) routes: Routes,
    pub(crate) links: Links,
    pub(crate) rules: Rules,
    pub(crate) filtered: Filtered,
    pub(crate) screen: Arc<dyn Screen>,
    /// The number of the screen's verdicts.
    verdicts: AtomicU64,
    profiles: ArcSwap<Profiles>,
    /// In the order of their names. Changed by one at a time.
    sources: ArcSwap<Vec<Arc<Tracked>>>,
    snapshot: ArcSwap<Snapshot>,
    /// One rebuild at a time; readers never wait for it.
    rebuilding: Mutex<()>,
    /// Counts refreshes that have ended, for those who wait for one.
    pub(crate) progress: watch::Sender<Progress>,
    closed: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    refreshes: u64,
    /// When a downstream last became ready.
    pub(crate) last_ready: Option<Instant>,
}

/// What a catalogue is given besides its sources.
pub(crate) struct Parts {
    pub(crate) rules: Rules,
    pub(crate) screen: Arc<dyn Screen>,
    pub(crate) profiles: Profiles,
}

/// What is offered at one moment. Swapped whole.
struct Snapshot {
    all: Arc<Views>,
    each: HashMap<DownstreamName, Arc<Views>>,
    profiles: HashMap<DownstreamName, Arc<Views>>,
    /// Whose the resources are that are on shared lists.
    ownership: Arc<Ownership>,
    /// Above the generation of any view that is gone: one that appears begins there, so that whoever has
    /// missed that it was gone sees a change all the same, also if it shows nothing yet.
    floor: u64,
}

impl Shared {
    pub(crate) fn new(
        config: CatalogConfig,
        listings: Arc<dyn Listings>,
        cache: Cache,
        parts: Parts,
        sources: Vec<Source>,
    ) -> Self {
        let mut sources: Vec<_> = sources.into_iter().map(|source| Arc::new(Tracked::new(source))).collect();
        sources.sort_by(|a, b| a.source.name.cmp(&b.source.name));
        let empty = || Arc::new(Views::empty(0, config.page_size));
        let enabled = sources.iter().filter(|tracked| tracked.source.enabled);
        let each = enabled.map(|tracked| (tracked.source.name.clone(), empty())).collect();
        let Parts { rules, screen, profiles } = parts;
        let of_profiles = profiles.iter().map(|(name, _)| (name.clone(), empty())).collect();
        Self {
            snapshot: ArcSwap::from_pointee(Snapshot {
                all: empty(),
                each,
                profiles: of_profiles,
                ownership: Arc::default(),
                floor: 0,
            }),
            sources: ArcSwap::from_pointee(sources),
            routes: Routes::new(config.private_lists, config.private_ttl),
            links: Links::new(config.links),
            rules,
            filtered: Filtered::new(config.filtered_classes),
            screen,
            verdicts: AtomicU64::new(0),
            profiles: ArcSwap::from_pointee(profiles),
            rebuilding: Mutex::new(()),
            progress: watch::Sender::new(Progress { refreshes: 0, last_ready: None }),
            closed: AtomicBool::new(false),
            config,
            listings,
            cache,
        }
    }

    pub(crate) fn sources(&self) -> arc_swap::Guard<Arc<Vec<Arc<Tracked>>>> {
        self.sources.load()
    }

    pub(crate) fn source(&self, name: &DownstreamName) -> Option<Arc<Tracked>> {
        let sources = self.sources.load();
        let place = sources.binary_search_by(|tracked| tracked.source.name.cmp(name)).ok()?;
        sources.get(place).cloned()
    }

    /// Puts `new` in the place of what has its name, or takes that away, and shows the difference. The caller
    /// sees to it that nobody else does so meanwhile.
    pub(crate) fn replace(&self, name: &DownstreamName, new: Option<Arc<Tracked>>) {
        let (old, mut sources): (Vec<_>, Vec<_>) =
            self.sources.load().iter().cloned().partition(|tracked| tracked.source.name == *name);
        sources.extend(new);
        sources.sort_by(|a, b| a.source.name.cmp(&b.source.name));
        self.sources.store(Arc::new(sources));
        self.routes.forget(name);
        self.rebuild_or_report();
        old.iter().for_each(|old| old.retire());
        self.wake();
    }

    pub(crate) fn view(&self, view: &View) -> Option<Arc<Views>> {
        let snapshot = self.snapshot.load();
        match view {
            View::All => Some(snapshot.all.clone()),
            View::Downstream(name) => snapshot.each.get(name).cloned(),
            View::Profile(name) => snapshot.profiles.get(name).cloned(),
        }
    }

    /// Whether what a downstream has is on a view.
    pub(crate) fn is_behind(&self, view: &View, downstream: &DownstreamName) -> bool {
        match view {
            View::All => true,
            View::Downstream(name) => name == downstream,
            View::Profile(name) => {
                self.profiles.load().get(name).is_some_and(|profile| profile.has(downstream))
            }
        }
    }

    pub(crate) fn profiles(&self) -> arc_swap::Guard<Arc<Profiles>> {
        self.profiles.load()
    }

    /// Has these profiles from now on, and shows the difference.
    pub(crate) fn replace_profiles(&self, profiles: Profiles) {
        self.profiles.store(Arc::new(profiles));
        self.rebuild_or_report();
        self.wake();
    }

    /// The name on `/mcp` of what a view shows by this one; `None`: it shows nothing by it.
    pub(crate) fn exposed(&self, view: &View, list: ListKind, name: &str) -> Option<String> {
        match (view, list) {
            (View::Downstream(downstream), _) => Some(prefixed(downstream, name)),
            (View::Profile(profile), ListKind::Tools) => {
                Some(self.profiles.load().get(profile)?.exposed(name)?.to_owned())
            }
            (View::All | View::Profile(_), _) => Some(name.to_owned()),
        }
    }

    /// Shows what is left by other verdicts, also of lists that were read before.
    pub(crate) fn rescreen(&self) {
        self.verdicts.fetch_add(1, Ordering::AcqRel);
        self.routes.clear();
        self.rebuild_or_report();
        // What is not for everybody is known to nobody but who asks.
        if self.sources().iter().any(|tracked| !tracked.source.is_public && tracked.source.enabled) {
            self.renew(None, Changes::ALL);
        }
        self.wake();
    }

    /// Has all clients told that all of their lists may be others.
    pub(crate) fn renew_all(&self) {
        self.renew(None, Changes::ALL);
        self.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Nobody waits any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.sources.load().iter().for_each(|tracked| tracked.retire());
        self.wake();
    }

    /// Whose a prompt is that is on a shared list.
    pub(crate) fn prompt(&self, view: &View, name: &str) -> Option<(DownstreamName, Arc<Item>)> {
        let views = self.view(view)?;
        let shown = views.prompts.find(name)?;
        Some((shown.downstream.clone(), shown.item.clone()))
    }

    /// Whose the resources are that are on shared lists.
    pub(crate) fn ownership(&self) -> Arc<Ownership> {
        self.snapshot.load().ownership.clone()
    }

    /// Makes what a refresh brought visible, then tells those who wait.
    pub(crate) fn publish(&self, tracked: &Tracked, became_ready: bool) {
        self.rebuild_or_report();
        // Only now: whoever sees that all have settled must find their tools in the snapshot.
        self.tell(tracked, became_ready);
    }

    /// Tells those who wait that a refresh has ended.
    pub(crate) fn tell(&self, tracked: &Tracked, became_ready: bool) {
        tracked.settle();
        tracked.end();
        self.progress.send_modify(|progress| {
            progress.refreshes += 1;
            if became_ready {
                progress.last_ready = Some(Instant::now());
            }
        });
    }

    fn wake(&self) {
        self.progress.send_modify(|progress| progress.refreshes += 1);
    }

    /// Forgets every caller's list of a downstream whose list is not for everybody, and has clients told.
    pub(crate) fn forget_private(&self, tracked: &Tracked, changes: Changes) {
        self.routes.forget(&tracked.source.name);
        self.renew(Some(&tracked.source.name), changes);
        self.wake();
    }

    /// The same lists as other generations, of all views on which this downstream is, or of all.
    fn renew(&self, of: Option<&DownstreamName>, changes: Changes) {
        let _one_at_a_time = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.snapshot.load_full();
        let renewed = |name: &DownstreamName, views: &Arc<Views>, is_concerned| {
            let views = if is_concerned { Arc::new(views.renewed(changes)) } else { views.clone() };
            (name.clone(), views)
        };
        let each = old.each.iter().map(|(name, views)| renewed(name, views, of.is_none_or(|of| of == name)));
        let is_on = |profile: &DownstreamName| {
            of.is_none_or(|of| self.is_behind(&View::Profile(profile.clone()), of))
        };
        let profiles = old.profiles.iter().map(|(name, views)| renewed(name, views, is_on(name)));
        self.snapshot.store(Arc::new(Snapshot {
            all: Arc::new(old.all.renewed(changes)),
            each: each.collect(),
            profiles: profiles.collect(),
            ownership: old.ownership.clone(),
            floor: old.floor,
        }));
    }

    fn rebuild_or_report(&self) {
        if let Err(error) = self.rebuild() {
            tracing::error!(%error, "the catalogue could not be rebuilt; the last one stays");
        }
    }

    /// Builds a snapshot of what is known now and swaps it in. Views in which nothing visible changed
    /// keep their generation and their rendered pages.
    fn rebuild(&self) -> Result<(), Error> {
        let _one_at_a_time = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.snapshot.load_full();
        let sources = self.sources.load();
        let enabled = sources.iter().filter(|tracked| tracked.source.enabled);
        let (screen, verdicts) = (&*self.screen, self.verdicts.load(Ordering::Acquire));
        let known = enabled.map(|tracked| (&tracked.source.name, tracked.known(screen, verdicts)));
        let known: Vec<_> = known.collect();
        let ownership = ownership(&known);
        let profiles = self.profiles.load();
        let gone = old.each.iter().filter(|(name, _)| known.iter().all(|(kept, _)| kept != name));
        let gone = gone.chain(old.profiles.iter().filter(|(name, _)| profiles.get(name).is_none()));
        let floor = gone.map(|(_, views)| views.ceiling()).fold(old.floor, u64::max);
        let new_views = Arc::new(Views::empty(floor, self.config.page_size));
        let all = self.next_views(&old.all, &View::All, &known, &ownership)?;
        let mut each = HashMap::with_capacity(known.len());
        for one in &known {
            let (name, before) = (one.0, old.each.get(one.0).unwrap_or(&new_views));
            let view = View::Downstream(name.clone());
            let views = self.next_views(before, &view, std::slice::from_ref(one), &ownership)?;
            each.insert(name.clone(), views);
        }
        let mut of_profiles = HashMap::new();
        for (name, profile) in profiles.iter() {
            let before = old.profiles.get(name).unwrap_or(&new_views);
            let views =
                self.profile_views(before, (&old.all.tools, &all.tools), profile, &known, &ownership)?;
            of_profiles.insert(name.clone(), views);
        }
        let (profiles, ownership) = (of_profiles, Arc::new(ownership));
        self.snapshot.store(Arc::new(Snapshot { all, each, profiles, ownership, floor }));
        self.filtered.retain(|view| self.view(view));
        Ok(())
    }

    /// The views of a profile, whose tools are among those of all, as they were and as they are.
    fn profile_views(
        &self,
        old: &Arc<Views>,
        (all_before, all): (&Arc<ListView>, &Arc<ListView>),
        profile: &Compiled,
        known: &[(&DownstreamName, Known)],
        ownership: &Ownership,
    ) -> Result<Arc<Views>, Error> {
        let view = View::Profile(profile.profile.name.clone());
        let (mut entries, mut tools) = (Vec::new(), HashMap::new());
        for (entry, offered) in all.entries().filter(|(_, offered)| profile.has(&offered.downstream)) {
            if let Some(name) = profile.name_of(entry.name()) {
                let downstream = offered.downstream.as_str();
                entries.push(CatalogEntry::renamed(name, downstream, entry.tool().clone()));
                tools.insert(Arc::from(name), offered.clone());
            }
        }
        let catalog = Catalog::new(entries).map_err(|_| InternalError { what: "a name stands twice" })?;
        let tools = match old.tools.shows_the_same(&catalog) {
            // What its workflows can do may have changed, and so whether they are shown.
            true if profile.has_workflows() && all_before.generation != all.generation => {
                Arc::new(old.tools.renewed())
            }
            true => old.tools.clone(),
            false => Arc::new(ListView::new(old.tools.generation + 1, catalog, tools, self.config.page_size)),
        };
        let known: Vec<_> =
            known.iter().filter(|(name, _)| profile.has(name)).map(|(name, known)| (*name, known)).collect();
        let [prompts, resources, templates] =
            Others::KINDS.map(|list| self.next_items(old, list, &view, &known, ownership));
        Ok(Arc::new(Views { tools, prompts, resources, templates }))
    }

    fn next_items(
        &self,
        old: &Views,
        list: ListKind,
        view: &View,
        known: &[(&DownstreamName, &Known)],
        ownership: &Ownership,
    ) -> Arc<ItemView> {
        let of_one = |(name, known): &(&DownstreamName, &Known)| -> Vec<_> {
            known.others.of(list).iter().map(|i| Shown::of(list, view, ownership, name, i)).collect()
        };
        old.items(list).next(known.iter().flat_map(of_one).collect(), self.config.page_size)
    }

    fn next_views(
        &self,
        old: &Arc<Views>,
        view: &View,
        known: &[(&DownstreamName, Known)],
        ownership: &Ownership,
    ) -> Result<Arc<Views>, Error> {
        let tools = match view.downstream() {
            None => self.all_tools(&old.tools, known, ownership)?,
            Some(_) => self.own_tools(&old.tools, known)?,
        };
        let known: Vec<_> = known.iter().map(|(name, known)| (*name, known)).collect();
        let [prompts, resources, templates] =
            Others::KINDS.map(|list| self.next_items(old, list, view, &known, ownership));
        Ok(Arc::new(Views { tools, prompts, resources, templates }))
    }

    fn all_tools(
        &self,
        old: &Arc<ListView>,
        known: &[(&DownstreamName, Known)],
        ownership: &Ownership,
    ) -> Result<Arc<ListView>, Error> {
        let listing = |(name, known): &(&DownstreamName, Known)| {
            let name = name.as_str();
            let mut words = |uri: &str| ownership.shown_uri(name, uri);
            let is_marked = known.views.iter().any(|uri| words(uri).is_some());
            let mut shown = |tool: &Tool| match is_marked {
                true => uris::in_tool(tool, &mut words).unwrap_or_else(|| tool.clone()),
                false => tool.clone(),
            };
            Listing::new(
                name,
                known.tools.shown.iter().map(|offered| shown(&offered.tool)).collect::<Vec<_>>(),
            )
        };
        let listings: Vec<_> = known.iter().map(listing).collect();
        // `fit` has made every listing acceptable, so this is a bug if it fails.
        let catalog = build(&listings).map_err(|_| InternalError { what: "fitted listings were refused" })?;
        // What a workflow can do may change with them, and so whether it is shown.
        Ok(self.next(old, catalog, known, CatalogEntry::new, ListView::renewed))
    }

    fn own_tools(
        &self,
        old: &Arc<ListView>,
        known: &[(&DownstreamName, Known)],
    ) -> Result<Arc<ListView>, Error> {
        let tools = known.iter().flat_map(|(_, known)| &known.tools.shown);
        let entry = |offered: &Arc<OfferedTool>| {
            CatalogEntry::unprefixed(offered.downstream.as_str(), offered.tool.clone())
        };
        let catalog = Catalog::new(tools.map(entry).collect());
        let catalog = catalog.map_err(|_| InternalError { what: "a name stands twice" })?;
        // Workflows are on no such view, so whoever sees it sees no difference.
        Ok(self.next(old, catalog, known, CatalogEntry::unprefixed, ListView::same))
    }

    fn next(
        &self,
        old: &Arc<ListView>,
        catalog: Catalog,
        known: &[(&DownstreamName, Known)],
        entry: impl Fn(&str, Tool) -> CatalogEntry,
        with_other_hidden: impl FnOnce(&ListView) -> ListView,
    ) -> Arc<ListView> {
        let named = |offered: &Arc<OfferedTool>| {
            let entry = entry(offered.downstream.as_str(), offered.tool.clone());
            (Arc::from(entry.name()), offered.clone())
        };
        let hidden = known.iter().flat_map(|(_, known)| &known.tools.hidden).map(named).collect();
        if old.shows_the_same(&catalog) {
            return match old.hides_the_same(&hidden) {
                true => old.clone(),
                false => Arc::new(with_other_hidden(old).hiding(hidden)),
            };
        }
        let tools = known.iter().flat_map(|(_, known)| &known.tools.shown).map(named).collect();
        let view = ListView::new(old.generation + 1, catalog, tools, self.config.page_size);
        Arc::new(view.hiding(hidden))
    }
}

fn ownership(known: &[(&DownstreamName, Known)]) -> Ownership {
    Ownership::new(known.iter().map(|(name, known)| {
        let own = |list| known.others.of(list).iter().map(|item| &*item.own);
        let views = known.views.iter().map(String::as_str);
        Owned {
            downstream: name.as_str(),
            uris: own(ListKind::Resources).chain(views).collect(),
            templates: own(ListKind::ResourceTemplates).collect(),
        }
    }))
}
