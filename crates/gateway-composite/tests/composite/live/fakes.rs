//! A catalogue, and what is behind it, as far as workflows can tell.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use gateway_composite::{
    Composer, ComposerConfig, Definitions, LiveWorkflows, Workflow, WorkflowDefinition, WorkflowError,
};
use gateway_domain::{
    Act, Call, Caller, CallerError, Catalog, CatalogEntry, ClientCapabilities, Decision, Directory,
    Dispatcher, DownstreamName, DownstreamState, DownstreamStatus, Era, Error, Exchange, Generations,
    ListKind, Offer, OfferedTool, Origin, Outcome, Page, Params, ParkId, RawJson, RawObject, SessionCounts,
    SessionKey, Sessions, Subject, Target, Tool, ToolRef, View,
};
use tokio::sync::watch;

/// How long runs wait for their clients.
pub(super) const QUESTION_TIME: Duration = Duration::from_secs(60);

pub(super) fn load(text: &str) -> Arc<Workflow> {
    let definition = RawObject::parse(text.to_owned()).expect("an object");
    let definition = WorkflowDefinition::read(&definition, None).expect("well formed");
    Arc::new(Workflow::compile(definition).expect("valid"))
}

pub(super) fn definitions(texts: &[&str]) -> Definitions {
    Definitions::of(texts.iter().map(|text| load(text))).expect("each name is one workflow's")
}

/// A workflow that calls one tool after the other.
pub(super) fn calling(name: &str, tools: &[&str]) -> String {
    let step = |(at, tool): (usize, &&str)| format!(r#"{{"id":"s{at}","tool":"{tool}"}}"#);
    let steps: Vec<_> = tools.iter().enumerate().map(step).collect();
    format!(r#"{{"name":"{name}","description":"d","steps":[{}]}}"#, steps.join(","))
}

/// A workflow that asks the user, and says what the answer was.
pub(super) fn asking(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"d","steps":[
            {{"id":"ask","type":"elicitation","message":"Sure?",
              "schema":{{"type":"object","properties":{{"sure":{{"type":"boolean"}}}},"required":["sure"]}}}}],
          "output":{{"properties":{{"sure":{{"type":"boolean","description":"S.",
              "value":"{{{{ steps.ask.output.content.sure }}}}"}}}}}}}}"#
    )
}

/// A catalogue whose tools are named `downstream__tool`.
#[derive(Default)]
pub(super) struct Shelves {
    state: Mutex<State>,
    generation: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) shown: Vec<CatalogEntry>,
    /// Kept for workflows.
    pub(super) hidden: Vec<CatalogEntry>,
    /// Known once somebody has listed.
    pub(super) late: Vec<CatalogEntry>,
    /// Of single names that are no `downstream__tool`.
    pub(super) odd: Vec<Arc<OfferedTool>>,
    pub(super) page_size: usize,
    pub(super) is_private: bool,
    pub(super) listed: usize,
    /// What the caller may not use: tools in steps, and workflows.
    pub(super) denied: Vec<&'static str>,
    /// For what the caller lacks a scope.
    pub(super) locked: Vec<&'static str>,
    /// Where there is nothing for the caller.
    pub(super) barred: Vec<View>,
    /// As a catalogue, it renders each page once.
    pages: HashMap<(String, bool), Page>,
}

pub(super) fn entry(name: &str, annotations: &str) -> CatalogEntry {
    let reference = ToolRef::parse(name).expect("downstream__tool");
    let tool = Tool::new(reference.tool());
    let tool = match annotations {
        "" => tool,
        text => tool.with("annotations", &RawJson::parse(text.to_owned()).expect("JSON")),
    };
    CatalogEntry::new(reference.downstream(), tool)
}

fn offered(entry: &CatalogEntry) -> Arc<OfferedTool> {
    Arc::new(OfferedTool {
        downstream: DownstreamName::parse(entry.reference().downstream()).expect("a name"),
        tool: entry.tool().clone(),
        headers: Arc::new([]),
    })
}

