//! How the HTTP fake answers one request.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::broadcast;

use super::{
    Recorded,
    body::{Gone, Pipe, Tap, pipe, pretty},
    faults::{Faults, Shape},
    mirror,
};
use crate::{
    engine::{Conversation, End, Engine, Era, LEGACY, MODERN, Reply, acknowledgement, locked, subscription},
    message::{self, Message, Refusal},
};

pub(crate) type Answered = Result<Response<Pipe>, io::Error>;

/// What all connections of one fake share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) sessions: Mutex<HashMap<String, Arc<Conversation>>>,
    pub(crate) requests: Mutex<VecDeque<Recorded>>,
    pub(crate) served: AtomicU64,
    pub(crate) connections: AtomicU64,
    /// Raw messages for legacy GET streams.
    pub(crate) pushes: broadcast::Sender<String>,
    /// Raw messages for the next GET stream, asked when none was open.
    pub(crate) owed: Mutex<Vec<String>>,
    nobody: Arc<Conversation>,
}

impl Shared {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            faults: Mutex::default(),
            sessions: Mutex::default(),
            requests: Mutex::default(),
            served: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            pushes: broadcast::channel(256).0,
            owed: Mutex::default(),
            nobody: Arc::new(Conversation::stateless(LEGACY[1])),
        }
    }

    fn record(&self, recorded: Recorded) {
        self.served.fetch_add(1, Ordering::Relaxed);
        let mut requests = locked(&self.requests);
        if requests.len() >= RECORDED {
            requests.pop_front();
        }
        requests.push_back(recorded);
    }
}

/// One request on one connection.
struct Exchange {
    shared: Arc<Shared>,
    faults: Faults,
    headers: HeaderMap,
    /// The session `initialize` has just started.
    minted: Option<String>,
}

/// An error drops the connection.
pub(crate) async fn serve(shared: Arc<Shared>, connection: u64, request: Request<Incoming>) -> Answered {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    let message = Message::parse(&body);
    let method = message.as_ref().and_then(|m| m.method.clone());
    let faults = locked(&shared.faults).bearing_on(method.as_deref());
    shared.record(Recorded {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        headers: head.headers.clone(),
        body,
        rpc: method,
        connection,
    });
    let exchange = Exchange { shared, faults, headers: head.headers, minted: None };
    exchange.fail_first().await?;
    if let Some(answer) = exchange.replaced().await {
        return Ok(answer);
    }
    match head.method {
        Method::POST => exchange.post(message).await,
        Method::GET => exchange.get(),
        Method::DELETE => exchange.delete(),
        _ => Ok(exchange.empty(405)),
    }
}

impl Exchange {
    async fn fail_first(&self) -> Result<(), io::Error> {
        if self.faults.hang {
            std::future::pending::<()>().await;
        }
        if !self.faults.delay.is_zero() {
            tokio::time::sleep(self.faults.delay).await;
        }
        if self.faults.drop_before { Err(io::Error::other("dropped as told")) } else { Ok(()) }
    }

    /// The answer that stands for the true one.
    async fn replaced(&self) -> Option<Response<Pipe>> {
        let faults = &self.faults;
        if let Some(url) = &faults.redirect {
            let mut answer = self.empty(302);
            answer.headers_mut().insert(header::LOCATION, HeaderValue::from_str(url).ok()?);
            return Some(answer);
        }
        if faults.endless_comments {
            let (tap, body) = pipe(faults);
            tokio::spawn(async move { tap.comments().await });
            return Some(self.response(200, Some(EVENT_STREAM), body));
        }
        let body = faults.body.clone();
        if faults.status.is_none() && body.is_none() {
            return None;
        }
        let kind = body.is_some().then_some(JSON);
        Some(self.bytes(faults.status.unwrap_or(200), kind, body.unwrap_or_default()))
    }

    async fn post(mut self, message: Option<Message>) -> Answered {
        let Some(message) = message else {
            return Ok(self.refuse(&Refusal::new(-32700, 400, "the body is no JSON object"), None));
        };
        match self.admit(&message) {
            Ok(conversation) => self.answer(message, conversation).await,
            Err(refusal) => Ok(self.refuse(&refusal, message.id.as_deref())),
        }
    }

    /// Checks headers and finds the conversation the message belongs to.
    fn admit(&mut self, message: &Message) -> Result<Arc<Conversation>, Refusal> {
        let nobody = Arc::clone(&self.shared.nobody);
        if self.faults.check_headers {
            self.check_negotiation()?;
        }
        if self.shared.engine.refuse_probe(message).is_some() {
            return Ok(nobody);
        }
        let era = self.shared.engine.profile.era;
        let claims_modern = self.header("mcp-protocol-version") == Some(MODERN);
        match message.version() {
            _ if era == Era::Legacy => self.session(message),
            Some(_) => {
                if self.faults.check_headers && message.id.is_some() {
                    let tool = message.param("name").and_then(|name| self.shared.engine.tool(&name));
                    mirror::check(message, &self.headers, tool.as_deref())?;
                }
                Ok(nobody)
            }
            None if claims_modern && message.id.is_some() => {
                Err(Refusal::new(-32602, 400, "a modern request without its _meta"))
            }
            None if era == Era::Modern => Ok(nobody),
            None => self.session(message),
        }
    }

