//! Downstreams whose sessions follow a script, and a catalogue over them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_catalog::{CatalogConfig, Listings, LiveCatalog, Signal, Source, ToolFilter};
use gateway_domain::{
    Caller, Directory, DownstreamFault, DownstreamName, DownstreamSession, DownstreamStatus, Era, Error,
    Exchange, Outcome, ParamHeader, Params, PeerInfo, RawObject, Session, Tool, ToolPage, View,
};
use tokio::time::Instant;

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
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
    /// The first page of two, then nothing.
    HangAfterOne(Vec<Tool>),
}

#[derive(Clone)]
pub(crate) enum Opening {
    Works,
    Hangs,
    Fails(&'static str),
    /// The supervisor leaves it alone for now.
    Broken(&'static str),
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
}

impl Script {
    pub(crate) fn lists(lists: Lists) -> Self {
        let (delay, page_delay) = (Duration::ZERO, Duration::ZERO);
        Self { delay, opening: Opening::Works, lists, page_delay, restless: false }
    }

    pub(crate) fn tools(names: &[&str]) -> Self {
        Self::lists(Lists::Pages(vec![tools(names)]))
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
}

impl Fake {
    pub(crate) fn follow(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    fn script(&self) -> Script {
        self.script.lock().unwrap().clone()
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

struct FakeSession {
    fake: Arc<Fake>,
    peer: PeerInfo,
}

#[async_trait]
impl Session for FakeSession {
    async fn close(&self) {}
}

#[async_trait]
impl DownstreamSession for FakeSession {
    fn peer(&self) -> &PeerInfo {
        &self.peer
    }

    async fn call_tool(
        &self,
        _: &str,
        _: &[ParamHeader],
        _: &Params,
        _: &Exchange,
    ) -> Result<Outcome, Error> {
        Err(DownstreamFault::Closed.before(&self.fake.name))
    }

    async fn list_tools(&self, cursor: Option<&str>) -> Result<ToolPage, Error> {
        let script = self.fake.script();
        tokio::time::sleep(script.page_delay).await;
        let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let answer = |tools: Vec<Tool>, next: Option<usize>| ToolPage {
            tools,
            next_cursor: next.map(|next| next.to_string()),
            skipped: Vec::new(),
        };
        let answer = match script.lists {
            Lists::Pages(pages) => answer(
                pages.get(page).cloned().unwrap_or_default(),
                (page + 1 < pages.len()).then_some(page + 1),
            ),
            Lists::Circle(tools) => answer(tools, Some(7)),
            Lists::Endless { with_tools: true } => {
                answer(tools(&[&format!("tool-{page:03}")]), Some(page + 1))
            }
            Lists::Endless { with_tools: false } => answer(Vec::new(), Some(page + 1)),
            Lists::Skipped(skipped) => ToolPage { skipped, ..answer(Vec::new(), None) },
            Lists::HangAfterOne(tools) if page == 0 => answer(tools, Some(1)),
            Lists::HangAfterOne(_) => std::future::pending().await,
        };
        if script.restless {
            gateway_domain::DownstreamObserver::tools_changed(self.fake.signal.as_ref());
        }
        Ok(answer)
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }
}

pub(crate) struct Fakes(HashMap<DownstreamName, Arc<Fake>>);

#[async_trait]
impl Listings for Fakes {
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error> {
        let fake = self.0[name].clone();
        fake.opened.lock().unwrap().push(Instant::now());
        let script = fake.script();
        tokio::time::sleep(script.delay).await;
        match script.opening {
            Opening::Works => {}
            Opening::Hangs => std::future::pending().await,
            Opening::Fails(reason) => {
                return Err(DownstreamFault::Unreachable { reason: reason.into() }.before(name));
            }
            Opening::Broken(reason) => {
                let (retry_in, reason) = (ms(1_000), reason.into());
                return Err(DownstreamFault::Broken { retry_in, reason }.before(name));
            }
            Opening::Panics => panic!("as scripted"),
        }
        let peer = PeerInfo {
            era: Era::Modern,
            protocol: "2026-07-28".into(),
            server: None,
            capabilities: RawObject::empty(),
            instructions: None,
        };
        Ok(Arc::new(FakeSession { fake, peer }))
    }
}

/// A catalogue over fakes.
pub(crate) struct Scene {
    pub(crate) catalog: LiveCatalog,
    pub(crate) fakes: Arc<Fakes>,
}

impl Scene {
    pub(crate) fn start(scripts: impl IntoIterator<Item = (&'static str, Script)>) -> Self {
        Self::with(CatalogConfig::default(), scripts, |_| {})
    }

    pub(crate) fn with(
        config: CatalogConfig,
        scripts: impl IntoIterator<Item = (&'static str, Script)>,
        configure: impl Fn(&mut Source),
    ) -> Self {
        let mut sources = Vec::new();
        let mut fakes = HashMap::new();
        for (text, script) in scripts {
            let (name, signal) = (name(text), Arc::new(Signal::new()));
            let mut source = Source {
                name: name.clone(),
                filter: ToolFilter::default(),
                required: false,
                enabled: true,
                mirrors_headers: false,
                list_timeout: ms(10_000),
                signal: signal.clone(),
            };
            configure(&mut source);
            sources.push(source);
            let (script, opened) = (Mutex::new(script), Mutex::default());
            fakes.insert(name.clone(), Arc::new(Fake { name, signal, script, opened }));
        }
        let fakes = Arc::new(Fakes(fakes));
        Self { catalog: LiveCatalog::start(config, fakes.clone(), sources), fakes }
    }

    pub(crate) fn fake(&self, text: &str) -> Arc<Fake> {
        self.fakes.0[&name(text)].clone()
    }

    pub(crate) fn status(&self, text: &str) -> DownstreamStatus {
        self.catalog.downstreams().into_iter().find(|status| status.name.as_str() == text).unwrap()
    }

    /// The first page, as JSON text.
    pub(crate) async fn page(&self, view: &View) -> String {
        self.catalog.tools(view, Era::Modern, &Caller::anonymous(), None).await.unwrap().tools.to_string()
    }

    /// The names on the first page.
    pub(crate) async fn names(&self, view: &View) -> Vec<String> {
        let page = self.catalog.tools(view, Era::Modern, &Caller::anonymous(), None).await.unwrap();
        names_on(&page.tools)
    }
}

pub(crate) fn names_on(page: &gateway_domain::RawJson) -> Vec<String> {
    let definitions = page.elements(usize::MAX).unwrap();
    definitions.into_iter().map(|one| RawObject::try_from(one).unwrap().get_text("name").unwrap()).collect()
}
