//! The client over HTTP.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{Answer, Speaks, closed, initialize_params, request_text, sse::EventReader};
use crate::{engine::locked, http::mirror, message::Message, profile::MODERN};

type Sender = SendRequest<Full<Bytes>>;

/// A client of one endpoint. Connections are kept alive and opened as calls in flight need them. Nothing is ever
/// sent twice: a call on a kept connection that the other side has just closed fails.
#[derive(Debug)]
pub struct HttpClient {
    addr: SocketAddr,
    host: String,
    path: String,
    speaks: Speaks,
    /// What a legacy handshake declares, as raw JSON.
    capabilities: String,
    headers: Vec<(String, String)>,
    session: Mutex<Option<String>>,
    /// The revision a legacy handshake agreed on.
    revision: Mutex<Option<String>>,
    idle: Mutex<Vec<Sender>>,
    ids: AtomicU64,
}

impl HttpClient {
    /// A client that has sent nothing yet. `url` is `http://IP:PORT/PATH`; `localhost` is 127.0.0.1.
    pub fn new(url: &str, speaks: Speaks) -> io::Result<Self> {
        let uri: http::Uri = url.parse().map_err(io::Error::other)?;
        let host = uri.authority().ok_or_else(|| closed("the URL has no host"))?.to_string();
        let addr = host.replace("localhost", "127.0.0.1").parse().map_err(io::Error::other)?;
        Ok(Self {
            addr,
            host,
            path: uri.path().to_owned(),
            speaks,
            capabilities: "{}".to_owned(),
            headers: Vec::new(),
            session: Mutex::default(),
            revision: Mutex::default(),
            idle: Mutex::default(),
            ids: AtomicU64::new(1),
        })
    }

    /// A client that, in the legacy era, has shaken hands. A refused handshake is an error.
    pub async fn connect(url: &str, speaks: Speaks) -> io::Result<Self> {
        let client = Self::new(url, speaks)?;
        client.shake_hands().await?;
        Ok(client)
    }

    /// Declares this raw JSON of capabilities in a legacy handshake.
    #[must_use]
    pub fn declaring(mut self, capabilities: &str) -> Self {
        capabilities.clone_into(&mut self.capabilities);
        self
    }

    /// Adds a header to all requests (`Authorization`, `Origin`).
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// `initialize` and `notifications/initialized`; nothing in the modern era. Returns the answer.
    pub async fn shake_hands(&self) -> io::Result<Answer> {
        let Speaks::Legacy(revision) = &self.speaks else { return Ok(Answer::default()) };
        *locked(&self.session) = None;
        *locked(&self.revision) = None;
        let answer =
            self.request("\"init\"", "initialize", &initialize_params(revision, &self.capabilities)).await?;
        let agreed = answer.result_member("protocolVersion").ok_or_else(|| {
            io::Error::other(format!("handshake refused: {} {}", answer.status, answer.text))
        })?;
        *locked(&self.revision) = Some(agreed.trim_matches('"').to_owned());
        let session = answer.headers.get("mcp-session-id").and_then(|v| v.to_str().ok());
        *locked(&self.session) = session.map(str::to_owned);
        self.notify("notifications/initialized", "{}").await?;
        Ok(answer)
    }

    /// The revision a legacy handshake agreed on.
    pub fn revision(&self) -> Option<String> {
        locked(&self.revision).clone()
    }

    /// The session of a legacy client.
    pub fn session(&self) -> Option<String> {
        locked(&self.session).clone()
    }

    /// Names this session from now on, whoever it belongs to.
    pub fn use_session(&self, id: Option<&str>) {
        *locked(&self.session) = id.map(str::to_owned);
    }

    /// Closes the connections that carry nothing, so that the next call opens one.
    pub fn close_idle(&self) {
        locked(&self.idle).clear();
    }

