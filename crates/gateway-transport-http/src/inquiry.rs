use std::sync::Arc;

use bytes::Bytes;
use gateway_domain::{self as domain, DownstreamFault, Event, Exchange};
use gateway_protocol::{
    Answer, Incoming as Messages, Message, Notification, Response, headers::SESSION, method,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, response::Parts};
use hyper::body::Incoming;

use crate::{
    body,
    calls::{OpenCall, wants},
    deadline::Deadline,
    endpoint::Endpoint,
    events::{EventStream, Place},
    failure::Failure,
    headers::{self, Form},
    link::Link,
    pace::Pace,
    talk::number,
};

/// How often in a row a broken stream is asked for of a server that is busy or away.
const RESUMPTIONS: usize = 3;

/// One request and the reading of its answer.
pub(crate) struct Inquiry<'a> {
    endpoint: &'a Endpoint,
    id: u64,
    /// The session it belongs to; `None` while one is being opened.
    link: Option<&'a Arc<Link>>,
    ear: Ear<'a>,
    /// What came with the request that it is made for, if it is not the gateway's own.
    incoming: Option<&'a domain::Incoming>,
    deadline: Deadline,
    /// How many notifications have been passed on.
    told: usize,
}

/// Who hears what comes before the answer.
#[derive(Clone, Copy)]
pub(crate) enum Ear<'a> {
    /// It is no client's call.
    Nobody,
    /// It is no call, but made for the client that this came with.
    Reader(&'a Arc<domain::Incoming>),
    /// The client of a modern call.
    Modern(&'a Exchange),
    /// The client of a legacy call, which the server may ask something too.
    Call(&'a OpenCall),
}

impl<'a> Ear<'a> {
    /// What came with the call.
    pub(crate) fn incoming(self) -> Option<Arc<domain::Incoming>> {
        match self {
            Self::Nobody => None,
            Self::Reader(incoming) => Some(Arc::clone(incoming)),
            Self::Modern(exchange) => exchange.incoming.clone(),
            Self::Call(call) => call.incoming(),
        }
    }

    fn call(self) -> Option<&'a OpenCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::Nobody | Self::Reader(_) | Self::Modern(_) => None,
        }
    }
}

/// An answer and what came with it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) response: Response,
    /// The session that the answer names.
    pub(crate) session: Option<HeaderValue>,
}

impl<'a> Inquiry<'a> {
    pub(crate) fn new(
        endpoint: &'a Endpoint,
        id: u64,
        incoming: Option<&'a domain::Incoming>,
        deadline: Deadline,
    ) -> Self {
        Self { endpoint, id, link: None, ear: Ear::Nobody, incoming, deadline, told: 0 }
    }

    pub(crate) fn within(mut self, link: &'a Arc<Link>, ear: Ear<'a>) -> Self {
        self.link = Some(link);
        self.ear = ear;
        self
    }

    /// Posts the request and reads until its answer is there. Dropping the future closes the connection.
    pub(crate) async fn ask(&mut self, headers: HeaderMap, body: Vec<u8>) -> Result<Answered, Failure> {
        let sent = self.endpoint.send(Method::POST, headers, body.into(), self.incoming);
        let (mut head, body) = self.deadline.bound(sent).await??.into_parts();
        let response = match self.form(&head) {
            Ok(Form::Events) => self.read_stream(body).await?,
            Ok(_) => self.read_whole(head.status, body).await?,
            Err(failure) => self.refused(&head, body, failure).await?,
        };
        Ok(Answered { response, session: head.headers.remove(SESSION) })
    }

    /// Decides by status and content type whether there is an answer to read.
    fn form(&self, head: &Parts) -> Result<Form, Failure> {
        let status = head.status.as_u16();
        let form = headers::form(&head.headers);
        match status {
            // The server had the request and refused it because of the session (protocol.md §4.4).
            404 if self.link.is_some_and(|link| link.has_session()) => Err(Failure::unknown_session(status)),
            // It says that nothing ran (security.md §5.2).
            401 | 403 => Err(Failure::before(DownstreamFault::Unauthorized { status })),
            200..=299 | 400..=499 if headers::is_encoded(&head.headers) => {
                Err(Failure::nonsense("a compressed body, which was not asked for"))
            }
            202 | 204 => Err(Failure::nonsense(format_args!("HTTP status {status} in place of an answer"))),
            200..=299 if form == Form::Other => {
                let kind = head.headers.get(http::header::CONTENT_TYPE);
                Err(Failure::nonsense(format_args!("a body of type {kind:?}")))
            }
            200..=299 => Ok(form),
            400..=499 if form == Form::Json => Ok(form),
            _ => Err(Failure::during(DownstreamFault::Status { status })),
        }
    }

