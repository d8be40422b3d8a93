//! Lists that are not for everybody (G-10): read in the caller's own session, never cached, never shared.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gateway_aggregate::{Effort, Owners, UriTemplate, mark_uri};
use gateway_domain::{
    Act, Caller, CatalogEntry, Decision, DownstreamFault, DownstreamName, DownstreamState, Error, Exchange,
    InternalError, ListKind, ListRemark, NAMESPACE_SEPARATOR, OfferedTool, Origin, SessionKey, Tool, ToolRef,
    View,
};
use tokio::{task::JoinSet, time::Instant};
use tracing::Instrument;

use crate::{
    item::{Item, Items, fit_items, prefixed},
    item_view::Shown,
    offer::{Offer, OfferedTools, Seeker},
    refresh, screen,
    shared::Shared,
    tracked::Tracked,
    uris,
    visibility::Who,
    walk::Hints,
};

/// What each session was last shown, so that its calls find their tool. Nothing is found under another key.
pub(crate) struct Routes {
    limit: usize,
    ttl: Duration,
    known: Mutex<HashMap<Key, Route>>,
}

#[derive(PartialEq, Eq, Hash, Clone)]
struct Key {
    // A session has one caller. That it is in the key as well costs little and depends on nobody.
    caller: Caller,
    session: SessionKey,
    downstream: DownstreamName,
    list: ListKind,
}

struct Route {
    read_at: Instant,
    content: Content,
}

/// One list of what a downstream offers to one caller.
#[derive(Clone)]
pub(crate) enum Content {
    Tools(Arc<OfferedTools>),
    Items(Items),
}

impl Routes {
    pub(crate) fn new(limit: usize, ttl: Duration) -> Self {
        Self { limit, ttl, known: Mutex::default() }
    }

    /// Forgets what any session was shown.
    pub(crate) fn clear(&self) {
        self.known().clear();
    }

    /// Forgets what any session was shown of a downstream.
    pub(crate) fn forget(&self, downstream: &DownstreamName) {
        self.known().retain(|key, _| key.downstream != *downstream);
    }

    fn get(&self, key: &Key) -> Option<Content> {
        let known = self.known();
        known.get(key).filter(|route| route.read_at.elapsed() < self.ttl).map(|route| route.content.clone())
    }

    /// Remembers what a session was shown, unless the downstream that showed it has been replaced.
    fn put(&self, key: Key, content: Content, is_current: impl FnOnce() -> bool) {
        let mut known = self.known();
        // Under the lock: what is put before the replacement is forgotten with it.
        if self.limit == 0 || !is_current() {
            return;
        }
        known.retain(|_, route| route.read_at.elapsed() < self.ttl);
        if known.len() >= self.limit && !known.contains_key(&key) {
            let oldest = known.iter().min_by_key(|(_, route)| route.read_at).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        known.insert(key, Route { read_at: Instant::now(), content });
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Route>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all private downstreams of a view gave to one request.
#[derive(Default)]
pub(crate) struct Pulled {
    /// In the order of their names.
    pub(crate) lists: Vec<(DownstreamName, Content, Hints)>,
    /// Those that could not be listed.
    pub(crate) failed: Vec<ListRemark>,
}

/// For whom a private list is read.
#[derive(Clone, Copy)]
pub(crate) struct For<'a> {
    pub(crate) view: &'a View,
    pub(crate) caller: &'a Caller,
    pub(crate) exchange: &'a Exchange,
    /// The step of a workflow that wants something in the caller's name.
    pub(crate) origin: Option<&'a Origin>,
}

impl<'a> For<'a> {
    pub(crate) fn who(self) -> Who<'a> {
        Who { caller: self.caller, origin: self.origin }
    }
}

impl Shared {
    /// Reads the lists of these downstreams for this caller, side by side and within the budget. Dropping the
    /// future ends what it has begun.
    pub(crate) async fn pull(
        self: &Arc<Self>,
        list: ListKind,
        sources: Vec<Arc<Tracked>>,
        whose: For<'_>,
    ) -> Pulled {
        let deadline = Instant::now() + self.config.budget;
        let (mut pulls, mut left) = (JoinSet::new(), sources.clone());
        for tracked in sources {
            let (shared, caller, exchange) = (self.clone(), whose.caller.clone(), whose.exchange.clone());
            let pull = async move {
                let pull = shared.pull_one(list, &tracked, &caller, &exchange);
                let pulled = tokio::time::timeout_at(deadline, pull).await;
                let after = shared.config.budget;
                let late = |_| Err(DownstreamFault::TimedOut { after }.before(&tracked.source.name));
                let pulled = pulled.unwrap_or_else(late);
                (tracked, pulled)
            };
            pulls.spawn(pull.in_current_span());
        }
        let mut pulled = Pulled::default();
        while let Some(done) = pulls.join_next().await {
            // A panic has been reported by its hook; its downstream is among those that are left.
            let Ok((tracked, done)) = done else { continue };
            left.retain(|other| !Arc::ptr_eq(other, &tracked));
            match done {
                Ok((content, hints)) => pulled.lists.push((tracked.source.name.clone(), content, hints)),
                Err(error) => pulled.failed.push(failed(&tracked, &error)),
            }
        }
        let panicked = InternalError { what: "reading a list panicked" }.into();
        pulled.failed.extend(left.iter().map(|tracked| failed(tracked, &panicked)));
        pulled.lists.sort_by(|a, b| a.0.cmp(&b.0));
        pulled
    }