    fn check_negotiation(&self) -> Result<(), Refusal> {
        let accept = self.header("accept").unwrap_or_default();
        if !(accept.contains(JSON) && accept.contains(EVENT_STREAM)) {
            return Err(Refusal::new(-32600, 406, "Accept must list JSON and event streams"));
        }
        match self.header("content-type").is_some_and(|t| t.starts_with(JSON)) {
            true => Ok(()),
            false => Err(Refusal::new(-32600, 415, "Content-Type must be application/json")),
        }
    }

    fn session(&mut self, message: &Message) -> Result<Arc<Conversation>, Refusal> {
        if self.faults.check_headers
            && let Some(version) = self.header("mcp-protocol-version")
            && !LEGACY.contains(&version)
        {
            return Err(Refusal::new(-32600, 400, "unsupported MCP-Protocol-Version"));
        }
        if !self.faults.sessions {
            return Ok(Arc::clone(&self.shared.nobody));
        }
        if message.method.as_deref() == Some("initialize") {
            let (id, conversation) = (session_id(), Arc::new(Conversation::default()));
            locked(&self.shared.sessions).insert(id.clone(), Arc::clone(&conversation));
            self.minted = Some(id);
            return Ok(conversation);
        }
        self.known_session()
    }

    fn known_session(&self) -> Result<Arc<Conversation>, Refusal> {
        let id = self
            .header("mcp-session-id")
            .ok_or_else(|| Refusal::new(-32000, 400, "Mcp-Session-Id is required"))?;
        let known = locked(&self.shared.sessions).get(id).cloned();
        known.ok_or_else(|| Refusal::new(-32001, 404, "session not found"))
    }

    async fn answer(self, message: Message, conversation: Arc<Conversation>) -> Answered {
        let reply = self.shared.engine.answer(&message, &conversation);
        let listens = matches!(reply.end, End::Listen);
        match &reply.end {
            End::Nothing => return Ok(self.empty(202)),
            End::Ask(request) => {
                self.ask(request.clone());
                return Ok(self.empty(202));
            }
            End::Error(refusal) if refusal.status != 200 => {
                return Ok(self.refuse(refusal, message.id.as_deref()));
            }
            End::Crash => return Err(io::Error::other("crashed as told")),
            _ => {}
        }
        let stream = match self.faults.shape {
            Shape::Auto => reply.streams,
            Shape::Json => false,
            Shape::Sse => true,
        };
        if stream || listens { Ok(self.stream(message, reply)) } else { self.json(message, reply).await }
    }

    fn ask(&self, request: String) {
        if self.shared.pushes.send(request.clone()).is_err() {
            locked(&self.shared.owed).push(request);
        }
    }

    async fn json(self, message: Message, reply: Reply) -> Answered {
        // Dropped unfinished means that the client has gone, which cancels a modern request.
        let guard = Cancel { shared: Arc::clone(&self.shared), id: modern_id(&message) };
        tokio::time::sleep(reply.delay).await;
        let id = message.id.as_deref().unwrap_or("null");
        if self.faults.endless_body {
            let (tap, body) = pipe(&self.faults);
            let id = id.to_owned();
            tokio::spawn(async move { tap.endless(&id, false).await });
            guard.disarm();
            return Ok(self.response(200, Some(JSON), body));
        }
        let text = match reply.end {
            End::Result(result) => message::result(id, &result),
            End::Error(refusal) => refusal.render(Some(id)),
            End::Garbage => r#"{"jsonrpc":"2.0", oops"#.to_owned(),
            _ => std::future::pending().await,
        };
        guard.disarm();
        let text = if self.faults.pretty { pretty(&text) } else { text };
        Ok(self.bytes(200, Some(JSON), text.into()))
    }

    fn stream(self, message: Message, reply: Reply) -> Response<Pipe> {
        let (tap, body) = pipe(&self.faults);
        let answer = self.response(200, Some(EVENT_STREAM), body);
        tokio::spawn(async move {
            let guard = Cancel { shared: Arc::clone(&self.shared), id: modern_id(&message) };
            let told = tokio::select! {
                told = self.events(&tap, &message, reply) => told,
                () = tap.gone() => Err(Gone),
            };
            if told.is_ok() {
                guard.disarm();
            }
        });
        answer
    }

