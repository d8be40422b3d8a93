//! A server in front of ports that do what a test wants.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    Act, Answering, Call, Caller, CallerError, ClientCapabilities, Directory, Dispatcher, DoorAudit,
    DoorRefusal, DownstreamFault, DownstreamName, DownstreamState, DownstreamStatus, Error, Event, Exchange,
    Generations, ListKind, ListRemark, Offer, OfferedTool, Outcome, Page, ParamHeader, ParamKind, ParkId,
    PeerError, RawJson, RawObject, SessionKey, Sessions, Subject, Subscription, Subscriptions, Target, Tool,
    Updates, View,
};
use gateway_protocol::Implementation;
use gateway_server::{ClientKey, Ports, Server, ServerConfig, Settings};
use gateway_testkit::client::{HttpClient, Speaks};
use tokio::{
    sync::{Notify, oneshot, watch},
    task::JoinHandle,
    time::timeout,
};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const OURS: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"gateway","title":"Gateway","version":"1"}}"#;

/// What the downstreams can do.
pub(crate) const OFFER: &str = r#"{"tools":{"listChanged":true}}"#;
/// All that any can.
pub(crate) const WHOLE_OFFER: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{},"x.y/z":{}}}"#;

/// What the ports were told, and what they say.
pub(crate) struct World {
    pub(crate) generation: watch::Sender<u64>,
    /// Of which lists; all change together unless told otherwise.
    pub(crate) generations: Mutex<Generations>,
    pub(crate) offer: Mutex<Offer>,
    /// Who watches which resource, while it does.
    pub(crate) watched: Mutex<Vec<(String, std::sync::Weak<Watch>)>>,
    /// What is refused to whoever would watch it, or has a downstream that is down.
    pub(crate) refused: Mutex<Vec<&'static str>>,
    pub(crate) down: Mutex<Vec<&'static str>>,
    /// What calls of `files__script` end with, in order, and what they were.
    pub(crate) script: Mutex<std::collections::VecDeque<Outcome>>,
    pub(crate) asked: Mutex<Vec<Call>>,
    pub(crate) page: Mutex<RawJson>,
    /// Calls of `hang` and `slow` that have begun, were dropped unfinished, or finished.
    pub(crate) begun: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    /// Lets one call of `slow` go on.
    pub(crate) go: Notify,
    pub(crate) ended: Mutex<Vec<SessionKey>>,
    /// Whether lists and what is offered never come.
    pub(crate) hangs: AtomicBool,
    /// How often a client's roots were said to be others.
    pub(crate) roots: AtomicUsize,
    /// Parked calls that were given up.
    pub(crate) abandoned: Mutex<Vec<ParkId>>,
    /// Whether parked calls wait for no answer any more.
    pub(crate) over: AtomicBool,
    pub(crate) state: Mutex<DownstreamState>,
    pub(crate) calls: Mutex<Vec<(Caller, SessionKey)>>,
    /// Whose lists were asked for.
    pub(crate) lists: Mutex<Vec<SessionKey>>,
    /// What is said with every list: whether it is private, and what is wrong.
    pub(crate) remarks: Mutex<(bool, Vec<ListRemark>)>,
    pub(crate) flushed: Mutex<Vec<Option<DownstreamName>>>,
    /// Requests that were refused at the door.
    pub(crate) refusals: Mutex<Vec<Refused>>,
}

/// A refusal: caller, whether the peer is known, method, name, reason.
pub(crate) type Refused = (Option<String>, bool, Option<String>, Option<String>, String);

