//! What the tests have in common.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gateway_domain::{
    Caller, ClientCapabilities, ClientLink, DownstreamName, DownstreamObserver, Era, Error, Event, EventSink,
    Exchange, Execution, ListKind, LogLevel, Notice, Params, RawObject, SessionKey, SessionProfile, Updates,
};
use gateway_protocol::Implementation;
use gateway_testkit::http::HttpFake;
use gateway_transport_http::{HttpConfig, HttpFactory, HttpSession};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Counts what a downstream says outside calls.
#[derive(Default)]
pub(crate) struct Observer {
    changes: Mutex<Vec<ListKind>>,
    lost: Mutex<Vec<String>>,
}

impl Observer {
    pub(crate) fn changes(&self) -> usize {
        self.changed().len()
    }

    /// The lists that were said to have changed, in that order.
    pub(crate) fn changed(&self) -> Vec<ListKind> {
        self.changes.lock().unwrap().clone()
    }

    pub(crate) fn lost(&self) -> Vec<String> {
        self.lost.lock().unwrap().clone()
    }
}

impl DownstreamObserver for Observer {
    fn list_changed(&self, list: ListKind) {
        self.changes.lock().unwrap().push(list);
    }

    fn session_lost(&self, reason: &str) {
        self.lost.lock().unwrap().push(reason.to_owned());
    }
}

/// Keeps the events of a call.
#[derive(Default)]
pub(crate) struct Sink(Mutex<Vec<String>>);

impl Sink {
    pub(crate) fn events(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl EventSink for Sink {
    fn emit(&self, event: Event) {
        let text = match event {
            Event::Progress(params) => format!("progress {}", params.as_str()),
            Event::Log(params) => format!("log {}", params.as_str()),
        };
        self.0.lock().unwrap().push(text);
    }
}

pub(crate) fn exchange(sink: &Arc<Sink>, wants_progress: bool, log_level: Option<LogLevel>) -> Exchange {
    let session =
        SessionKey::Modern { caller: Caller::anonymous(), capabilities: ClientCapabilities::none() };
    Exchange {
        wants_progress,
        log_level,
        run: None,
        events: sink.clone(),
        ..Exchange::quiet(Era::Modern, session, ClientCapabilities::none())
    }
}

pub(crate) fn quiet() -> Exchange {
    exchange(&Arc::default(), false, None)
}

pub(crate) fn params(text: &str) -> Params {
    let object = RawObject::parse(text.to_owned()).unwrap();
    Params { meta: object.get_object("_meta"), object }
}

pub(crate) fn profile(era: Era) -> SessionProfile {
    SessionProfile { era, capabilities: ClientCapabilities::none(), ..SessionProfile::default() }
}

pub(crate) fn us() -> Implementation {
    Implementation::new("test", "Test", "1")
}

/// A factory with limits that fit a test, its sessions not listening.
pub(crate) fn factory(url: &str, change: impl FnOnce(&mut HttpConfig)) -> (HttpFactory, Arc<Observer>) {
    let mut config = HttpConfig::new(url, us());
    config.change_stream = false;
    change(&mut config);
    let observer = Arc::<Observer>::default();
    let name = DownstreamName::parse("fake").unwrap();
    (HttpFactory::new(name, config, observer.clone()).unwrap(), observer)
}

pub(crate) async fn open(fake: &HttpFake, era: Era) -> HttpSession {
    factory(&fake.url(), |_| {}).0.open(&profile(era)).await.unwrap()
}

/// An error's text and whether the call may have run.
#[track_caller]
pub(crate) fn fault(error: Error) -> (String, Execution) {
    match error {
        Error::Downstream(error) => (error.to_string(), error.execution),
        other => panic!("not the downstream's fault: {other}"),
    }
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen");
}

/// What a raw server does with a request.
pub(crate) enum Act {
    /// Writes this and keeps the connection.
    Send(String),
    /// Writes this and closes.
    Last(String),
    /// Nothing.
    Hang,
}

/// A server that answers in raw bytes.
pub(crate) struct Raw {
    pub(crate) addr: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    hung_up: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Raw {
    pub(crate) async fn start(act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (requests, hung_up) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicUsize>::default());
        let (seen, ended, act) = (requests.clone(), hung_up.clone(), Arc::new(act));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, ended, act) = (seen.clone(), ended.clone(), act.clone());
                tokio::spawn(async move {
                    talk(stream, &seen, &*act).await;
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { addr, requests, hung_up, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.addr)
    }

    /// Heads and bodies of what arrived.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// How many connections have ended.
    pub(crate) fn hung_up(&self) -> usize {
        self.hung_up.load(Ordering::SeqCst)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn talk(mut stream: TcpStream, seen: &Mutex<Vec<String>>, act: &(dyn Fn(&str) -> Act + Send + Sync)) {
    while let Some(request) = request(&mut stream).await {
        seen.lock().unwrap().push(request.clone());
        let (text, last) = match act(&request) {
            Act::Send(text) => (text, false),
            Act::Last(text) => (text, true),
            Act::Hang => continue,
        };
        if stream.write_all(text.as_bytes()).await.is_err() || last {
            return;
        }
    }
}

/// Reads one request; `None` when the connection has ended.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut text = String::new();
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length: ").and_then(|length| length.trim().parse().ok())
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => text.push_str(std::str::from_utf8(&piece[..count]).unwrap()),
        }
    }
}

/// A whole answer of this type.
pub(crate) fn answer(status: &str, kind: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

pub(crate) fn json(body: &str) -> String {
    answer("200 OK", "application/json", "", body)
}

pub(crate) const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";

/// The id of a request that went over the wire.
pub(crate) fn id(request: &str) -> &str {
    let rest = request.split_once(r#""id":"#).unwrap().1;
    rest.split([',', '}']).next().unwrap()
}

/// A legacy server of revision `version` whose tool calls are answered by `call`.
pub(crate) async fn legacy(version: &'static str, call: impl Fn(&str) -> Act + Send + Sync + 'static) -> Raw {
    Raw::start(move |request| {
        if request.contains(r#""method":"initialize""#) {
            let result = format!(
                r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}}}}}}"#
            );
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
            Act::Send(answer("200 OK", "application/json", "mcp-session-id: s-1\r\n", &body))
        } else if request.contains(r#""method":"tools/call""#) || request.starts_with("GET") {
            call(request)
        } else {
            Act::Send(ACCEPTED.to_owned())
        }
    })
    .await
}

