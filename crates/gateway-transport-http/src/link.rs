use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use bytes::Bytes;
use gateway_domain::{ClientCapabilities, DownstreamFault, Era, Exchange};
use gateway_protocol::{
    Answer, Request, Response, Revision, client, code,
    headers::{METHOD, PROTOCOL_VERSION, SESSION},
    meta::Hop,
    method, write,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, response::Parts};
use hyper::body::Incoming;

use crate::{
    body,
    cancel::CancelOnDrop,
    deadline::Deadline,
    endpoint::Endpoint,
    events::Place,
    failure::Failure,
    headers::{self, EVENT_STREAM, Form, LAST_EVENT_ID, form},
    inquiry::Inquiry,
    pace,
    refusal::{self, Verdict},
};

/// What the parts of an open session share.
pub(crate) struct Link {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) revision: Revision,
    /// What every request of the session carries.
    headers: HeaderMap,
    next_id: AtomicU64,
    /// The server has ended the session, or shown that it is another one by now.
    lost: AtomicBool,
    closed: AtomicBool,
}

impl Link {
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        revision: Revision,
        session: Option<HeaderValue>,
        next_id: u64,
    ) -> Self {
        let mut headers = endpoint.headers.clone();
        if let Some(mut session) = session {
            session.set_sensitive(true);
            headers.insert(SESSION, session);
        }
        if let Some((name, value)) = version_header(revision) {
            headers.insert(name, value);
        }
        let (lost, closed) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { endpoint, revision, headers, next_id: AtomicU64::new(next_id), lost, closed }
    }

    pub(crate) fn era(&self) -> Era {
        self.revision.era()
    }

    pub(crate) fn has_session(&self) -> bool {
        self.headers.contains_key(SESSION)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.lost.load(Ordering::Relaxed) && !self.closed.load(Ordering::Relaxed)
    }

    /// Lets nothing more be asked.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// How requests introduce themselves here; those on nobody's behalf declare nothing.
    pub(crate) fn hop<'a>(&'a self, capabilities: &'a ClientCapabilities) -> Hop<'a> {
        Hop { revision: self.revision, client: &self.endpoint.config.client, capabilities }
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The headers of a request.
    pub(crate) fn headers_for(&self, method: &'static str) -> HeaderMap {
        let mut headers = self.headers.clone();
        if self.era() == Era::Modern {
            headers.insert(METHOD, HeaderValue::from_static(method));
        }
        headers
    }

    /// Makes a request and returns its answer. Dropping the future cancels the request: in the modern era by
    /// closing the connection, in the legacy era by a notification (protocol.md §2.7).
    pub(crate) async fn ask(
        self: &Arc<Self>,
        id: u64,
        headers: HeaderMap,
        message: Vec<u8>,
        exchange: Option<&Exchange>,
        deadline: Deadline,
    ) -> Result<Response, Failure> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Failure::before(DownstreamFault::Closed));
        }
        if self.lost.load(Ordering::Relaxed) && self.era() == Era::Legacy {
            let reason = "its session has ended".to_owned();
            return Err(Failure::before(DownstreamFault::Ended { reason }));
        }
        let guard = (self.era() == Era::Legacy).then(|| CancelOnDrop::new(self, id));
        let mut inquiry = Inquiry::new(&self.endpoint, id, deadline).within(self, exchange);
        let answered = inquiry.ask(headers, message).await.map(|answered| answered.response);
        if let Some(guard) = guard {
            guard.settle(&answered);
        }
        self.judge(&answered);
        answered
    }

    /// Draws conclusions about the session from what came of a request.
    fn judge(&self, answered: &Result<Response, Failure>) {
        match (self.era(), answered) {
            (Era::Legacy, Err(Failure { fault: DownstreamFault::Ended { reason }, execution }))
                if *execution == gateway_domain::Execution::NotStarted =>
            {
                self.lose(reason);
            }
            // Some servers say it in an answer. The code is also TypeScript's for a request that took too
            // long, and the call may have run; so the words count, and it stays answered (G-W3).
            (Era::Legacy, Ok(Response { answer: Answer::Error(error), .. }))
                if error.code == code::NO_SESSION
                    && self.has_session()
                    && refusal::says_so(&error.message()) =>
            {
                self.lose("it answered that it no longer knows the session");
            }
            // It was modern once; these are how a legacy server takes modern requests (protocol.md §7.3).
            (
                Era::Modern,
                Err(Failure { fault: DownstreamFault::Status { status: 400 | 404 | 405 }, .. }),
            ) => {
                self.doubt();
            }
            (Era::Modern, Ok(Response { answer: Answer::Error(error), .. }))
                if error.code == code::UNSUPPORTED_VERSION =>
            {
                self.doubt();
            }
            _ => {}
        }
    }

    fn doubt(&self) {
        self.endpoint.memory.forget();
        self.lose("it no longer takes the revision that was agreed on");
    }

    pub(crate) fn lose(&self, reason: &str) {
        if !self.lost.swap(true, Ordering::Relaxed) {
            self.endpoint.observer.session_lost(reason);
        }
    }

    /// Looks in a refusal that is no message for what it says of the session, and lets go of it.
    ///
    /// # Errors
    /// The session is gone, and the request was not carried out.
    pub(crate) async fn refused(&self, head: &Parts, mut body: Incoming) -> Result<(), Failure> {
        let telling = matches!(head.status.as_u16(), 400 | 401 | 404) && !headers::is_encoded(&head.headers);
        if telling
            && self.era() == Era::Legacy
            && let Some(text) = body::glance(&mut body).await
        {
            self.read_refusal(head.status, &text, None)?;
        }
        body::release(&self.endpoint, body);
        Ok(())
    }

    /// Looks in the body of a refusal of the request `id` for what it says of the session.
    ///
    /// # Errors
    /// The session is gone, and the request was not carried out.
    pub(crate) fn read_refusal(
        &self,
        status: StatusCode,
        body: &Bytes,
        id: Option<u64>,
    ) -> Result<(), Failure> {
        if self.era() == Era::Modern || !matches!(status.as_u16(), 400 | 401 | 404) {
            return Ok(());
        }
        match refusal::read(body, id) {
            Verdict::Silent => Ok(()),
            Verdict::Unknown => Err(Failure::unknown_session(status.as_u16())),
            Verdict::MaybeATools => {
                self.lose("it answered that it no longer knows the session");
                Ok(())
            }
        }
    }

    /// Posts a message that is no request and returns the status it is taken with.
    pub(crate) async fn post(&self, message: Vec<u8>) -> Result<StatusCode, Failure> {
        let (head, body) =
            self.endpoint.send(Method::POST, self.headers.clone(), message.into()).await?.into_parts();
        body::release(&self.endpoint, body);
        Ok(head.status)
    }

    /// Answers what a legacy server asks. Modern servers ask in results.
    pub(crate) async fn answer(&self, request: &Request) {
        if self.era() == Era::Modern {
            return;
        }
        let answer = self.post(client::answer_server(request));
        let sent = tokio::time::timeout(self.endpoint.config.request_timeout, answer).await;
        if !matches!(sent, Ok(Ok(status)) if status.is_success()) {
            tracing::debug!(downstream = %self.endpoint.name, method = request.method, "an answer was not taken");
        }
    }

    /// Says that a request is no longer wanted.
    pub(crate) async fn cancel(&self, id: u64, reason: &str) {
        let params = client::cancelled_params(id, reason);
        // A server that does not hear it finishes in vain, no more.
        let _ = self.post(write::notification(method::CANCELLED, &params)).await;
    }

    /// Whether a broken stream can be taken up again.
    pub(crate) fn resumes(&self) -> bool {
        self.era() == Era::Legacy
    }

    /// Waits as long as the server wants before a broken stream is taken up.
    pub(crate) async fn pause(&self, place: &Place) {
        let limit = self.endpoint.config.max_reconnect_delay;
        tokio::time::sleep(pace::least(place.retry).min(limit)).await;
    }

    /// Opens a legacy GET stream, behind the event `after` if there is one.
    pub(crate) async fn open_stream(&self, after: Option<&str>) -> Result<Incoming, Failure> {
        let mut headers = self.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::ACCEPT, EVENT_STREAM);
        if let Some(value) = after.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, value);
        }
        let (head, body) = self.endpoint.send(Method::GET, headers, Bytes::new()).await?.into_parts();
        if head.status == StatusCode::OK && form(&head.headers) == Form::Events {
            return Ok(body);
        }
        let status = head.status.as_u16();
        if status == 404 && self.has_session() {
            body::release(&self.endpoint, body);
            return Err(Failure::unknown_session(status));
        }
        self.refused(&head, body).await?;
        Err(Failure::during(DownstreamFault::Status { status }))
    }

    /// Ends the session on the server if there is one there. The server may refuse that.
    pub(crate) async fn delete(&self) {
        if !self.has_session() || self.lost.load(Ordering::Relaxed) {
            return;
        }
        let mut headers = self.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        let sent = self.endpoint.send(Method::DELETE, headers, Bytes::new());
        if let Ok(Ok(response)) = tokio::time::timeout(self.endpoint.config.close_timeout, sent).await {
            body::release(&self.endpoint, response.into_body());
        }
    }
}

/// The header that names the revision; before 2025-06-18 there was none (protocol.md §4.6).
pub(crate) fn version_header(revision: Revision) -> Option<(HeaderName, HeaderValue)> {
    (revision >= Revision::V2025_06_18)
        .then(|| (HeaderName::from_static(PROTOCOL_VERSION), HeaderValue::from_static(revision.as_str())))
}