    /// An id not used before by this function, as raw text.
    pub fn next_id(&self) -> String {
        self.ids.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// Sends a request with this raw id (`1`, `"1"`, `""`) and waits for its answer. `params` is a raw object; the
    /// modern envelope and headers are added. An answer with another id is an error. Never times out by
    /// itself; dropping it closes the connection.
    pub async fn request(&self, id: &str, method: &str, params: &str) -> io::Result<Answer> {
        self.request_with(id, method, params, &[]).await
    }

    /// As [`request`](Self::request), with more headers (`Mcp-Param-…`).
    pub async fn request_with(
        &self,
        id: &str,
        method: &str,
        params: &str,
        headers: &[(&str, &str)],
    ) -> io::Result<Answer> {
        self.open_with(id, method, params, headers).await?.answer(id).await
    }

    /// `tools/call` with raw arguments.
    pub async fn call(&self, id: &str, tool: &str, arguments: &str) -> io::Result<Answer> {
        self.request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)).await
    }

    /// Sends a request and gives what comes back message by message: for `subscriptions/listen`, or to leave
    /// in the middle.
    pub async fn open(&self, id: &str, method: &str, params: &str) -> io::Result<Messages<'_>> {
        self.open_with(id, method, params, &[]).await
    }

    async fn open_with(
        &self,
        id: &str,
        method: &str,
        params: &str,
        headers: &[(&str, &str)],
    ) -> io::Result<Messages<'_>> {
        let text = request_text(id, method, &self.speaks.params(params));
        let mirrored = self.mirrored(&text);
        let mut all: Vec<(&str, &str)> = mirrored.iter().map(|(n, v)| (*n, v.as_str())).collect();
        all.extend(headers);
        self.send(Method::POST, &all, text.clone()).await
    }

    /// Sends a notification; its answer has no message.
    pub async fn notify(&self, method: &str, params: &str) -> io::Result<Answer> {
        let text =
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{}}}"#, self.speaks.params(params));
        let headers = self.mirrored(&text);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        self.send(Method::POST, &headers, text.clone()).await?.whole().await
    }

    /// POSTs this text as it is, with the usual and these headers (the last of a name counts), and gives the
    /// body as it came.
    pub async fn post(&self, text: &str, headers: &[(&str, &str)]) -> io::Result<Answer> {
        self.send(Method::POST, headers, text.to_owned()).await?.whole().await
    }

    /// Opens the GET stream of a legacy session.
    pub async fn listen(&self) -> io::Result<Messages<'_>> {
        self.send(Method::GET, &[], String::new()).await
    }

    /// Ends the session; the answer says whether the server agreed.
    pub async fn delete(&self) -> io::Result<Answer> {
        self.send(Method::DELETE, &[], String::new()).await?.whole().await
    }

    /// The headers a modern request repeats its body in.
    fn mirrored(&self, text: &str) -> Vec<(&'static str, String)> {
        let Some(message) = Message::parse(text) else { return Vec::new() };
        if matches!(self.speaks, Speaks::Legacy(_)) {
            return Vec::new();
        }
        let method = message.method.clone().unwrap_or_default();
        let name = match method.as_str() {
            "tools/call" | "prompts/get" => message.param("name"),
            "resources/read" => message.param("uri"),
            _ => message.param("taskId").filter(|_| method.starts_with("tasks/")),
        };
        let mut headers = vec![("mcp-protocol-version", MODERN.to_owned()), ("mcp-method", method)];
        headers.extend(name.map(|name| ("mcp-name", mirror::encode(&name))));
        headers
    }

    async fn send(&self, method: Method, more: &[(&str, &str)], body: String) -> io::Result<Messages<'_>> {
        let mut headers = HeaderMap::new();
        let mut put = |name: &str, value: &str| -> io::Result<()> {
            let name: http::HeaderName = name.parse().map_err(io::Error::other)?;
            headers.insert(name, value.parse().map_err(io::Error::other)?);
            Ok(())
        };
        put("host", &self.host)?;
        put("accept", if method == Method::GET { "text/event-stream" } else { BOTH })?;
        if method == Method::POST {
            put("content-type", "application/json")?;
        }
        if let Some(session) = self.session() {
            put("mcp-session-id", &session)?;
        }
        if let Some(revision) = locked(&self.revision).clone().filter(|r| r.as_str() >= "2025-06-18") {
            put("mcp-protocol-version", &revision)?;
        }
        for (name, value) in
            self.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).chain(more.iter().copied())
        {
            put(name, value)?;
        }
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.parse().map_err(io::Error::other)?;
        *request.headers_mut() = headers;
        let mut sender = self.sender().await?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        Ok(Messages::new(self, sender, response))
    }

    async fn sender(&self) -> io::Result<Sender> {
        loop {
            let Some(mut sender) = locked(&self.idle).pop() else { break };
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        let stream = TcpStream::connect(self.addr).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::Builder::new()
            .max_headers(10_000)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        // Errors of the connection reach whoever waits for an answer on it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

/// What comes back for one HTTP request. Dropping it in the middle closes the connection.
#[derive(Debug)]
pub struct Messages<'a> {
    client: &'a HttpClient,
    sender: Option<Sender>,
    /// Status of the answer.
    pub status: u16,
    /// Headers of the answer.
    pub headers: HeaderMap,
    body: Incoming,
    reader: Option<EventReader>,
    ready: VecDeque<String>,
    ended: bool,
}

impl<'a> Messages<'a> {
    fn new(client: &'a HttpClient, sender: Sender, response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let kind = head.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let reader = kind.starts_with("text/event-stream").then(EventReader::default);
        Self {
            client,
            sender: Some(sender),
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            reader,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// Whether the answer is an event stream.
    pub fn is_stream(&self) -> bool {
        self.reader.is_some()
    }

    /// The next message: an event's data, or the whole body of an answer that is no stream. `None` at the end.
    /// Nothing is lost if it is dropped while it waits on a stream.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            if self.ended {
                return Ok(None);
            }
            if self.reader.is_none() {
                return self.rest().await.map(|text| (!text.is_empty()).then_some(text));
            }
            match (self.body.frame().await, &mut self.reader) {
                (Some(frame), Some(reader)) => {
                    let data = frame.map_err(io::Error::other)?.into_data().unwrap_or_default();
                    self.ready.extend(reader.feed(&data));
                }
                _ => self.finish(),
            }
        }
    }

    async fn rest(&mut self) -> io::Result<String> {
        let body = (&mut self.body).collect().await.map_err(io::Error::other)?.to_bytes();
        self.finish();
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The connection is free for others.
    fn finish(&mut self) {
        self.ended = true;
        if let Some(sender) = self.sender.take() {
            locked(&self.client.idle).push(sender);
        }
    }

    /// Everything up to the response to `id`.
    pub async fn answer(mut self, id: &str) -> io::Result<Answer> {
        let mut before = Vec::new();
        while let Some(text) = self.next().await? {
            let message = Message::parse(&text);
            if message.as_ref().is_some_and(|m| m.method.is_some()) {
                before.push(text);
                continue;
            }
            let answered = message.and_then(|m| m.id);
            if answered.as_deref().is_some_and(|other| other != id && other != "null") {
                return Err(io::Error::other(format!("asked as {id}, answered: {text}")));
            }
            return Ok(Answer { status: self.status, headers: self.headers, text, before });
        }
        if self.status == 200 {
            return Err(closed("the stream ended before the answer"));
        }
        Ok(Answer { status: self.status, headers: self.headers, text: String::new(), before })
    }

    async fn whole(mut self) -> io::Result<Answer> {
        let text = self.rest().await?;
        Ok(Answer { status: self.status, headers: self.headers, text, before: Vec::new() })
    }
}

const BOTH: &str = "application/json, text/event-stream";