impl DoorAudit for World {
    fn refused(&self, refusal: &DoorRefusal<'_>) {
        let DoorRefusal { caller, peer, method, name, reason } = refusal;
        let text = |text: &Option<&str>| text.map(str::to_owned);
        let refused =
            (caller.map(Caller::to_string), peer.is_some(), text(method), text(name), reason.to_string());
        self.refusals.lock().unwrap().push(refused);
    }
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            generation: watch::Sender::new(1),
            generations: Mutex::default(),
            offer: Mutex::new(Offer { capabilities: object(OFFER), instructions: None }),
            watched: Mutex::default(),
            refused: Mutex::default(),
            down: Mutex::default(),
            script: Mutex::default(),
            asked: Mutex::default(),
            page: Mutex::new(RawJson::parse(r#"[{"name":"files__echo","n":1.0}]"#).unwrap()),
            begun: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            go: Notify::new(),
            ended: Mutex::default(),
            hangs: AtomicBool::new(false),
            roots: AtomicUsize::new(0),
            abandoned: Mutex::default(),
            over: AtomicBool::new(false),
            state: Mutex::new(DownstreamState::Ready),
            calls: Mutex::default(),
            lists: Mutex::default(),
            remarks: Mutex::default(),
            flushed: Mutex::default(),
            refusals: Mutex::default(),
        })
    }

    pub(crate) fn ports(self: &Arc<Self>) -> Ports {
        let calls = Arc::new(Hasty(self.clone()));
        Ports { audit: self.clone(), ..Ports::new(self.clone(), calls, self.clone(), self.clone()) }
    }

    /// Those who watch a resource are told.
    pub(crate) fn update(&self, uri: &str, params: &str) {
        for (watched, updates) in self.watched.lock().unwrap().iter() {
            if let Some(updates) = updates.upgrade().filter(|_| watched == uri) {
                updates.0.updated(object(params));
            }
        }
    }

    /// How many subscriptions there are.
    pub(crate) fn watching(&self) -> usize {
        self.watched.lock().unwrap().iter().filter(|(_, guard)| guard.strong_count() > 0).count()
    }

    pub(crate) fn offer_all(&self) {
        self.offer.lock().unwrap().capabilities = object(WHOLE_OFFER);
    }

    /// The list of tools changes.
    pub(crate) fn change(&self) {
        self.change_list(|generations| &mut generations.tools);
    }

    pub(crate) fn change_list(&self, list: impl FnOnce(&mut Generations) -> &mut u64) {
        *list(&mut self.generations.lock().unwrap()) += 1;
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Waits until a counter has the value; a test that waits in vain fails.
    pub(crate) async fn reaches(&self, counter: &AtomicUsize, value: usize) {
        until(|| counter.load(Ordering::SeqCst) == value).await;
    }
}

pub(crate) async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(Duration::from_secs(5), wait).await.expect("the condition was not met within 5 s");
}

/// Stays the same for this long: nothing that should not happen happens.
pub(crate) const QUIET: Duration = Duration::from_millis(60);

/// A profile.
pub(crate) fn desk() -> View {
    View::Profile(DownstreamName::parse("desk").unwrap())
}

pub(crate) fn files() -> DownstreamName {
    DownstreamName::parse("files").unwrap()
}

