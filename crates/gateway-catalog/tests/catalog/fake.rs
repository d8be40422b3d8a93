//! Downstreams whose sessions follow a script, and a catalogue over them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use gateway_catalog::{
    CatalogBuilder, CatalogConfig, ListStore, Listings, LiveCatalog, MemoryStore, Signal, Source, ToolFilter,
};
use gateway_domain::{
    Caller, ClientCapabilities, Directory, DownstreamFault, DownstreamName, DownstreamSession,
    DownstreamStatus, Era, Error, Exchange, ListKind, ListPage, ListRemark, OfferedTool, Outcome, Page,
    Params, PeerInfo, RawObject, Session, SessionCounts, SessionKey, Subject, Tool, View,
};
use tokio::time::Instant;

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A wall clock that goes with the paused one.
pub(crate) fn wall_clock() -> SystemTime {
    static ANCHOR: OnceLock<Instant> = OnceLock::new();
    let (now, anchor) = (Instant::now(), *ANCHOR.get_or_init(Instant::now));
    let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
    noon + now.saturating_duration_since(anchor) - anchor.saturating_duration_since(now)
}

/// The defaults, by that clock.
pub(crate) fn config() -> CatalogConfig {
    CatalogConfig { wall_clock, ..CatalogConfig::default() }
}

pub(crate) fn name(text: &str) -> DownstreamName {
    DownstreamName::parse(text).unwrap()
}

pub(crate) fn view(downstream: &str) -> View {
    View::Downstream(name(downstream))
}

pub(crate) fn define(definition: impl Into<String>) -> Tool {
    Tool::from_definition(RawObject::parse(definition.into()).unwrap()).unwrap()
}

pub(crate) fn tools(names: &[&str]) -> Vec<Tool> {
    names
        .iter()
        .map(|name| define(format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)))
        .collect()
}

/// How a downstream answers `tools/list`.
#[derive(Clone)]
pub(crate) enum Lists {
    /// One page for each element; the cursor is the next one's number.
    Pages(Vec<Vec<Tool>>),
    /// A page whose cursor leads to itself.
    Circle(Vec<Tool>),
    /// Never the last page; each has a tool of its own, or none.
    Endless { with_tools: bool },
    /// One page without tools and with these remarks.
    Skipped(Vec<String>),
    /// Fails as told.
    Fails(DownstreamFault),
    /// The first page of two, then nothing.
    HangAfterOne(Vec<Tool>),
}

