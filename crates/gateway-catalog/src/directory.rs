use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gateway_aggregate::{Owners, merge_instructions};
use gateway_domain::{
    Act, Caller, CallerError, Decision, Directory, DownstreamName, DownstreamStatus, Error, Exchange,
    Generations, ListKind, ListRemark, Offer, OfferedTool, Origin, Page, PeerInfo, SessionKey, UnlistedError,
    View,
};
use tokio::time::Instant;

use crate::{LiveCatalog, capabilities, item::Others, private::For, tracked::Tracked, visibility::Who};

#[async_trait]
impl Directory for LiveCatalog {
    async fn list(
        &self,
        list: ListKind,
        view: &View,
        caller: &Caller,
        exchange: &Exchange,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        if !self.shared.is_closed() {
            let now = Instant::now();
            self.concerned(view).iter().for_each(|tracked| tracked.ask(now));
        }
        let private = self.behind(view, |source| !source.is_public && source.enabled);
        if !private.is_empty() && !self.shared.is_closed() {
            let whose = For { view, caller, exchange, origin: None };
            return self.private_page(list, private, whose, cursor).await;
        }
        self.patience(view).await;
        let views = self.shared.view(view).ok_or_else(|| unknown(view))?;
        let remarks = self.remarks(view, caller)?;
        let (page, is_filtered) = match list {
            ListKind::Tools => {
                let (shown, is_filtered) = self.shared.tools_for(view, &views.tools, caller);
                (shown.page(exchange.era, cursor)?, is_filtered)
            }
            list => {
                let (shown, is_filtered) = self.shared.items_for(list, view, views.items(list), caller);
                (shown.page(cursor)?, is_filtered)
            }
        };
        let (ttl, is_private) = self.hints(list, view);
        let is_private = is_private || is_filtered;
        Ok(Page { remarks, is_private, ttl: ttl.unwrap_or_default(), ..page })
    }

    fn tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        self.allowed_tool(Who::client(caller), view, session, name)
    }

    fn inner_tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        origin: &Origin,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        self.allowed_tool(Who { caller, origin: Some(origin) }, view, session, name)
    }

    fn workflow(&self, view: &View, caller: &Caller, name: &str) -> Option<Decision> {
        let is_on = match view {
            View::All => true,
            View::Downstream(_) => false,
            View::Profile(profile) => {
                self.shared.profiles().get(profile).is_some_and(|profile| profile.shows_workflow(name))
            }
        };
        is_on.then(|| self.shared.rules.of_workflow(caller, name))
    }

    fn also_called(&self, view: &View, act: Act, name: &str) -> Vec<String> {
        let other = match (act, view) {
            (Act::Call, View::Profile(profile)) => {
                let profiles = self.shared.profiles();
                let profile = profiles.get(profile);
                profile.and_then(|profile| profile.exposed(name)).map(str::to_owned)
            }
            (Act::Complete, View::Downstream(own)) => {
                self.shared.ownership().shown_template(own.as_str(), name)
            }
            (Act::Read | Act::Subscribe, View::Downstream(own)) => {
                self.shared.ownership().shown_uri(own.as_str(), name)
            }
            (Act::Read | Act::Subscribe | Act::Complete, View::All | View::Profile(_)) => {
                match self.shared.ownership().owners(name) {
                    Owners::Marked(_, own) => Some(own),
                    _ => None,
                }
            }
            (Act::Call | Act::Get | Act::Other, _) => None,
        };
        other.into_iter().filter(|other| other != name).collect()
    }

    fn flush(&self, downstream: Option<&DownstreamName>) -> usize {
        Self::flush(self, downstream)
    }

    fn has_view(&self, view: &View) -> bool {
        match view {
            View::All => true,
            View::Downstream(name) => self.shared.source(name).is_some_and(|tracked| tracked.source.enabled),
            View::Profile(name) => {
                let is_downstreams = self.has_view(&View::Downstream(name.clone()));
                !is_downstreams && self.shared.profiles().get(name).is_some()
            }
        }
    }

    fn may_visit(&self, view: &View, caller: &Caller) -> bool {
        if !self.has_view(view) {
            return false;
        }
        let may_use = |tracked: &Arc<Tracked>| self.may_use(caller, tracked);
        match view {
            View::All => true,
            View::Downstream(_) | View::Profile(_) => {
                self.shared.rules.class(caller).is_none()
                    || self.behind(view, |source| source.enabled).iter().any(may_use)
            }
        }
    }

    fn missing_scopes(&self, caller: &Caller, act: Act, names: &[&str]) -> Option<Vec<String>> {
        self.shared.rules.missing_scopes(caller, act, names)
    }

    fn generation(&self, view: &View) -> u64 {
        self.shared.view(view).map_or(0, |views| views.generation())
    }

    fn generations(&self, view: &View) -> Generations {
        self.shared.view(view).map(|views| views.generations()).unwrap_or_default()
    }

    fn generations_to(&self, view: &View, caller: &Caller) -> Generations {
        let Some(views) = self.shared.view(view) else { return Generations::default() };
        // What is not for everybody is not known before somebody asks for it: whoever may be shown it is told.
        let is_known = self.behind(view, |source| !source.is_public && source.enabled).is_empty();
        let class = self.shared.rules.class(caller).filter(|_| is_known);
        match class {
            Some(class) => self.shared.numbers_for(class, view, &views, caller),
            None => views.generations(),
        }
    }

    async fn offer(&self, view: &View) -> Offer {
        self.offered(view, |_| true, |_| true).await
    }

    async fn offer_to(&self, view: &View, caller: &Caller) -> Offer {
        let may_use = |tracked: &Tracked| self.may_use(caller, tracked);
        self.offered(view, may_use, |downstream| self.may_use_some(caller, downstream)).await
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
        let now = Instant::now();
        let status = |tracked: &Arc<Tracked>| {
            let sessions = self.shared.listings.counts(&tracked.source.name).unwrap_or_default();
            DownstreamStatus { sessions, ..tracked.status(now) }
        };
        self.shared.sources().iter().map(status).collect()
    }
}