#[async_trait]
impl Directory for World {
    async fn list(
        &self,
        list: ListKind,
        view: &View,
        _: &Caller,
        exchange: &Exchange,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        self.lists.lock().unwrap().push(exchange.session.clone());
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let page = match list {
            ListKind::Tools => self.page.lock().unwrap().clone(),
            _ => RawJson::parse(format!(r#"[{{"name":"files__{}","n":1.0}}]"#, list.member())).unwrap(),
        };
        let page = match (view, cursor) {
            (View::All, None) => Page::new(page, Some("c\"1".to_owned())),
            (_, None | Some("c\"1" | "")) => Page::new(page, None),
            _ => return Err(CallerError::InvalidCursor.into()),
        };
        let (is_private, remarks) = self.remarks.lock().unwrap().clone();
        Ok(Page { is_private, remarks, ..page })
    }

    async fn offer(&self, _: &View) -> Offer {
        panic!("what is offered depends on the caller")
    }

    async fn offer_to(&self, _: &View, caller: &Caller) -> Offer {
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let offer = self.offer.lock().unwrap().clone();
        // What a downstream says of itself is for those who may use something of it.
        let instructions = offer.instructions.filter(|_| caller.client_name() != Some("lab"));
        Offer { instructions, ..offer }
    }

    fn generations(&self, _: &View) -> Generations {
        *self.generations.lock().unwrap()
    }

    /// What changes is hidden from `blind`.
    fn generations_to(&self, view: &View, caller: &Caller) -> Generations {
        match caller.client_name() {
            Some("blind") => Generations::default(),
            _ => self.generations(view),
        }
    }

    fn tool(&self, _: &View, _: &Caller, _: &SessionKey, name: &str) -> Option<Arc<OfferedTool>> {
        let region = ParamHeader {
            name: "Region".into(),
            path: ["region".to_owned()].into(),
            kind: ParamKind::String,
        };
        let headers: Arc<[ParamHeader]> = if name == "files__mirrored" { [region].into() } else { [].into() };
        let offered = OfferedTool { downstream: files(), tool: Tool::new(name), headers };
        name.starts_with("files__").then(|| Arc::new(offered))
    }

    fn also_called(&self, view: &View, act: Act, name: &str) -> Vec<String> {
        let other = match (act, name) {
            (Act::Call, "renamed") => "files__echo",
            (Act::Read | Act::Subscribe | Act::Complete, "file:///files__secret") => "file:///secret",
            _ => return Vec::new(),
        };
        if *view == desk() || act != Act::Call { vec![other.to_owned()] } else { Vec::new() }
    }

    fn flush(&self, downstream: Option<&DownstreamName>) -> usize {
        self.flushed.lock().unwrap().push(downstream.cloned());
        if downstream.is_some() { 1 } else { 2 }
    }

    fn has_view(&self, view: &View) -> bool {
        matches!(view, View::All) || *view == View::Downstream(files()) || *view == desk()
    }

    /// `lab` may use nothing of `files`.
    fn may_visit(&self, view: &View, caller: &Caller) -> bool {
        let is_hidden = *view == View::Downstream(files()) && caller.client_name() == Some("lab");
        self.has_view(view) && !is_hidden
    }

    fn generation(&self, _: &View) -> u64 {
        *self.generation.borrow()
    }

    async fn changed(&self, _: &View, seen: u64) -> u64 {
        let mut generations = self.generation.subscribe();
        *generations.wait_for(|generation| *generation != seen).await.unwrap()
    }

    fn downstreams(&self) -> Vec<DownstreamStatus> {
        vec![DownstreamStatus {
            name: files(),
            state: *self.state.lock().unwrap(),
            reason: None,
            protocol: None,
            server: None,
            tools: 1,
            prompts: 0,
            resources: 0,
            aliases: Vec::new(),
            dropped: Vec::new(),
            started: None,
            required: true,
            list_age: None,
            is_stale: false,
            sessions: gateway_domain::SessionCounts::default(),
        }]
    }
}

/// Counts a call that was dropped before it finished.
struct Running<'a>(&'a World, bool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let counter = if self.1 { &self.0.finished } else { &self.0.dropped };
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) fn object(text: impl Into<String>) -> RawObject {
    RawObject::parse(text.into()).unwrap()
}

/// A stage that decides before there is anything to poll.
struct Hasty(Arc<World>);

impl Dispatcher for Hasty {
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        if let Target::Exposed { subject: Subject::Tool { name, .. }, .. } = &call.target {
            assert_ne!(&**name, "files__panic_at_once", "on purpose");
        }
        self.0.dispatch(call)
    }
}