impl Shelves {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    /// Changes what is there, and tells.
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.pages.clear();
        self.generation.send_modify(|generation| *generation += 1);
    }

    fn find<'a>(
        view: &View,
        mut among: impl Iterator<Item = &'a CatalogEntry>,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        let found = among.find(|entry| match view {
            View::All | View::Profile(_) => entry.name() == name,
            View::Downstream(downstream) => {
                entry.reference().downstream() == downstream.as_str() && **entry.tool().original() == *name
            }
        });
        found.map(offered)
    }
}

#[async_trait]
impl Directory for Shelves {
    async fn list(
        &self,
        list: ListKind,
        _: &View,
        _: &Caller,
        exchange: &Exchange,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        // A list takes a while, as where a downstream is starting.
        tokio::task::yield_now().await;
        if list != ListKind::Tools {
            return Ok(Page::new(RawJson::array([RawJson::string(list.member())]), None));
        }
        let mut state = self.state();
        state.listed += 1;
        let late = std::mem::take(&mut state.late);
        state.shown.extend(late);
        let key = (cursor.unwrap_or_default().to_owned(), exchange.era == Era::Legacy);
        if let Some(page) = state.pages.get(&key) {
            return Ok(page.clone());
        }
        let catalog = Catalog::new(state.shown.clone()).expect("names are unique");
        let size = if state.page_size == 0 { usize::MAX } else { state.page_size };
        let (shown, next) =
            gateway_aggregate::page(&catalog, &key.0, size).map_err(|_| CallerError::InvalidCursor)?;
        let odd = state.odd.iter().map(|odd| odd.tool.render(odd.tool.name(), exchange.era));
        let items = shown.entries().iter().map(|entry| entry.tool().render(entry.name(), exchange.era));
        let mut page =
            Page::new(RawJson::array(odd.chain(items)), Some(next).filter(|next| !next.is_empty()));
        page.ttl = Duration::from_secs(7);
        page.is_private = state.is_private;
        state.pages.insert(key, page.clone());
        Ok(page)
    }

    async fn offer(&self, _: &View) -> Offer {
        let capabilities = RawObject::parse(r#"{"prompts":{},"tools":{"x":1.0}}"#).expect("an object");
        Offer { capabilities, instructions: Some("Read this.".to_owned()) }
    }

    fn tool(&self, view: &View, _: &Caller, _: &SessionKey, name: &str) -> Option<Arc<OfferedTool>> {
        let state = self.state();
        let odd = state.odd.iter().find(|odd| odd.tool.name() == name && *view == View::All).cloned();
        odd.or_else(|| Self::find(view, state.shown.iter(), name))
    }

    fn inner_tool(
        &self,
        view: &View,
        _: &Caller,
        _: &SessionKey,
        _: &Origin,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        let state = self.state();
        let found = Self::find(view, state.shown.iter().chain(&state.hidden), name);
        found.filter(|_| !state.denied.contains(&name))
    }

    /// On a profile are those that begin with `w`.
    fn workflow(&self, view: &View, _: &Caller, name: &str) -> Option<Decision> {
        let is_on = match view {
            View::All => true,
            View::Downstream(_) => false,
            View::Profile(_) => name.starts_with('w'),
        };
        let is_denied = self.state().denied.contains(&name);
        is_on.then_some(if is_denied { Decision::Denied } else { Decision::Allowed })
    }

    fn may_visit(&self, view: &View, _: &Caller) -> bool {
        self.has_view(view) && !self.state().barred.contains(view)
    }

    fn missing_scopes(&self, _: &Caller, _: Act, names: &[&str]) -> Option<Vec<String>> {
        let is_locked = names.iter().any(|name| self.state().locked.contains(name));
        is_locked.then(|| vec!["s".to_owned()])
    }

    fn flush(&self, _: Option<&DownstreamName>) -> usize {
        3
    }

    fn has_view(&self, view: &View) -> bool {
        match view {
            View::All | View::Profile(_) => true,
            View::Downstream(name) => !["nowhere", "slov"].contains(&name.as_str()),
        }
    }

    fn generation(&self, view: &View) -> u64 {
        let factor = if *view == View::All { 1 } else { 0 };
        *self.generation.borrow() * factor
    }

    fn generations(&self, view: &View) -> Generations {
        Generations { tools: self.generation(view), prompts: 5, resources: 6 }
    }

    fn generations_to(&self, _: &View, _: &Caller) -> Generations {
        Generations { tools: 70, prompts: 80, resources: 90 }
    }

    async fn changed(&self, view: &View, seen: u64) -> u64 {
        let mut generation = self.generation.subscribe();
        while self.generation(view) == seen {
            generation.changed().await.expect("it is not gone");
        }
        self.generation(view)
    }

    fn downstreams(&self) -> Vec<DownstreamStatus> {
        let status = |name: &str, state| DownstreamStatus {
            name: DownstreamName::parse(name).expect("a name"),
            state,
            reason: None,
            protocol: None,
            server: None,
            tools: 0,
            prompts: 0,
            resources: 0,
            aliases: Vec::new(),
            dropped: Vec::new(),
            started: None,
            required: false,
            list_age: None,
            is_stale: false,
            sessions: SessionCounts::default(),
        };
        vec![status("off", DownstreamState::Disabled), status("slow", DownstreamState::Starting)]
    }
}

/// Answers calls of tools; those whose names end with `hangs` never.
#[derive(Default)]
pub(super) struct Calls {
    called: Mutex<Vec<Call>>,
    /// How many calls are going on.
    pub(super) open: Arc<watch::Sender<usize>>,
}

impl Calls {
    /// The names that were called, with the workflow that did.
    pub(super) fn called(&self) -> Vec<(String, Option<String>)> {
        let called = self.called.lock().expect("no panic");
        called.iter().map(|call| (name(call), call.origin.as_ref().map(|o| o.workflow.to_string()))).collect()
    }