    /// What a refusal comes to: `failure`, unless it says that the session is gone, or is an answer after all.
    async fn refused(&self, head: &Parts, body: Incoming, failure: Failure) -> Result<Response, Failure> {
        let Some(link) = self.link else {
            body::release(self.endpoint, body);
            return Err(failure);
        };
        match self.deadline.bound(link.refused(head, body, self.id)).await {
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Err(unknown)) => Err(unknown),
            _ => Err(failure),
        }
    }

    async fn read_whole(&mut self, status: StatusCode, mut body: Incoming) -> Result<Response, Failure> {
        let limit = self.endpoint.config.max_message_bytes;
        let text = self.deadline.bound(body::read(&mut body, limit)).await??;
        if !status.is_success()
            && let Some(link) = self.link
        {
            link.read_refusal(status, &text)?;
        }
        match self.take(text).await {
            Ok(Some(response)) => Ok(response),
            // A refusal whose body is not MCP's is a mere status.
            _ if !status.is_success() => {
                Err(Failure::during(DownstreamFault::Status { status: status.as_u16() }))
            }
            Ok(None) => Err(Failure::nonsense("a body without the answer")),
            Err(failure) => Err(failure),
        }
    }

    async fn read_stream(&mut self, body: Incoming) -> Result<Response, Failure> {
        let limit = self.endpoint.config.max_message_bytes;
        let mut place = Place::default();
        let mut stream = EventStream::new(body, limit);
        loop {
            match self.deadline.bound(stream.next(&mut place)).await? {
                Ok(Some(text)) => {
                    if let Some(response) = self.take(text).await? {
                        body::release(self.endpoint, stream.into_body());
                        return Ok(response);
                    }
                }
                // Since 2025-11-25 a server may hang up and be asked again (protocol.md §4.2).
                broken => {
                    let failure = broken
                        .err()
                        .unwrap_or_else(|| Failure::ended("its stream ended before the answer came"));
                    stream = EventStream::new(self.resume(&place, failure).await?, limit);
                }
            }
        }
    }

    /// Takes up a broken stream where it stopped, if the server gave it a place; else it fails with `failure`.
    async fn resume(&self, place: &Place, failure: Failure) -> Result<Incoming, Failure> {
        let (Some(link), Some(id)) = (self.link, &place.id) else { return Err(failure) };
        if !link.resumes() || !matches!(failure.fault, DownstreamFault::Ended { .. }) {
            return Err(failure);
        }
        let mut pace = Pace::new(self.endpoint.config.max_reconnect_delay);
        for _ in 0..RESUMPTIONS {
            self.deadline.bound(tokio::time::sleep(pace.next(place.retry))).await?;
            match self.deadline.bound(link.open_stream(Some(id))).await? {
                Ok(body) => return Ok(body),
                Err(refusal) if refusal.passes() => {}
                Err(_) => break,
            }
        }
        Err(failure)
    }

    /// Takes one text: the answer, or something that comes before it.
    async fn take(&mut self, text: Bytes) -> Result<Option<Response>, Failure> {
        match Messages::parse(text).map_err(Failure::nonsense)? {
            Messages::Single(message) => self.hear(message).await,
            Messages::Batch(messages) if self.link.is_some_and(|link| link.revision.has_batches()) => {
                let mut answer = None;
                for message in messages {
                    answer = self.hear(message.map_err(Failure::nonsense)?).await?.or(answer);
                }
                Ok(answer)
            }
            Messages::Batch(_) => Err(Failure::nonsense("an array of messages")),
        }
    }

    async fn hear(&mut self, message: Message) -> Result<Option<Response>, Failure> {
        match message {
            Message::Response(response) if self.is_answer(&response) => return Ok(Some(response)),
            Message::Response(_) => return Err(Failure::nonsense("an answer to another request")),
            Message::Notification(notification) => self.notified(notification),
            Message::Request(request) => {
                if let Some(link) = self.link {
                    self.deadline.bound(link.asked(&request, self.ear.call())).await?;
                }
            }
        }
        Ok(None)
    }

    /// An error without an id is about the only request there is.
    fn is_answer(&self, response: &Response) -> bool {
        match &response.id {
            Some(id) => id.to_number() == Some(self.id),
            None => matches!(response.answer, Answer::Error(_)),
        }
    }

    fn notified(&mut self, notification: Notification) {
        let Some(link) = self.link else { return };
        let Ear::Modern(exchange) = self.ear else {
            return link.notified(notification, self.ear.call());
        };
        let params = &notification.params.object;
        match notification.method.as_str() {
            method::PROGRESS
                if exchange.wants_progress && number(params, "progressToken") == Some(self.id) =>
            {
                self.deadline.extend();
                self.tell(exchange, Event::Progress(notification.params.object));
            }
            method::MESSAGE if wants(exchange, params) => {
                self.tell(exchange, Event::Log(notification.params.object));
            }
            _ => link.notified(notification, None),
        }
    }

    fn tell(&mut self, exchange: &Exchange, event: Event) {
        let limit = self.endpoint.config.max_notifications;
        self.told = self.told.saturating_add(1);
        if self.told <= limit {
            exchange.events.emit(event);
        } else if self.told == limit + 1 {
            tracing::warn!(downstream = %self.endpoint.name, limit, "a call has too many notifications; the others are dropped");
        }
    }
}