#[async_trait]
impl Dispatcher for World {
    #[expect(clippy::too_many_lines, reason = "one arm a tool")]
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let call = match self.scripted(call) {
            Ok(outcome) => return Ok(outcome),
            Err(call) => *call,
        };
        let Target::Exposed { subject, .. } = &call.target else { panic!("the edge does not resolve") };
        let Subject::Tool { name, .. } = subject else { return self.other(&call, subject) };
        self.calls.lock().unwrap().push((call.caller.clone(), call.exchange.session.clone()));
        let arguments =
            call.params.object.get("arguments").map_or_else(|| "{}".to_owned(), |a| a.to_string());
        let complete = |text: String| Ok(Outcome::Complete(object(text)));
        let progress = |text: &str| call.exchange.events.emit(Event::Progress(object(text)));
        match name.trim_start_matches("files__") {
            "echo" | "mirrored" => complete(format!(r#"{{"content":[],"structuredContent":{arguments}}}"#)),
            "strange" => complete(arguments),
            "yield" => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                complete(format!(r#"{{"content":[],"structuredContent":{arguments}}}"#))
            }
            "hang" => {
                let _running = Running(self, false);
                self.begun.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
            "slow" => {
                let mut running = Running(self, false);
                self.begun.fetch_add(1, Ordering::SeqCst);
                self.go.notified().await;
                running.1 = true;
                complete(r#"{"content":[]}"#.to_owned())
            }
            "progress" => {
                for step in ["1", "2.5", "2.5", "1", "3"] {
                    progress(&format!(r#"{{"progressToken":99,"progress":{step},"x":1.0}}"#));
                }
                let text = r#"{"level":"info","data":"i"}"#;
                call.exchange.events.emit(Event::Log(object(text)));
                tokio::task::yield_now().await;
                progress(r#"{"progressToken":99,"progress":4}"#);
                complete(r#"{"content":[]}"#.to_owned())
            }
            "progress_then_hang" => {
                let _running = Running(self, false);
                self.begun.fetch_add(1, Ordering::SeqCst);
                progress(r#"{"progressToken":99,"progress":1}"#);
                std::future::pending().await
            }
            "log" => {
                let text = format!(r#"{{"level":"info","data":"{}"}}"#, "x".repeat(60));
                (0..5).for_each(|_| call.exchange.events.emit(Event::Log(object(text.clone()))));
                tokio::task::yield_now().await;
                (0..5).for_each(|_| call.exchange.events.emit(Event::Log(object(text.clone()))));
                complete(r#"{"content":[]}"#.to_owned())
            }
            "flood" => {
                (0..1000).for_each(|step| progress(&format!(r#"{{"progress":{step}}}"#)));
                complete(r#"{"content":[]}"#.to_owned())
            }
            "panic" => panic!("on purpose"),
            "limited" => {
                let retry_in = Duration::from_millis(1_001);
                Err(CallerError::RateLimited { of: "of this tool", retry_in }.into())
            }
            "scoped" => {
                let scopes = vec!["a".to_owned(), "b".to_owned()];
                Err(CallerError::InsufficientScope { scopes }.into())
            }
            "unrecorded" => Err(CallerError::Unrecorded { executed: true }.into()),
            "down" => Err(DownstreamFault::Ended { reason: "secret".to_owned() }.before(&files())),
            "refuse" => Ok(Outcome::Failed(
                PeerError::new(object(r#"{"code":7,"message":"no","data":1.0}"#)).unwrap(),
            )),
            _ => Err(CallerError::UnknownTool { name: name.to_string() }.into()),
        }
    }
}

impl World {
    /// What the script says, if there is one.
    fn scripted(&self, call: Call) -> Result<Outcome, Box<Call>> {
        let Some(outcome) = self.script.lock().unwrap().pop_front() else { return Err(Box::new(call)) };
        self.asked.lock().unwrap().push(call);
        Ok(outcome)
    }

    /// Requests for anything but a tool: what was understood, as a result.
    fn other(&self, call: &Call, subject: &Subject) -> Result<Outcome, Error> {
        self.calls.lock().unwrap().push((call.caller.clone(), call.exchange.session.clone()));
        match subject {
            Subject::Resource { uri } if uri.contains("missing") => {
                Err(CallerError::UnknownResource { uri: uri.to_string() }.into())
            }
            Subject::Prompt { name } if name.contains("missing") => {
                Err(CallerError::UnknownPrompt { name: name.to_string() }.into())
            }
            _ => {
                let subject = RawJson::string(&format!("{subject:?}"));
                Ok(Outcome::Complete(object(format!(r#"{{"subject":{subject}}}"#))))
            }
        }
    }
}

#[async_trait]
impl Sessions for World {
    async fn end(&self, key: &SessionKey) {
        self.ended.lock().unwrap().push(key.clone());
    }

    async fn roots_changed(&self, _: &SessionKey) {
        self.roots.fetch_add(1, Ordering::SeqCst);
        self.go.notified().await;
    }

    fn is_over(&self, _: &ParkId) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn abandon(&self, park: &ParkId) {
        self.abandoned.lock().unwrap().push(park.clone());
    }

    async fn end_caller(&self, caller: &Caller) {
        let (caller, capabilities) = (caller.clone(), ClientCapabilities::none());
        self.ended.lock().unwrap().push(SessionKey::Modern { caller, capabilities });
    }
}

/// One subscription, while it is held.
pub(crate) struct Watch(pub(crate) Arc<dyn Updates>);

#[async_trait]
impl Subscriptions for World {
    async fn subscribe(
        &self,
        target: Target,
        _: &Caller,
        _: &Exchange,
        updates: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        let Target::Exposed { subject: Subject::Resource { uri }, .. } = target else {
            panic!("only resources are watched")
        };
        if self.down.lock().unwrap().contains(&&*uri) {
            return Err(DownstreamFault::Ended { reason: "down".to_owned() }.before(&files()));
        }
        if uri.contains("missing") || self.refused.lock().unwrap().contains(&&*uri) {
            return Err(CallerError::UnknownResource { uri: uri.to_string() }.into());
        }
        if uri.contains("hang") {
            std::future::pending::<()>().await;
        }
        let watch = Arc::new(Watch(updates));
        self.watched.lock().unwrap().push((uri.to_string(), Arc::downgrade(&watch)));
        Ok(Subscription::new(watch))
    }
}

/// A server in the same process.
pub(crate) struct Served {
    pub(crate) world: Arc<World>,
    pub(crate) addr: SocketAddr,
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) settings: Settings,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) served: JoinHandle<bool>,
}

pub(crate) fn config() -> ServerConfig {
    ServerConfig::new(Implementation::new("gateway", "Gateway", "1"))
}

/// The clients of a server that tells its callers apart.
pub(crate) fn keys() -> Vec<ClientKey> {
    vec![ClientKey::new("desk", "k").with_metrics()]
}

pub(crate) async fn start(configure: impl FnOnce(&mut ServerConfig)) -> Served {
    start_with(|config, _| configure(config)).await
}

pub(crate) async fn start_with(configure: impl FnOnce(&mut ServerConfig, &mut Ports)) -> Served {
    let world = World::new();
    let (mut config, mut ports) = (config(), world.ports());
    configure(&mut config, &mut ports);
    let server = Server::bind(config, ports).await.unwrap();
    let (addr, admin, settings) = (server.local_addr(), server.admin_addr(), server.settings());
    let (stop, stopped) = oneshot::channel();
    let served = tokio::spawn(server.run(async { drop(stopped.await) }));
    Served { world, addr, admin, settings, stop: Some(stop), served }
}

pub(crate) fn world() -> Arc<World> {
    World::new()
}

impl Served {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.addr)
    }

    /// A client; its key is known where there are [`keys`], and otherwise not looked at.
    pub(crate) fn modern(&self) -> HttpClient {
        HttpClient::new(&self.url(), Speaks::modern()).unwrap().with_header("authorization", "Bearer k")
    }

    /// A modern client that declares this.
    pub(crate) fn able(&self, capabilities: &str) -> HttpClient {
        HttpClient::new(&self.url(), Speaks::Modern(capabilities.to_owned())).unwrap()
    }

    pub(crate) async fn legacy(&self, revision: &str) -> HttpClient {
        let client = HttpClient::new(&self.url(), Speaks::Legacy(revision.to_owned())).unwrap();
        let client = client.with_header("authorization", "Bearer k");
        client.shake_hands().await.unwrap();
        client
    }

    /// Sends one request as it is and gives status, head and body of the answer.
    pub(crate) async fn raw(&self, text: &str) -> Raw {
        raw(self.addr, text).await
    }

    pub(crate) async fn get(&self, path: &str) -> Raw {
        let addr = self.addr;
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n")).await
    }

    /// POSTs a body with these header lines besides the usual ones.
    pub(crate) async fn post(&self, headers: &str, body: &str) -> Raw {
        self.raw(&post(self.addr, headers, body)).await
    }
}

pub(crate) fn post(addr: SocketAddr, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {addr}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    )
}

/// An answer, taken apart.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) async fn raw(addr: SocketAddr, text: &str) -> Raw {
    let quiet = Duration::from_secs(2);
    let bytes = gateway_testkit::client::raw_until(addr, text.as_bytes(), quiet).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Raw { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// A modern envelope.
pub(crate) fn envelope(version: &str) -> String {
    format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
    )
}
