//! HTTP+SSE, the transport of 2024-11-05 (protocol.md §6): one stream carries all that the server says, answers
//! too; what it is told is posted to an address that the stream names first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use gateway_domain::{self as domain, DownstreamFault};
use gateway_protocol::{Answer, Incoming as Messages, Message, Request, RequestId, Response, client};
use http::{Method, StatusCode, Uri, header};
use tokio::sync::oneshot;

use crate::{
    body,
    deadline::Deadline,
    endpoint::Endpoint,
    events::{EventStream, Place},
    failure::Failure,
    headers::{EVENT_STREAM, Form, form},
    link::Link,
};

/// The event that names the address.
const ENDPOINT: &str = "endpoint";

/// A stream whose session is being opened.
pub(crate) struct Door {
    stream: EventStream,
    place: Place,
    messages: Uri,
    /// What came with the request that the session is opened for.
    incoming: Option<Arc<domain::Incoming>>,
}

impl Door {
    /// Opens a stream and waits for the address.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        incoming: Option<Arc<domain::Incoming>>,
    ) -> Result<Self, Failure> {
        let mut headers = endpoint.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::ACCEPT, EVENT_STREAM);
        let sent = endpoint.send(Method::GET, headers, Bytes::new(), incoming.as_deref());
        let (head, body) = sent.await?.into_parts();
        if head.status != StatusCode::OK || form(&head.headers) != Form::Events {
            body::release(endpoint, body);
            return Err(refusal(head.status));
        }
        let mut stream = EventStream::new(body, endpoint.config.max_message_bytes);
        let mut place = Place::default();
        while let Some(event) = stream.next_named(&mut place).await? {
            if event.name.as_deref() == Some(ENDPOINT) {
                let address = std::str::from_utf8(&event.data).unwrap_or_default().trim();
                let messages = resolve(&endpoint.uri, address).ok_or_else(|| {
                    Failure::nonsense("an address for messages that is none on the same server")
                })?;
                return Ok(Self { stream, place, messages, incoming });
            }
        }
        Err(Failure::ended("its event stream ended before it named an address for messages"))
    }

    /// Makes a request of the opening and waits for its answer.
    pub(crate) async fn ask(
        &mut self,
        endpoint: &Endpoint,
        id: u64,
        message: Vec<u8>,
    ) -> Result<Response, Failure> {
        self.post(endpoint, message).await?;
        while let Some(text) = self.stream.next(&mut self.place).await? {
            match Messages::parse(text).map_err(Failure::nonsense)? {
                Messages::Single(Message::Response(response)) if answers(&response, id) => {
                    return Ok(response);
                }
                // Before the session is open only a ping is due.
                Messages::Single(Message::Request(request)) => self.reply(endpoint, &request).await?,
                Messages::Single(_) | Messages::Batch(_) => {}
            }
        }
        Err(Failure::ended("its event stream ended"))
    }

    async fn reply(&self, endpoint: &Endpoint, request: &Request) -> Result<(), Failure> {
        self.post(endpoint, client::answer_server(request)).await
    }

    async fn post(&self, endpoint: &Endpoint, message: Vec<u8>) -> Result<(), Failure> {
        let (uri, headers) = (self.messages.clone(), endpoint.headers.clone());
        let sent = endpoint.send_to(uri, Method::POST, headers, message.into(), self.incoming.as_deref());
        let (head, body) = sent.await?.into_parts();
        body::release(endpoint, body);
        if head.status.is_success() { Ok(()) } else { Err(refusal(head.status)) }
    }

    /// The session's channel, and the stream that has to be read for it.
    pub(crate) fn pass(self) -> (Channel, Stream) {
        let channel = Channel { messages: self.messages, waiting: Mutex::default() };
        (channel, Stream { stream: self.stream, place: self.place })
    }
}

fn refusal(status: StatusCode) -> Failure {
    match status.as_u16() {
        status @ (401 | 403) => Failure::before(DownstreamFault::Unauthorized { status }),
        status => Failure::during(DownstreamFault::Status { status }),
    }
}

/// How requests of such a session find their answers.
pub(crate) struct Channel {
    messages: Uri,
    /// An entry for each request that is waited for.
    waiting: Mutex<HashMap<u64, oneshot::Sender<Response>>>,
}

impl Channel {
    pub(crate) fn messages(&self) -> &Uri {
        &self.messages
    }

    /// Posts a request and waits until the stream has its answer.
    pub(crate) async fn ask(
        &self,
        link: &Link,
        id: u64,
        message: Vec<u8>,
        incoming: Option<&domain::Incoming>,
        deadline: Deadline,
    ) -> Result<Response, Failure> {
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id, sender);
        let _waiting = Waiting { channel: self, id };
        let status = deadline.bound(link.post_for(message, incoming)).await??;
        match status.as_u16() {
            200..=299 => {}
            404 | 410 => return Err(Failure::unknown_session(status.as_u16())),
            _ => return Err(refusal(status)),
        }
        deadline.bound(answer).await?.map_err(|_| Failure::ended("its event stream ended"))
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Response>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a request among those that are waited for.
struct Waiting<'a> {
    channel: &'a Channel,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.channel.waiting().remove(&self.id);
    }
}