impl LiveCatalog {
    /// What a view offers: what those downstreams do that are meant, in the words of those of them that may speak.
    async fn offered(
        &self,
        view: &View,
        is_meant: impl Fn(&Tracked) -> bool,
        may_speak: impl Fn(&DownstreamName) -> bool,
    ) -> Offer {
        self.patience(view).await;
        let config = &self.shared.config;
        let mut sources = self.behind(view, |source| source.enabled);
        sources.retain(|tracked| is_meant(tracked));
        let peers: Vec<_> = sources.iter().map(|tracked| tracked.peer()).collect();
        let is_whole = view.downstream().is_none();
        let capabilities = capabilities::union(&peers, is_whole, &config.extensions);
        let said = |(tracked, peer): (&Arc<Tracked>, &Option<PeerInfo>)| {
            let instructions = peer.as_ref()?.instructions.clone()?;
            let name = &tracked.source.name;
            may_speak(name).then(|| (name.to_string(), self.shared.screen.instructions(name, instructions)))
        };
        let mut texts: Vec<_> = sources.iter().zip(&peers).filter_map(said).collect();
        let merged = || {
            let texts: Vec<_> = texts.iter().map(|(name, text)| (&**name, &**text)).collect();
            merge_instructions(&texts, config.instructions_bytes)
        };
        let instructions = match view {
            View::Downstream(_) => texts.pop().map(|(_, text)| text),
            View::All => merged(),
            View::Profile(name) => {
                let profiles = self.shared.profiles();
                let own = profiles.get(name).and_then(|profile| profile.profile.instructions.clone());
                own.or_else(merged)
            }
        };
        Offer { capabilities, instructions }
    }

    /// Whether the rules could leave a caller anything of a downstream. What it has is looked at where all of that is on
    /// lists that are known: not where it has resources, which need not be listed.
    fn may_use(&self, caller: &Caller, tracked: &Tracked) -> bool {
        let name = &tracked.source.name;
        let is_possible = self.shared.rules.may_use(caller, name);
        is_possible && (!tracked.is_known_whole() || self.may_use_some(caller, name))
    }

    /// Whether the rules leave a caller anything of a downstream, as far as that is known to everybody.
    fn may_use_some(&self, caller: &Caller, downstream: &DownstreamName) -> bool {
        let shared = &self.shared;
        if shared.rules.class(caller).is_none() || shared.rules.allow_prefix(caller, downstream) {
            return true;
        }
        let view = View::Downstream(downstream.clone());
        let Some(views) = shared.view(&view) else { return false };
        let has_items =
            |list: ListKind| !shared.items_for(list, &view, views.items(list), caller).0.is_empty();
        !shared.tools_for(&view, &views.tools, caller).0.is_empty()
            || Others::KINDS.into_iter().any(has_items)
    }