    async fn pull_one(
        &self,
        list: ListKind,
        tracked: &Tracked,
        caller: &Caller,
        exchange: &Exchange,
    ) -> Result<(Content, Hints), Error> {
        let (source, rules) = (&tracked.source, &self.config.rules);
        let listed = refresh::list(self, source, list, Some(exchange)).await;
        let (session, walked) = listed.map_err(|unread| unread.error)?;
        let hints = walked.hints();
        let content = match list {
            ListKind::Tools => {
                let era = Some(session.peer().era);
                let offer = Offer::of(source, era, walked.into_tools(), rules);
                Content::Tools(Arc::new(screen::tools(&*self.screen, source, &offer.tools)))
            }
            list => {
                let fitted = fit_items(&source.name, list, walked.into_entries(), rules);
                Content::Items(screen::items(&*self.screen, &source.name, list, &fitted.items))
            }
        };
        let is_current = || self.source(&source.name).is_some_and(|now| std::ptr::eq(&*now, tracked));
        self.routes.put(key(list, tracked, caller, &exchange.session), content.clone(), is_current);
        Ok((content, hints))
    }

    /// The tool of this name on the list that this session was last shown, or behind it.
    pub(crate) fn private_tool(
        &self,
        who: Who<'_>,
        view: &View,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        let (tracked, name) = self.private_owner(view, ListKind::Tools, name)?;
        let content = self.routes.get(&key(ListKind::Tools, &tracked, who.caller, session))?;
        content.tool(who.seeker(), view, &name)
    }

    /// As [`Self::private_tool`], and reads the list for this caller if there is none. `None` if no private
    /// downstream could have the name.
    pub(crate) async fn resolve_private(
        &self,
        whose: For<'_>,
        name: &str,
    ) -> Option<Result<Option<Arc<OfferedTool>>, Error>> {
        let (tracked, name) = self.private_owner(whose.view, ListKind::Tools, name)?;
        let content = self.route(ListKind::Tools, &tracked, whose).await;
        Some(content.map(|content| content.tool(whose.who().seeker(), whose.view, &name)))
    }

    /// What the rules say of the tool that began something, by the name it has on `/mcp`. One that is not listed any more
    /// is decided by its name, as a tool of which the worst is true.
    pub(crate) async fn decide_begun(
        &self,
        whose: For<'_>,
        downstream: &DownstreamName,
        exposed: &str,
    ) -> Decision {
        let who = whose.who();
        if self.rules.class(who.caller).is_none() {
            return Decision::Allowed;
        }
        let Some(tracked) = self.source(downstream).filter(|tracked| tracked.source.enabled) else {
            return Decision::DeniedByDefault;
        };
        let began = |offered: &&Arc<OfferedTool>| prefixed(downstream, offered.tool.name()) == exposed;
        let by_list = |offered: &Arc<OfferedTool>| self.rules.of_tool(who, offered);
        let decision = if tracked.source.is_public {
            // What a workflow has begun its caller goes on with, though it is not shown the tool.
            self.view(&View::Downstream(downstream.clone())).and_then(|views| {
                let shown = views.tools.entries().map(|(_, offered)| offered);
                shown.chain(views.tools.hidden()).find(began).map(by_list)
            })
        } else {
            let content = self.route(ListKind::Tools, &tracked, whose).await;
            content.ok().and_then(|content| content.tools_of(who.seeker()).find(began).map(by_list))
        };
        decision.unwrap_or_else(|| self.rules.of_name(who, Act::Call, downstream, exposed))
    }