/// A client that tells what it was told, and has these roots.
#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) told: Mutex<Vec<String>>,
    pub(crate) roots: Option<String>,
}

#[async_trait::async_trait]
impl ClientLink for Client {
    fn tell(&self, downstream: &DownstreamName, notice: Notice) {
        let text = match notice {
            Notice::Log(params) => format!("{downstream}: log {}", params.as_str()),
            Notice::ElicitationComplete(params) => format!("{downstream}: complete {}", params.as_str()),
        };
        self.told.lock().unwrap().push(text);
    }

    async fn roots(&self) -> Option<RawObject> {
        self.roots.as_ref().map(|roots| RawObject::parse(roots.clone()).unwrap())
    }
}

/// Keeps the updates of a resource.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Updates for Heard {
    fn updated(&self, params: RawObject) {
        self.0.lock().unwrap().push(params.as_str().to_owned());
    }

    fn lost(&self) {
        self.0.lock().unwrap().push("lost".into());
    }
}

pub(crate) fn can(text: &str) -> ClientCapabilities {
    ClientCapabilities::from(RawObject::parse(text.to_owned()).unwrap())
}

/// One connection of a [`Wire`]: a request, and what is written in answer.
pub(crate) struct Exchanged {
    pub(crate) request: String,
    stream: TcpStream,
}

impl Exchanged {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.request.contains(text)
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Begins a stream of events.
    pub(crate) async fn stream(&mut self) {
        self.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n").await;
    }

    /// Writes one event.
    pub(crate) async fn event(&mut self, message: &str) {
        self.write(&format!("data: {message}\n\n")).await;
    }

    /// Answers the request with this result and ends the stream.
    pub(crate) async fn finish(mut self, result: &str) {
        let id = id(&self.request).to_owned();
        self.event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }

    /// Waits until the other side has gone.
    pub(crate) async fn gone(mut self) {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest).await;
    }
}

/// A server whose requests a test answers one by one. What is no call, no listen and no GET is answered by itself
/// and can be looked at later.
pub(crate) struct Wire {
    pub(crate) addr: SocketAddr,
    incoming: tokio::sync::mpsc::Receiver<Exchanged>,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Wire {
    /// A legacy server with these capabilities.
    pub(crate) async fn legacy(capabilities: &str) -> Self {
        let result = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}"#);
        Self::start(move |request| {
            if request.contains(r#""method":"initialize""#) {
                let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
                return Some(answer(
                    "200 OK",
                    "application/json",
                    "mcp-session-id: s-1\r\nconnection: close\r\n",
                    &body,
                ));
            }
            if request.contains("server/discover") {
                return Some(answer("400 Bad Request", "text/plain", "connection: close\r\n", "no"));
            }
            Self::usual(request)
        })
        .await
    }

    /// A modern one.
    pub(crate) async fn modern(capabilities: &str) -> Self {
        let result = format!(
            r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities}}}"#
        );
        Self::start(move |request| {
            if request.contains("server/discover") {
                let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request));
                return Some(answer("200 OK", "application/json", "connection: close\r\n", &body));
            }
            None
        })
        .await
    }

    /// What is answered by itself: `None` is left to the test.
    pub(crate) fn usual(request: &str) -> Option<String> {
        let body = request.split_once("\r\n\r\n").unwrap().1;
        let asks = body.contains(r#""method":"#) && body.contains(r#""id":"#);
        if request.starts_with("DELETE") || (request.starts_with("POST") && !asks) {
            return Some("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into());
        }
        let simple = ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
        simple.iter().any(|method| body.contains(&format!(r#""method":"{method}""#))).then(|| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id(request));
            answer("200 OK", "application/json", "connection: close\r\n", &body)
        })
    }

    pub(crate) async fn start(by_itself: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (sender, incoming) = tokio::sync::mpsc::channel(64);
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let (log, by_itself) = (seen.clone(), Arc::new(by_itself));
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (log, by_itself, sender) = (log.clone(), by_itself.clone(), sender.clone());
                tokio::spawn(async move {
                    let Some(request) = request(&mut stream).await else { return };
                    log.lock().unwrap().push(request.clone());
                    match by_itself(&request) {
                        Some(text) => stream.write_all(text.as_bytes()).await.unwrap(),
                        None => drop(sender.send(Exchanged { request, stream }).await),
                    }
                });
            }
        });
        Self { addr, incoming, seen, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.addr)
    }

    /// The next request that is left to the test.
    pub(crate) async fn next(&mut self) -> Exchanged {
        let next = tokio::time::timeout(Duration::from_secs(5), self.incoming.recv());
        next.await.expect("a request").expect("a server")
    }

    /// Waits for a request with this text.
    pub(crate) async fn sees(&self, text: &str) {
        eventually(text, || self.count(text) > 0).await;
    }

    /// The latest request with this text.
    pub(crate) fn last(&self, text: &str) -> String {
        let seen = self.seen.lock().unwrap();
        seen.iter().rfind(|request| request.contains(text)).unwrap().clone()
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|request| request.contains(text)).count()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}