    /// A tool by its name in a view, as far as its list is known, whoever may call it.
    pub(crate) fn known_tool(
        &self,
        who: Who<'_>,
        view: &View,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        let shared = self.shared.view(view)?.tools.tool(who.seeker(), name).cloned();
        shared.or_else(|| self.shared.private_tool(who, view, session, name))
    }

    fn allowed_tool(
        &self,
        who: Who<'_>,
        view: &View,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        let known = self.known_tool(who, view, session, name);
        known.filter(|offered| self.shared.rules.of_tool(who, offered).is_allowed())
    }

    /// What is wrong with the shared lists of a view, of downstreams that the caller may know of.
    fn remarks(&self, view: &View, caller: &Caller) -> Result<Vec<ListRemark>, Error> {
        let now = Instant::now();
        let is_told = |tracked: &&Arc<Tracked>| self.may_use_some(caller, &tracked.source.name);
        if self.shared.config.strict {
            let concerned = self.concerned(view);
            let missing = concerned.iter().filter(|tracked| tracked.is_missing()).filter(is_told);
            let missing: Vec<_> = missing.map(|tracked| tracked.source.name.clone()).collect();
            if !missing.is_empty() {
                return Err(UnlistedError { downstreams: missing }.into());
            }
        }
        let remark = |tracked: &Arc<Tracked>| {
            let remark = tracked.remark(now)?;
            is_told(&tracked).then_some(remark)
        };
        Ok(self.concerned(view).iter().filter_map(remark).collect())
    }

    /// A page with what the private downstreams give to this caller.
    async fn private_page(
        &self,
        list: ListKind,
        private: Vec<Arc<Tracked>>,
        whose: For<'_>,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        let view = whose.view;
        let pull = self.shared.pull(list, private, whose);
        let ((), mut pulled) = tokio::join!(self.patience(view), pull);
        pulled.failed.retain(|remark| self.may_use_some(whose.caller, &remark.downstream));
        let remarks = self.remarks(view, whose.caller);
        if self.shared.config.strict && !pulled.failed.is_empty() {
            let failed = pulled.failed.iter().map(|remark| remark.downstream.clone());
            let mut downstreams: Vec<_> = match remarks {
                Err(Error::Unlisted(UnlistedError { downstreams })) => downstreams,
                _ => Vec::new(),
            };
            downstreams.extend(failed);
            downstreams.sort();
            return Err(UnlistedError { downstreams }.into());
        }
        let mut remarks = remarks?;
        let views = self.shared.view(view).ok_or_else(|| unknown(view))?;
        let page = match list {
            ListKind::Tools => {
                let more = self.shared.private_entries(whose, &pulled.lists);
                let (shown, _) = self.shared.tools_for(view, &views.tools, whose.caller);
                shown.page_with(more, whose.exchange.era, cursor)?
            }
            list => {
                let more = self.shared.private_items(list, whose, &pulled.lists);
                let (shown, _) = self.shared.items_for(list, view, views.items(list), whose.caller);
                shown.page_with(more, cursor)?
            }
        };
        let said = pulled.lists.iter().map(|(_, _, hints)| hints.ttl.unwrap_or_default());
        let said = said.chain(pulled.failed.iter().map(|_| Duration::ZERO));
        let ttl = said.chain(self.hints(list, view).0).min().unwrap_or_default();
        remarks.extend(pulled.failed);
        remarks.sort_by(|a, b| a.downstream.cmp(&b.downstream));
        Ok(Page { remarks, ttl, ..page })
    }

    /// For how long a page of shared lists is fresh, as far as its downstreams say (`None`: there are none), and
    /// whether any of them says that it is one caller's.
    fn hints(&self, list: ListKind, view: &View) -> (Option<Duration>, bool) {
        let now = Instant::now();
        let concerned = self.behind(view, |source| source.is_public && source.enabled);
        let hints: Vec<_> = concerned.iter().filter_map(|tracked| tracked.hints(list, now)).collect();
        (hints.iter().map(|(ttl, _)| *ttl).min(), hints.iter().any(|(_, is_private)| *is_private))
    }
}

pub(crate) fn unknown(view: &View) -> Error {
    let name = match view {
        View::All => String::new(),
        View::Downstream(name) | View::Profile(name) => name.to_string(),
    };
    CallerError::UnknownDownstream { name }.into()
}