/// The stream of an open session.
pub(crate) struct Stream {
    stream: EventStream,
    place: Place,
}

/// Reads the stream of a session to its end, which is the session's.
pub(crate) async fn read(link: Arc<Link>, stream: Stream) {
    let Stream { mut stream, mut place } = stream;
    let reason = loop {
        match stream.next(&mut place).await {
            Ok(Some(text)) => take(&link, text).await,
            Ok(None) => break "its event stream ended".to_owned(),
            Err(failure) => break failure.fault.to_string(),
        }
    };
    link.disown(&reason);
    if let Some(channel) = &link.sse {
        // Nobody answers these any more.
        channel.waiting().clear();
    }
}

async fn take(link: &Arc<Link>, text: Bytes) {
    let messages = match Messages::parse(text) {
        Ok(Messages::Single(message)) => vec![message],
        Ok(Messages::Batch(messages)) => messages.into_iter().flatten().collect(),
        Err(error) => {
            tracing::debug!(downstream = %link.endpoint.name, %error, "nonsense on the event stream");
            return;
        }
    };
    for message in messages {
        let response = match message {
            Message::Response(response) => response,
            Message::Notification(notification) => {
                link.notified(notification, None);
                continue;
            }
            Message::Request(request) => {
                if let Some(reply) = link.consider(&request, None) {
                    link.reply_beside(reply).await;
                }
                continue;
            }
        };
        let id = response.id.as_ref().and_then(RequestId::to_number);
        let waiting = link.sse.as_ref().zip(id).and_then(|(channel, id)| channel.waiting().remove(&id));
        if let Some(waiting) = waiting {
            // Nobody may want it any more.
            let _ = waiting.send(response);
        }
    }
}

/// An error without an id is about the only request there is.
fn answers(response: &Response, id: u64) -> bool {
    match &response.id {
        Some(given) => given.to_number() == Some(id),
        None => matches!(response.answer, Answer::Error(_)),
    }
}

/// The address that a reference stands for on the page `base`; `None` if it is on another server.
fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next().unwrap_or_default();
    if reference.is_empty() {
        return None;
    }
    let scheme = base.scheme_str()?;
    let authority = base.authority()?;
    let (path, query) =
        reference.split_once('?').map_or((reference, None), |(path, query)| (path, Some(query)));
    let text = if path.contains("://") {
        reference.to_owned()
    } else if path.starts_with("//") {
        format!("{scheme}:{reference}")
    } else {
        let directory = base.path().rsplit_once('/').map_or("", |(directory, _)| directory);
        let path = match path {
            "" => base.path().to_owned(),
            absolute if absolute.starts_with('/') => absolute.to_owned(),
            relative => format!("{directory}/{}", relative.trim_start_matches("./")),
        };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{authority}{path}{query}")
    };
    let uri: Uri = text.parse().ok()?;
    (origin(&uri)? == origin(base)?).then_some(uri)
}

/// Scheme, host and port.
fn origin(uri: &Uri) -> Option<(String, String, u16)> {
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let usual = if scheme == "https" { 443 } else { 80 };
    if uri.authority()?.as_str().contains('@') {
        return None;
    }
    Some((scheme, uri.host()?.to_ascii_lowercase(), uri.port_u16().unwrap_or(usual)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_same_server_only() {
        for (base, reference, expected) in [
            ("http://h/sse", "/messages?s=1", Some("http://h/messages?s=1")),
            ("http://h/a/sse", "messages/?s=1", Some("http://h/a/messages/?s=1")),
            ("http://h/a/sse", "./m", Some("http://h/a/m")),
            ("http://h/a/sse", "?s=1", Some("http://h/a/sse?s=1")),
            ("http://h:8080/sse", "http://h:8080/m", Some("http://h:8080/m")),
            ("http://h/sse", "http://H:80/m", Some("http://H:80/m")),
            ("https://h/sse", "//h/m", Some("https://h/m")),
            ("http://h/sse", "//other/m", None),
            ("http://h/sse", "http://other/m", None),
            ("http://h/sse", "https://h/m", None),
            ("http://h/sse", "http://h:81/m", None),
            ("http://h/sse", "http://u@h/m", None),
            ("http://h/sse", "file:///etc/passwd", None),
            ("http://h/sse", "", None),
            ("http://h/sse", "/a b", None),
        ] {
            let made = resolve(&base.parse().unwrap(), reference).map(|uri| uri.to_string());
            assert_eq!(made.as_deref(), expected, "{reference} at {base}");
        }
    }
}