    pub(super) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.called.lock().expect("no panic"))
    }

    pub(super) fn params(&self) -> Vec<String> {
        self.called
            .lock()
            .expect("no panic")
            .iter()
            .map(|call| call.params.object.as_str().to_owned())
            .collect()
    }
}

fn name(call: &Call) -> String {
    match &call.target {
        Target::Exposed { subject: Subject::Tool { name, .. }, .. } => name.to_string(),
        other => format!("{other:?}"),
    }
}

struct Open(Arc<watch::Sender<usize>>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

#[async_trait]
impl Dispatcher for Calls {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let name = name(&call);
        self.called.lock().expect("no panic").push(call);
        self.open.send_modify(|open| *open += 1);
        let _open = Open(self.open.clone());
        if name.ends_with("hangs") {
            std::future::pending::<()>().await;
        }
        let result = format!(r#"{{"content":[],"structuredContent":{{"by":{}}}}}"#, RawJson::string(&name));
        Ok(Outcome::Complete(RawObject::parse(result).expect("an object")))
    }
}

/// Takes note of what it is told.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<Vec<String>>);

impl Told {
    fn note(&self, what: String) {
        self.0.lock().expect("no panic").push(what);
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

#[async_trait]
impl Sessions for Told {
    async fn end(&self, key: &SessionKey) {
        self.note(format!("end {}", session_name(key)));
    }

    async fn end_caller(&self, caller: &Caller) {
        self.note(format!("end caller {caller}"));
    }

    fn abandon(&self, park: &ParkId) {
        self.note(format!("abandon {}", park.0));
    }

    fn is_over(&self, park: &ParkId) -> bool {
        *park.0 == *"over"
    }

    async fn roots_changed(&self, key: &SessionKey) {
        self.note(format!("roots {}", session_name(key)));
    }
}

fn session_name(key: &SessionKey) -> String {
    match key {
        SessionKey::Legacy { id } => id.to_string(),
        SessionKey::Modern { caller, .. } => caller.to_string(),
    }
}

/// Everything together.
pub(super) struct World {
    pub(super) shelves: Arc<Shelves>,
    pub(super) calls: Arc<Calls>,
    pub(super) told: Arc<Told>,
    pub(super) composer: Composer,
    pub(super) live: LiveWorkflows,
}

impl World {
    /// Tools by name and annotations, and workflows.
    pub(super) fn new(tools: &[(&str, &str)], workflows: &[&str]) -> Self {
        Self::with(ComposerConfig::default(), tools, workflows).expect("it can be")
    }

    pub(super) fn with(
        config: ComposerConfig,
        tools: &[(&str, &str)],
        workflows: &[&str],
    ) -> Result<Self, WorkflowError> {
        let shelves = Arc::new(Shelves::default());
        shelves.state().shown = tools.iter().map(|(name, annotations)| entry(name, annotations)).collect();
        let (calls, told) = (Arc::new(Calls::default()), Arc::new(Told::default()));
        let composer = Composer::new(config, calls.clone());
        let live = LiveWorkflows::new(
            shelves.clone(),
            calls.clone(),
            told.clone(),
            composer.clone(),
            QUESTION_TIME,
            definitions(workflows),
        )?;
        Ok(Self { shelves, calls, told, composer, live })
    }

    pub(super) async fn page(&self, cursor: Option<&str>) -> Page {
        let (caller, exchange) = (caller(), modern(&caller(), FORMS));
        let page = self.live.list(ListKind::Tools, &View::All, &caller, &exchange, cursor);
        page.await.expect("a page")
    }

    /// The names on all pages, in order.
    pub(super) async fn listed(&self) -> Vec<String> {
        let (mut names, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.page(cursor.as_deref()).await;
            names.extend(items(&page).iter().map(|item| item.get_text("name").expect("a name")));
            cursor = page.next_cursor;
            if cursor.is_none() {
                return names;
            }
        }
    }

    pub(super) async fn call(&self, name: &str) -> Result<Outcome, Error> {
        self.live.dispatch(call(name, r#"{}"#)).await
    }

    /// How many runs there are.
    pub(super) async fn runs(&self) -> usize {
        self.composer.active().await.expect("the store works").len()
    }
}

pub(super) fn items(page: &Page) -> Vec<RawObject> {
    let items = page.items.elements(usize::MAX).expect("an array");
    items.into_iter().map(|item| RawObject::try_from(item).expect("an object")).collect()
}

pub(super) const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

pub(super) fn caller() -> Caller {
    Caller::client("ann")
}

pub(super) fn modern(caller: &Caller, capabilities: &str) -> Exchange {
    let capabilities =
        ClientCapabilities::from(RawObject::parse(capabilities.to_owned()).expect("an object"));
    let session = SessionKey::Modern { caller: caller.clone(), capabilities: capabilities.clone() };
    Exchange::quiet(Era::Modern, session, capabilities)
}

pub(super) fn legacy(session: &str) -> Exchange {
    let capabilities = ClientCapabilities::from(RawObject::parse(FORMS).expect("an object"));
    Exchange::quiet(Era::Legacy, SessionKey::Legacy { id: session.into() }, capabilities)
}

/// A call of a modern client that can show forms.
pub(super) fn call(name: &str, arguments: &str) -> Call {
    let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
    Call {
        target: Target::Exposed { view: View::All, subject: Subject::tool(name) },
        params: Params { object: RawObject::parse(params).expect("an object"), meta: None },
        follow_up: None,
        caller: caller(),
        exchange: modern(&caller(), FORMS),
        origin: None,
    }
}

#[track_caller]
pub(super) fn completed(outcome: Result<Outcome, Error>) -> RawObject {
    match outcome {
        Ok(Outcome::Complete(result)) => result,
        other => panic!("no result: {other:?}"),
    }
}

#[track_caller]
pub(super) fn refused(outcome: Result<Outcome, Error>, expected: &CallerError) {
    match outcome {
        Err(Error::Caller(error)) => assert_eq!(error, *expected),
        other => panic!("not refused: {other:?}"),
    }
}

pub(super) fn unknown(name: &str) -> CallerError {
    CallerError::UnknownTool { name: name.to_owned() }
}