#[derive(Clone)]
pub(crate) enum Opening {
    Works,
    Hangs,
    Fails(&'static str),
    FailsWith(DownstreamFault),
    /// The supervisor leaves it alone for so many milliseconds.
    Broken(&'static str, u64),
    Panics,
}

/// What a downstream does from now on.
#[derive(Clone)]
pub(crate) struct Script {
    /// How long opening a session takes, whatever comes of it.
    pub(crate) delay: Duration,
    pub(crate) opening: Opening,
    pub(crate) lists: Lists,
    /// How long each page takes.
    pub(crate) page_delay: Duration,
    /// Whether the downstream announces a change whenever it has been listed.
    pub(crate) restless: bool,
    /// How long each of its pages says to hold, in milliseconds.
    pub(crate) ttls: Vec<u64>,
    pub(crate) era: Era,
    /// Whether it says that it has tools.
    pub(crate) declares_tools: bool,
    /// The tools of callers with a list of their own; everybody else gets `lists`.
    pub(crate) privileged: Vec<(Caller, Vec<Tool>)>,
    /// Its other lists: one page of these definitions, or a failure. What is not here it does not have.
    pub(crate) others: Vec<(ListKind, Result<Vec<String>, DownstreamFault>)>,
    /// More capabilities than `tools`, as members of JSON.
    pub(crate) capabilities: String,
    pub(crate) instructions: Option<String>,
    /// Whether it says that only who asks may be shown its lists.
    pub(crate) is_private: bool,
    /// How much longer its other lists take than that of its tools.
    pub(crate) others_delay: Duration,
}

impl Script {
    pub(crate) fn lists(lists: Lists) -> Self {
        let (delay, page_delay) = (Duration::ZERO, Duration::ZERO);
        Self {
            delay,
            opening: Opening::Works,
            lists,
            page_delay,
            restless: false,
            ttls: Vec::new(),
            era: Era::Modern,
            declares_tools: true,
            privileged: Vec::new(),
            others: Vec::new(),
            capabilities: String::new(),
            instructions: None,
            is_private: false,
            others_delay: Duration::ZERO,
        }
    }

    pub(crate) fn tools(names: &[&str]) -> Self {
        Self::lists(Lists::Pages(vec![tools(names)]))
    }

    /// The same with another list, of these definitions, and the capability that goes with it.
    pub(crate) fn and(mut self, list: ListKind, definitions: &[&str]) -> Self {
        let member = match list {
            ListKind::ResourceTemplates => ListKind::Resources.member(),
            list => list.member(),
        };
        if !self.capabilities.contains(member) {
            self.capabilities.push_str(&format!(r#","{member}":{{}}"#));
        }
        self.others.retain(|(known, _)| *known != list);
        self.others.push((list, Ok(definitions.iter().map(|&one| one.to_owned()).collect())));
        self
    }

    pub(crate) fn hanging() -> Self {
        Self { opening: Opening::Hangs, ..Self::tools(&[]) }
    }

    pub(crate) fn failing(reason: &'static str) -> Self {
        Self { opening: Opening::Fails(reason), ..Self::tools(&[]) }
    }

    pub(crate) fn panicking() -> Self {
        Self { opening: Opening::Panics, ..Self::tools(&[]) }
    }

    pub(crate) fn after(self, milliseconds: u64) -> Self {
        Self { delay: ms(milliseconds), ..self }
    }
}

pub(crate) struct Fake {
    pub(crate) name: DownstreamName,
    pub(crate) signal: Arc<Signal>,
    script: Mutex<Script>,
    /// When a session was asked for.
    opened: Mutex<Vec<Instant>>,
    /// When a first page was asked for.
    listed: Mutex<Vec<Instant>>,
    /// Which other lists were asked for.
    others: Mutex<Vec<ListKind>>,
    counts: Mutex<Option<SessionCounts>>,
    /// How many of the next lists are asked for in a session that it has forgotten.
    forgets: AtomicUsize,
}

impl Fake {
    pub(crate) fn forget(&self, sessions: usize) {
        self.forgets.store(sessions, SeqCst);
    }

    pub(crate) fn follow(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    fn script(&self) -> Script {
        self.script.lock().unwrap().clone()
    }

    /// How often its list was asked for.
    pub(crate) fn pulls(&self) -> usize {
        self.listed.lock().unwrap().len()
    }

    /// How long after one another its list was asked for, in milliseconds.
    pub(crate) fn pull_gaps(&self) -> Vec<u128> {
        let listed = self.listed.lock().unwrap();
        listed.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    }

    pub(crate) fn count(&self, counts: SessionCounts) {
        *self.counts.lock().unwrap() = Some(counts);
    }

    /// How often the downstream has been refreshed.
    pub(crate) fn refreshes(&self) -> usize {
        self.opened.lock().unwrap().len()
    }

    /// How long after one another it was refreshed, in milliseconds.
    pub(crate) fn gaps(&self) -> Vec<u128> {
        let opened = self.opened.lock().unwrap();
        opened.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    }
}

impl FakeSession {
    async fn other(&self, script: &Script, list: ListKind) -> Result<ListPage, Error> {
        self.fake.others.lock().unwrap().push(list);
        tokio::time::sleep(script.page_delay + script.others_delay).await;
        let known = script.others.iter().find(|(known, _)| *known == list);
        let items = known.map_or_else(|| Ok(Vec::new()), |(_, items)| items.clone());
        let items = items.map_err(|fault| fault.before(&self.fake.name))?;
        let items = items.into_iter().map(|one| RawObject::parse(one).unwrap()).collect();
        let ttl = script.ttls.first().copied().map(ms);
        Ok(ListPage { items, ttl, is_private: script.is_private, ..ListPage::default() })
    }
}

struct FakeSession {
    fake: Arc<Fake>,
    peer: PeerInfo,
    /// Whose session it is, if not everybody's.
    owner: Option<Caller>,
    is_open: AtomicBool,
}

#[async_trait]
impl Session for FakeSession {
    async fn close(&self) {}

    fn is_open(&self) -> bool {
        self.is_open.load(SeqCst)
    }
}

#[async_trait]
impl DownstreamSession for FakeSession {
    fn peer(&self) -> &PeerInfo {
        &self.peer
    }

    async fn call(&self, _: &Subject, _: &Params, _: &Exchange) -> Result<Outcome, Error> {
        Err(DownstreamFault::Closed.before(&self.fake.name))
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        let script = self.fake.script();
        if list != ListKind::Tools {
            return self.other(&script, list).await;
        }
        let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        if page == 0 {
            self.fake.listed.lock().unwrap().push(Instant::now());
            if self.fake.forgets.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
                self.is_open.store(false, SeqCst);
                return Err(DownstreamFault::Ended { reason: "404".into() }.before(&self.fake.name));
            }
        }
        tokio::time::sleep(script.page_delay).await;
        let answer = |tools: Vec<Tool>, next: Option<usize>| ListPage {
            items: tools.into_iter().map(|tool| tool.definition().clone()).collect(),
            next_cursor: next.map(|next| next.to_string()),
            ttl: script.ttls.get(page).copied().map(ms),
            is_private: script.is_private,
            ..ListPage::default()
        };
        let own = script.privileged.iter().find(|(caller, _)| self.owner.as_ref() == Some(caller));
        let lists = own.map_or(script.lists, |(_, tools)| Lists::Pages(vec![tools.clone()]));
        let answer = match lists {
            Lists::Pages(pages) => answer(
                pages.get(page).cloned().unwrap_or_default(),
                (page + 1 < pages.len()).then_some(page + 1),
            ),
            Lists::Circle(tools) => answer(tools, Some(7)),
            Lists::Endless { with_tools: true } => {
                answer(tools(&[&format!("tool-{page:03}")]), Some(page + 1))
            }
            Lists::Endless { with_tools: false } => answer(Vec::new(), Some(page + 1)),
            Lists::Skipped(skipped) => ListPage { skipped, ..answer(Vec::new(), None) },
            Lists::Fails(fault) => return Err(fault.before(&self.fake.name)),
            Lists::HangAfterOne(tools) if page == 0 => answer(tools, Some(1)),
            Lists::HangAfterOne(_) => std::future::pending().await,
        };
        if script.restless {
            gateway_domain::DownstreamObserver::list_changed(self.fake.signal.as_ref(), ListKind::Tools);
        }
        Ok(answer)
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// All fakes by name; more can be added while the catalogue runs.
pub(crate) struct Fakes(Mutex<HashMap<DownstreamName, Arc<Fake>>>);

impl Fakes {
    fn add(&self, text: &str, script: Script) -> Source {
        let (name, signal) = (name(text), Arc::new(Signal::new()));
        let fake = Fake {
            name: name.clone(),
            signal: signal.clone(),
            script: Mutex::new(script),
            opened: Mutex::default(),
            listed: Mutex::default(),
            others: Mutex::default(),
            counts: Mutex::default(),
            forgets: AtomicUsize::new(0),
        };
        self.0.lock().unwrap().insert(name.clone(), Arc::new(fake));
        Source {
            address: format!("address of {name}"),
            name,
            is_public: true,
            is_per_caller: false,
            filter: ToolFilter::default(),
            required: false,
            enabled: true,
            mirrors_headers: false,
            list_timeout: ms(10_000),
            signal,
        }
    }

    async fn open(
        &self,
        name: &DownstreamName,
        owner: Option<Caller>,
    ) -> Result<Arc<dyn DownstreamSession>, Error> {
        let fake = self.0.lock().unwrap()[name].clone();
        fake.opened.lock().unwrap().push(Instant::now());
        let script = fake.script();
        tokio::time::sleep(script.delay).await;
        match script.opening {
            Opening::Works => {}
            Opening::Hangs => std::future::pending().await,
            Opening::Fails(reason) => {
                return Err(DownstreamFault::Unreachable { reason: reason.into() }.before(name));
            }
            Opening::FailsWith(fault) => return Err(fault.before(name)),
            Opening::Broken(reason, retry_in) => {
                let (retry_in, reason) = (ms(retry_in), reason.into());
                return Err(DownstreamFault::Broken { retry_in, reason }.before(name));
            }
            Opening::Panics => panic!("as scripted"),
        }
        let tools = if script.declares_tools { r#""tools":{}"# } else { r#""x":{}"# };
        let capabilities = format!("{{{tools}{}}}", script.capabilities);
        let peer = PeerInfo {
            era: script.era,
            protocol: "2026-07-28".into(),
            server: None,
            capabilities: RawObject::parse(capabilities).unwrap(),
            instructions: script.instructions.clone(),
        };
        Ok(Arc::new(FakeSession { fake, peer, owner, is_open: AtomicBool::new(true) }))
    }
}

#[async_trait]
impl Listings for Fakes {
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error> {
        self.open(name, None).await
    }

    async fn session_for(
        &self,
        name: &DownstreamName,
        exchange: &Exchange,
    ) -> Result<Arc<dyn DownstreamSession>, Error> {
        let SessionKey::Modern { caller, .. } = &exchange.session else { panic!("all here are modern") };
        self.open(name, Some(caller.clone())).await
    }

    fn counts(&self, name: &DownstreamName) -> Option<SessionCounts> {
        *self.0.lock().unwrap()[name].counts.lock().unwrap()
    }
}

/// A catalogue over fakes.
pub(crate) struct Scene {
    pub(crate) catalog: LiveCatalog,
    pub(crate) fakes: Arc<Fakes>,
}

impl Scene {
    pub(crate) fn start(scripts: impl IntoIterator<Item = (&'static str, Script)>) -> Self {
        Self::with(config(), scripts, |_| {})
    }

    pub(crate) fn with(
        config: CatalogConfig,
        scripts: impl IntoIterator<Item = (&'static str, Script)>,
        configure: impl Fn(&mut Source),
    ) -> Self {
        Self::stored(config, Arc::new(MemoryStore::default()), scripts, configure)
    }

    pub(crate) fn stored(
        config: CatalogConfig,
        store: Arc<dyn ListStore>,
        scripts: impl IntoIterator<Item = (&'static str, Script)>,
        configure: impl Fn(&mut Source),
    ) -> Self {
        let fakes = Arc::new(Fakes(Mutex::default()));
        let source = |(text, script)| {
            let mut source = fakes.add(text, script);
            configure(&mut source);
            source
        };
        let sources = scripts.into_iter().map(source).collect();
        Self { catalog: LiveCatalog::with_store(config, fakes.clone(), store, sources), fakes }
    }

    /// One that is built as told.
    pub(crate) fn built(
        scripts: impl IntoIterator<Item = (&'static str, Script)>,
        configure: impl Fn(&mut Source),
        build: impl FnOnce(CatalogBuilder) -> CatalogBuilder,
    ) -> Self {
        Self::built_with(config(), scripts, configure, build)
    }

    pub(crate) fn built_with(
        config: CatalogConfig,
        scripts: impl IntoIterator<Item = (&'static str, Script)>,
        configure: impl Fn(&mut Source),
        build: impl FnOnce(CatalogBuilder) -> CatalogBuilder,
    ) -> Self {
        let fakes = Arc::new(Fakes(Mutex::default()));
        let source = |(name, script)| {
            let mut source = fakes.add(name, script);
            configure(&mut source);
            source
        };
        let sources = scripts.into_iter().map(source).collect();
        let catalog = build(CatalogBuilder::new(config, fakes.clone(), sources)).start().unwrap();
        Self { catalog, fakes }
    }

    /// A downstream that the catalogue does not know yet, or another one in the place of one it knows.
    pub(crate) fn add(&self, text: &'static str, script: Script) -> Source {
        self.fakes.add(text, script)
    }

    pub(crate) fn fake(&self, text: &str) -> Arc<Fake> {
        self.fakes.0.lock().unwrap()[&name(text)].clone()
    }

    pub(crate) fn status(&self, text: &str) -> DownstreamStatus {
        self.catalog.downstreams().into_iter().find(|status| status.name.as_str() == text).unwrap()
    }

    /// The first page, for anybody.
    pub(crate) async fn first(&self, view: &View) -> Result<Page, Error> {
        self.first_for(view, &Caller::anonymous()).await
    }

    pub(crate) async fn first_for(&self, view: &View, caller: &Caller) -> Result<Page, Error> {
        self.catalog.list(ListKind::Tools, view, caller, &exchange(caller), None).await
    }

    /// A page for anybody.
    pub(crate) async fn page_at(&self, view: &View, era: Era, cursor: Option<&str>) -> Result<Page, Error> {
        let caller = Caller::anonymous();
        self.catalog.list(ListKind::Tools, view, &caller, &exchange_in(era, &caller), cursor).await
    }

    pub(crate) fn tool(&self, view: &View, name: &str) -> Option<Arc<OfferedTool>> {
        let caller = Caller::anonymous();
        self.catalog.tool(view, &caller, &exchange(&caller).session, name)
    }

    /// The first page, as JSON text.
    pub(crate) async fn page(&self, view: &View) -> String {
        self.first(view).await.unwrap().items.to_string()
    }

    /// The names on the first page.
    pub(crate) async fn names(&self, view: &View) -> Vec<String> {
        names_on(&self.first(view).await.unwrap().items)
    }

    /// What is said of downstreams that are not well: name, state, whether stale, kind.
    pub(crate) async fn remarks(&self, view: &View) -> Vec<(String, &'static str, bool, &'static str)> {
        let remarks = self.first(view).await.unwrap().remarks;
        let said = |r: ListRemark| (r.downstream.to_string(), r.state.as_str(), r.is_stale, r.kind);
        remarks.into_iter().map(said).collect()
    }
}

/// The circumstances of a modern request of this caller.
pub(crate) fn exchange(caller: &Caller) -> Exchange {
    exchange_in(Era::Modern, caller)
}

pub(crate) fn exchange_in(era: Era, caller: &Caller) -> Exchange {
    let capabilities = ClientCapabilities::none();
    let session = SessionKey::Modern { caller: caller.clone(), capabilities: capabilities.clone() };
    Exchange::quiet(era, session, capabilities)
}

pub(crate) fn names_on(page: &gateway_domain::RawJson) -> Vec<String> {
    let definitions = page.elements(usize::MAX).unwrap();
    definitions.into_iter().map(|one| RawObject::try_from(one).unwrap().get_text("name").unwrap()).collect()
}
