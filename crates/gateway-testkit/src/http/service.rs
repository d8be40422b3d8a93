//! How the HTTP fake answers one request.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::broadcast;

use super::{
    Recorded,
    body::{Pipe, pipe},
    faults::{Faults, Shape},
    mirror,
};
use crate::{
    engine::{Conversation, Engine, locked},
    message::{Message, Refusal},
    profile::{Era, LEGACY, MODERN},
    reply::End,
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
pub(crate) struct Exchange {
    pub(crate) shared: Arc<Shared>,
    pub(crate) faults: Faults,
    headers: HeaderMap,
    /// The session `initialize` has just started.
    pub(crate) minted: Option<String>,
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
    if let Some(answer) = exchange.guarded(&head.method, head.uri.path()) {
        return Ok(answer);
    }
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
    /// A document for everybody, or the refusal of who has no token.
    fn guarded(&self, method: &Method, path: &str) -> Option<Response<Pipe>> {
        let document = self.faults.documents.iter().find(|(own, _)| method == Method::GET && own == path);
        if let Some((_, text)) = document {
            return Some(self.bytes(200, Some(JSON), text.clone().into()));
        }
        let tokens = self.faults.tokens.as_ref()?;
        let sent = self.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        if sent.is_some_and(|sent| tokens.iter().any(|token| token == sent)) {
            return None;
        }
        let mut answer = self.empty(401);
        let challenge = HeaderValue::from_str(&self.faults.challenge).ok()?;
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        Some(answer)
    }

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
        let must_stream = matches!(reply.end, End::Listen | End::Interact(_));
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
        if stream || must_stream { Ok(self.stream(message, reply)) } else { self.json(message, reply).await }
    }

    fn ask(&self, request: String) {
        if self.shared.pushes.send(request.clone()).is_err() {
            locked(&self.shared.owed).push(request);
        }
    }

    fn get(self) -> Answered {
        if !self.faults.get_stream || self.shared.engine.profile.era == Era::Modern {
            return Ok(self.empty(405));
        }
        let conversation = match self.faults.sessions {
            true => self.known_session(),
            false => Ok(Arc::clone(&self.shared.nobody)),
        };
        let conversation = match conversation {
            Ok(conversation) => conversation,
            Err(refusal) => return Ok(self.refuse(&refusal, None)),
        };
        let (tap, body) = pipe(&self.faults);
        let answer = self.response(200, Some(EVENT_STREAM), body);
        // Subscribed before the answer goes out, so that nothing announced after it is missed.
        let (changes, pushes) = (self.shared.engine.changes(), self.shared.pushes.subscribe());
        tokio::spawn(async move {
            tokio::select! {
                _ = self.pushed(&tap, &conversation, changes, pushes) => {}
                () = tap.gone() => {}
            }
        });
        Ok(answer)
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
}

/// Not guessable in practice, and unlike the ids of another fake.
fn session_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let word = || RandomState::new().hash_one("session");
    format!("fake-{:016x}{:016x}", word(), word())
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// How many requests are remembered.
const RECORDED: usize = 100_000;