    /// The downstream of a private prompt and the prompt, whose list is read for this caller if need be.
    pub(crate) async fn private_prompt(
        &self,
        whose: For<'_>,
        name: &str,
    ) -> Option<Result<Option<(DownstreamName, Arc<Item>)>, Error>> {
        let (tracked, name) = self.private_owner(whose.view, ListKind::Prompts, name)?;
        let content = self.route(ListKind::Prompts, &tracked, whose).await;
        Some(content.map(|content| {
            let is_named = |item: &&Arc<Item>| match whose.view.downstream() {
                None => *item.name == *name,
                Some(_) => *item.own == *name,
            };
            let found = content.items().iter().find(is_named);
            found.map(|item| (tracked.source.name.clone(), item.clone()))
        }))
    }

    /// The private downstreams of whose templates, as this session was last shown them, a URI could be.
    pub(crate) fn private_templates(&self, whose: For<'_>, uri: &str) -> Vec<DownstreamName> {
        let sources = self.sources();
        let is_asked = |tracked: &&Arc<Tracked>| {
            let source = &tracked.source;
            !source.is_public && source.enabled && self.is_behind(whose.view, &source.name)
        };
        let private = sources.iter().filter(is_asked);
        let mut effort = Effort::default();
        let mut has_it = |tracked: &&Arc<Tracked>| {
            let key = key(ListKind::ResourceTemplates, tracked, whose.caller, &whose.exchange.session);
            let Some(content) = self.routes.get(&key) else { return false };
            let mut matches = |item: &Arc<Item>| {
                let mut known = || UriTemplate::parse(&item.own)?.matches_within(uri, &mut effort);
                *item.own == *uri || known().unwrap_or(false)
            };
            content.items().iter().any(&mut matches)
        };
        private.filter(|tracked| has_it(tracked)).map(|tracked| tracked.source.name.clone()).collect()
    }

    /// The tools of private downstreams as this caller is shown them.
    pub(crate) fn private_entries(
        &self,
        whose: For<'_>,
        lists: &[(DownstreamName, Content, Hints)],
    ) -> Vec<CatalogEntry> {
        let mut effort = Effort::default();
        let mut entry = |name: &DownstreamName, tool: &Tool| {
            if whose.view.downstream().is_some() {
                return Some(CatalogEntry::unprefixed(name.as_str(), tool.clone()));
            }
            let own = ToolRef::new(name.as_str(), tool.name()).to_string();
            let here = match whose.view {
                View::Profile(profile) => self.profiles().get(profile)?.name_of(&own)?.to_owned(),
                View::All | View::Downstream(_) => own,
            };
            let shown = uris::in_tool(tool, &mut |uri| self.shown_uri(whose.caller, name, uri, &mut effort));
            Some(CatalogEntry::renamed(&here, name.as_str(), shown.unwrap_or_else(|| tool.clone())))
        };
        let is_allowed = |offered: &&Arc<OfferedTool>| self.rules.of_tool(whose.who(), offered).is_allowed();
        let mut all = |(name, content, _): &(DownstreamName, Content, Hints)| -> Vec<_> {
            let allowed = content.tools().iter().filter(is_allowed);
            allowed.filter_map(|offered| entry(name, &offered.tool)).collect()
        };
        lists.iter().flat_map(&mut all).collect()
    }

    /// The same of another list.
    pub(crate) fn private_items(
        &self,
        list: ListKind,
        whose: For<'_>,
        lists: &[(DownstreamName, Content, Hints)],
    ) -> Vec<Shown> {
        let ownership = self.ownership();
        // Of the templates of private downstreams only those listed here can be told apart.
        let own = |(name, content, _): &(DownstreamName, Content, Hints)| {
            let items = content.items().iter().map(|item| UriTemplate::skeleton(&item.own));
            items.map(|skeleton| (skeleton, name.clone())).collect::<Vec<_>>()
        };
        let owners: HashMap<_, _> = lists.iter().flat_map(own).collect();
        let mut effort = Effort::default();
        let mut shown = |name: &DownstreamName, item: &Arc<Item>| match (whose.view.downstream(), list) {
            (None, ListKind::Resources) => {
                Shown::under(list, self.shown_uri(whose.caller, name, &item.own, &mut effort), name, item)
            }
            (None, ListKind::ResourceTemplates)
                if owners.get(&UriTemplate::skeleton(&item.own)) != Some(name) =>
            {
                Shown::under(list, mark_uri(name.as_str(), &item.own), name, item)
            }
            (_, list) => Shown::of(list, whose.view, &ownership, name, item),
        };
        let is_restricted = self.rules.class(whose.caller).is_some();
        let is_allowed = |name: &DownstreamName, item: &&Arc<Item>| {
            !is_restricted || self.rules.judge_item(list, whose.caller, &ownership, name, item)
        };
        let mut all = |(name, content, _): &(DownstreamName, Content, Hints)| -> Vec<_> {
            let allowed = content.items().iter().filter(|item| is_allowed(name, item));
            allowed.map(|item| shown(name, item)).collect()
        };
        lists.iter().flat_map(&mut all).collect()
    }