    async fn events(&self, tap: &Tap, message: &Message, reply: Reply) -> Result<(), Gone> {
        tap.open().await?;
        let id = message.id.as_deref().unwrap_or("null");
        if self.faults.endless_body {
            tap.endless(id, true).await;
            return Err(Gone);
        }
        for notice in reply.notices {
            if !reply.pace.is_zero() {
                tokio::time::sleep(reply.pace).await;
            }
            tap.event(&notice).await?;
        }
        tokio::time::sleep(reply.delay).await;
        match reply.end {
            End::Result(result) => tap.last_event(&message::result(id, &result)).await,
            End::Error(refusal) => tap.last_event(&refusal.render(Some(id))).await,
            End::Garbage => tap.last_event("{oops").await,
            End::Listen => self.listen(tap, message).await,
            _ => std::future::pending().await,
        }
    }

    async fn listen(&self, tap: &Tap, message: &Message) -> Result<(), Gone> {
        let mut changes = self.shared.engine.changes();
        tap.event(&acknowledgement(message)).await?;
        let params = format!(r#"{{"_meta":{}}}"#, subscription(message));
        while let Ok(method) = changes.recv().await {
            tap.event(&message::notification(&method, &params)).await?;
        }
        Ok(())
    }

    fn get(self) -> Answered {
        if !self.faults.get_stream || self.shared.engine.profile.era == Era::Modern {
            return Ok(self.empty(405));
        }
        if self.faults.sessions
            && let Err(refusal) = self.known_session()
        {
            return Ok(self.refuse(&refusal, None));
        }
        let (tap, body) = pipe(&self.faults);
        let answer = self.response(200, Some(EVENT_STREAM), body);
        // Subscribed before the answer goes out, so that nothing announced after it is missed.
        let (changes, pushes) = (self.shared.engine.changes(), self.shared.pushes.subscribe());
        tokio::spawn(async move {
            tokio::select! {
                _ = self.pushed(&tap, changes, pushes) => {}
                () = tap.gone() => {}
            }
        });
        Ok(answer)
    }

    async fn pushed(
        &self,
        tap: &Tap,
        mut changes: broadcast::Receiver<String>,
        mut pushes: broadcast::Receiver<String>,
    ) -> Result<(), Gone> {
        tap.open().await?;
        let owed = std::mem::take(&mut *locked(&self.shared.owed));
        for request in owed {
            tap.event(&request).await?;
        }
        loop {
            tokio::select! {
                Ok(method) = changes.recv() => {
                    tap.event(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)).await?;
                }
                Ok(text) = pushes.recv() => tap.event(&text).await?,
                else => return Ok(()),
            }
        }
    }

    fn delete(self) -> Answered {
        if self.faults.refuse_delete || !self.faults.sessions {
            return Ok(self.empty(405));
        }
        if let Err(refusal) = self.known_session() {
            return Ok(self.refuse(&refusal, None));
        }
        let id = self.header("mcp-session-id").unwrap_or_default();
        drop(locked(&self.shared.sessions).remove(id));
        Ok(self.empty(200))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn refuse(&self, refusal: &Refusal, id: Option<&str>) -> Response<Pipe> {
        self.bytes(refusal.status, Some(JSON), refusal.render(id).into())
    }

    fn empty(&self, status: u16) -> Response<Pipe> {
        self.bytes(status, None, Bytes::new())
    }

    fn bytes(&self, status: u16, kind: Option<&str>, bytes: Bytes) -> Response<Pipe> {
        let (tap, body) = pipe(&self.faults);
        let mut response = self.response(status, kind, body);
        response.headers_mut().insert(header::CONTENT_LENGTH, bytes.len().into());
        // A reader that leaves early is the test's business.
        tokio::spawn(async move { drop(tap.last(bytes).await) });
        response
    }

    fn response(&self, status: u16, kind: Option<&str>, body: Pipe) -> Response<Pipe> {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
        let headers = response.headers_mut();
        let mut put = |name: &str, value: &str| {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                headers.append(name, value);
            }
        };
        if let Some(kind) = self.faults.content_type.as_deref().or(kind) {
            put("content-type", kind);
        }
        if kind == Some(EVENT_STREAM) {
            put("x-accel-buffering", "no");
            put("cache-control", "no-cache");
        }
        if let Some(id) = &self.minted {
            put("mcp-session-id", id);
        }
        if self.faults.close {
            put("connection", "close");
        }
        for (name, value) in &self.faults.headers {
            put(name, value);
        }
        for n in 0..self.faults.filler_headers {
            put(&format!("x-filler-{n}"), "filler");
        }
        response
    }
}

/// Notes a modern request as cancelled when it is dropped unfinished.
struct Cancel {
    shared: Arc<Shared>,
    id: Option<String>,
}

impl Cancel {
    fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.shared.engine.note_cancelled(id);
        }
    }
}

fn modern_id(message: &Message) -> Option<String> {
    message.version().and_then(|_| message.id.clone())
}

/// Not guessable in practice, and unlike the ids of another fake.
fn session_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let word = || RandomState::new().hash_one("session");
    format!("fake-{:016x}{:016x}", word(), word())
}

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// How many requests are remembered.
const RECORDED: usize = 100_000;