    /// How a URI of this downstream is shown to a caller on `/mcp`; `None`: as it is. What is shown as it is, and
    /// on no shared list, is remembered, so that a read of it finds the downstream. What takes too much effort to tell
    /// is left as it is.
    pub(crate) fn shown_uri(
        &self,
        caller: &Caller,
        downstream: &DownstreamName,
        uri: &str,
        effort: &mut Effort,
    ) -> Option<String> {
        let ownership = self.ownership();
        let owners = ownership.owners_within(uri, effort)?;
        if let Some(marked) = owners.shown_uri(downstream.as_str(), uri) {
            return Some(marked);
        }
        if owners != Owners::Unknown {
            return None;
        }
        let other = self.links.owner(caller, uri).filter(|owner| owner != downstream);
        let is_anothers = other.is_some_and(|owner| self.source(&owner).is_some());
        let marked = is_anothers.then(|| mark_uri(downstream.as_str(), uri)).flatten();
        if marked.is_none() {
            self.links.remember(caller, uri, downstream);
        }
        marked
    }

    /// A list as this session was last shown it, read for it if there is none.
    async fn route(&self, list: ListKind, tracked: &Tracked, whose: For<'_>) -> Result<Content, Error> {
        let For { caller, exchange, .. } = whose;
        match self.routes.get(&key(list, tracked, caller, &exchange.session)) {
            Some(content) => Ok(content),
            None => self.pull_one(list, tracked, caller, exchange).await.map(|(content, _)| content),
        }
    }

    /// The private downstream that alone could offer an exposed name, and its own part of the name.
    fn private_owner(&self, view: &View, list: ListKind, name: &str) -> Option<(Arc<Tracked>, String)> {
        let (tracked, own) = self.possible_owner(view, list, name)?;
        (!tracked.source.is_public).then_some((tracked, own))
    }

    /// The downstream that alone could offer an exposed name, and its own part of the name.
    pub(crate) fn possible_owner(
        &self,
        view: &View,
        list: ListKind,
        name: &str,
    ) -> Option<(Arc<Tracked>, String)> {
        let sources = self.sources();
        let exposed = self.exposed(view, list, name)?;
        let owner = |tracked: &Arc<Tracked>| {
            let source = &tracked.source;
            if !source.enabled || !self.is_behind(view, &source.name) {
                return None;
            }
            let own = exposed.strip_prefix(source.name.as_str())?.strip_prefix(NAMESPACE_SEPARATOR)?;
            Some((tracked.clone(), own.to_owned()))
        };
        sources.iter().find_map(owner)
    }
}

fn key(list: ListKind, tracked: &Tracked, caller: &Caller, session: &SessionKey) -> Key {
    let downstream = tracked.source.name.clone();
    Key { caller: caller.clone(), session: session.clone(), downstream, list }
}

impl Content {
    fn tool(&self, seeker: Seeker, view: &View, name: &str) -> Option<Arc<OfferedTool>> {
        let is_named = |offered: &&Arc<OfferedTool>| match view.downstream() {
            None => offered.tool.name() == name,
            Some(_) => **offered.tool.original() == *name,
        };
        self.tools_of(seeker).find(is_named).cloned()
    }

    fn tools_of(&self, seeker: Seeker) -> impl Iterator<Item = &Arc<OfferedTool>> {
        let tools = match self {
            Self::Tools(tools) => Some(tools),
            Self::Items(_) => None,
        };
        tools.into_iter().flat_map(move |tools| tools.of(seeker))
    }

    pub(crate) fn items(&self) -> &[Arc<Item>] {
        match self {
            Self::Tools(_) => &[],
            Self::Items(items) => items,
        }
    }

    /// Those that the caller is shown.
    pub(crate) fn tools(&self) -> &[Arc<OfferedTool>] {
        match self {
            Self::Tools(tools) => &tools.shown,
            Self::Items(_) => &[],
        }
    }
}

/// What this caller is told of a downstream that gave it no list, whatever is true for others.
fn failed(tracked: &Tracked, error: &Error) -> ListRemark {
    let kind = match error {
        Error::Downstream(error) => error.fault.kind(),
        _ => "gateway",
    };
    tracing::debug!(downstream = %tracked.source.name, %error, "no list for this caller");
    let (downstream, state) = (tracked.source.name.clone(), DownstreamState::Broken);
    ListRemark { downstream, state, is_stale: false, kind }
}
