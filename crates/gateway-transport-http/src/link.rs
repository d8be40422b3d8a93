use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use bytes::Bytes;
use gateway_domain::{self as domain, ClientCapabilities, DownstreamFault, Era, Execution, SessionProfile};
use gateway_protocol::{
    Answer, Response, Revision, client, code,
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
    events,
    failure::Failure,
    headers::{self, EVENT_STREAM, Form, LAST_EVENT_ID, form},
    hub::Hub,
    inquiry::{Ear, Inquiry},
    refusal::{self, Verdict},
    sse::Channel,
};

/// What the parts of an open session share.
pub(crate) struct Link {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) revision: Revision,
    /// What every request of the session carries.
    headers: HeaderMap,
    /// What came last with a request of the one client whose session it is. `None`: it is the gateway's own, or serves
    /// everybody.
    incoming: Option<Mutex<Arc<domain::Incoming>>>,
    /// Shared with the links of readers: no two requests have one id.
    next_id: Arc<AtomicU64>,
    /// The server has ended the session, or shown that it is another one by now.
    lost: AtomicBool,
    /// It has said that it does not have the session, so that there is nothing to end.
    disowned: AtomicBool,
    closed: AtomicBool,
    pub(crate) hub: Hub,
    /// The stream that carries all answers, where it is that kind of server.
    pub(crate) sse: Option<Channel>,
}

impl Link {
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        revision: Revision,
        session: Option<HeaderValue>,
        next_id: u64,
        hub: Hub,
        (sse, incoming): (Option<Channel>, Option<Arc<domain::Incoming>>),
    ) -> Self {
        let mut headers = endpoint.headers.clone();
        if let Some(mut session) = session {
            session.set_sensitive(true);
            headers.insert(SESSION, session);
        }
        if let Some((name, value)) = version_header(revision) {
            headers.insert(name, value);
        }
        let [lost, disowned, closed] = [(); 3].map(|()| AtomicBool::new(false));
        let next_id = Arc::new(AtomicU64::new(next_id));
        let incoming = incoming.filter(|_| revision.era() == Era::Legacy).map(Mutex::new);
        Self { endpoint, revision, headers, incoming, next_id, lost, disowned, closed, hub, sse }
    }

    /// The same server for one caller of a modern session, who watches something there: everything that is asked is
    /// asked in that caller's name.
    pub(crate) fn of_reader(&self, incoming: &Arc<domain::Incoming>) -> Self {
        let profile = SessionProfile {
            era: Era::Modern,
            capabilities: ClientCapabilities::none(),
            incoming: Some(Arc::clone(incoming)),
        };
        let [lost, disowned, closed] = [(); 3].map(|()| AtomicBool::new(false));
        Self {
            endpoint: Arc::clone(&self.endpoint),
            revision: self.revision,
            headers: self.headers.clone(),
            incoming: Some(Mutex::new(Arc::clone(incoming))),
            next_id: Arc::clone(&self.next_id),
            lost,
            disowned,
            closed,
            hub: Hub::new(self.hub.peer.clone(), &profile),
            sse: None,
        }
    }

    /// Something else has come with a request of the client's whose this is.
    pub(crate) fn renew(&self, incoming: &Arc<domain::Incoming>) {
        self.incoming(Some(Arc::clone(incoming)));
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
        self.hub.watches.lose();
    }

    /// How requests introduce themselves here; those on nobody's behalf declare nothing.
    pub(crate) fn hop<'a>(&'a self, capabilities: &'a ClientCapabilities) -> Hop<'a> {
        Hop { revision: self.revision, client: &self.endpoint.config.client, capabilities }
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// What came with the request that something is done for here: with this call if there is one, else with the last
    /// of the client whose session it is.
    pub(crate) fn incoming(&self, call: Option<Arc<domain::Incoming>>) -> Option<Arc<domain::Incoming>> {
        let Some(last) = &self.incoming else { return call };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = call.filter(|call| call.caller == last.caller) {
            *last = call;
        }
        Some(Arc::clone(&last))
    }

    /// The headers of a request.
    pub(crate) fn headers_for(&self, method: &str) -> HeaderMap {
        let mut headers = self.headers.clone();
        // A method that is no header value cannot be repeated in one.
        if let (Era::Modern, Ok(method)) = (self.era(), HeaderValue::from_str(method)) {
            headers.insert(METHOD, method);
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
        ear: Ear<'_>,
        deadline: Deadline,
    ) -> Result<Response, Failure> {
        let guard = (self.era() == Era::Legacy).then(|| CancelOnDrop::new(self, id));
        let answered = self.inquire(id, headers, message, ear, deadline).await;
        if let Some(guard) = guard {
            guard.settle(&answered);
        }
        answered
    }

    /// The same without a cancellation in the legacy era.
    pub(crate) async fn inquire(
        self: &Arc<Self>,
        id: u64,
        headers: HeaderMap,
        message: Vec<u8>,
        ear: Ear<'_>,
        deadline: Deadline,
    ) -> Result<Response, Failure> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Failure::before(DownstreamFault::Closed));
        }
        if self.lost.load(Ordering::Relaxed) && self.era() == Era::Legacy {
            let reason = "its session has ended".to_owned();
            return Err(Failure::before(DownstreamFault::Ended { reason }));
        }
        let incoming = self.incoming(ear.incoming());
        let incoming = incoming.as_deref();
        let answered = match &self.sse {
            Some(channel) => channel.ask(self, id, message, incoming, deadline).await,
            None => {
                let mut inquiry = Inquiry::new(&self.endpoint, id, incoming, deadline).within(self, ear);
                inquiry.ask(headers, message).await.map(|answered| answered.response)
            }
        };
        self.judge(&answered);
        answered
    }

    /// Draws conclusions about the session from what came of a request.
    fn judge(&self, answered: &Result<Response, Failure>) {
        match (self.era(), answered) {
            (
                Era::Legacy,
                Err(Failure { fault: DownstreamFault::Ended { reason }, execution: Execution::NotStarted }),
            ) => {
                self.disown(reason);
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

    /// The server says that it does not have the session.
    pub(crate) fn disown(&self, reason: &str) {
        self.disowned.store(true, Ordering::Relaxed);
        self.lose(reason);
    }

    pub(crate) fn lose(&self, reason: &str) {
        if !self.lost.swap(true, Ordering::Relaxed) && !self.closed.load(Ordering::Relaxed) {
            self.endpoint.observer.session_lost(reason);
        }
        self.hub.watches.lose();
    }

    /// Looks in a refusal of the request `id` for what it says of the session, and lets go of it. It may be an
    /// answer after all: then the request may have been carried out, whatever the status means.
    ///
    /// # Errors
    /// The session is gone, and the request was not carried out.
    pub(crate) async fn refused(
        &self,
        head: &Parts,
        body: Incoming,
        id: u64,
    ) -> Result<Option<Response>, Failure> {
        let Some(text) = self.glance(head, body).await else { return Ok(None) };
        if head.status == StatusCode::NOT_FOUND
            && self.has_session()
            && let Some(answer) = refusal::answer(&text, id)
        {
            self.lose("it answered with HTTP status 404, which is for sessions that it does not know");
            return Ok(Some(answer));
        }
        self.read_refusal(head.status, &text).map(|()| None)
    }

    /// What a refusal says that may be about the session.
    async fn glance(&self, head: &Parts, mut body: Incoming) -> Option<Bytes> {
        let may = self.era() == Era::Legacy && tells(head.status) && !headers::is_encoded(&head.headers);
        let text = if may { body::glance(&mut body).await } else { None };
        body::release(&self.endpoint, body);
        match form(&head.headers) {
            Form::Events => events::first(&text?),
            Form::Json | Form::Other => text,
        }
    }

    /// Looks in the body of a refusal for what it says of the session.
    ///
    /// # Errors
    /// The session is gone, and the request was not carried out.
    pub(crate) fn read_refusal(&self, status: StatusCode, body: &Bytes) -> Result<(), Failure> {
        if self.era() == Era::Modern || !tells(status) {
            return Ok(());
        }
        match refusal::read(body) {
            Verdict::Silent => Ok(()),
            // With 401 nothing runs, whatever it says (security.md §5.2).
            Verdict::MaybeATools if status != StatusCode::UNAUTHORIZED => {
                self.lose("it answered that it no longer knows the session");
                Ok(())
            }
            Verdict::Unknown | Verdict::MaybeATools => Err(Failure::unknown_session(status.as_u16())),
        }
    }

    /// Posts a message that is no request and returns the status it is taken with.
    pub(crate) async fn post(&self, message: Vec<u8>) -> Result<StatusCode, Failure> {
        self.post_for(message, self.incoming(None).as_deref()).await
    }

    /// The same for a client's request.
    pub(crate) async fn post_for(
        &self,
        message: Vec<u8>,
        incoming: Option<&domain::Incoming>,
    ) -> Result<StatusCode, Failure> {
        let uri = self.sse.as_ref().map_or(&self.endpoint.uri, Channel::messages).clone();
        let sent = self.endpoint.send_to(uri, Method::POST, self.headers.clone(), message.into(), incoming);
        let (head, body) = sent.await?.into_parts();
        body::release(&self.endpoint, body);
        Ok(head.status)
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

    /// Opens a legacy GET stream, behind the event `after` if there is one.
    pub(crate) async fn open_stream(&self, after: Option<&str>) -> Result<Incoming, Failure> {
        let mut headers = self.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::ACCEPT, EVENT_STREAM);
        if let Some(value) = after.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, value);
        }
        let incoming = self.incoming(None);
        let sent = self.endpoint.send(Method::GET, headers, Bytes::new(), incoming.as_deref());
        let (head, body) = sent.await?.into_parts();
        if head.status == StatusCode::OK && form(&head.headers) == Form::Events {
            return Ok(body);
        }
        let status = head.status.as_u16();
        if status == 404 && self.has_session() {
            body::release(&self.endpoint, body);
            return Err(Failure::unknown_session(status));
        }
        if let Some(text) = self.glance(&head, body).await {
            self.read_refusal(head.status, &text)?;
        }
        Err(Failure::during(DownstreamFault::Status { status }))
    }

    /// Ends the session on the server if there is one there. The server may refuse that.
    pub(crate) async fn delete(&self) {
        if !self.has_session() || self.disowned.load(Ordering::Relaxed) {
            return;
        }
        let mut headers = self.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        let incoming = self.incoming(None);
        let sent = self.endpoint.send(Method::DELETE, headers, Bytes::new(), incoming.as_deref());
        if let Ok(Ok(response)) = tokio::time::timeout(self.endpoint.config.close_timeout, sent).await {
            body::release(&self.endpoint, response.into_body());
        }
    }
}

/// Whether the body of a refusal with this status may say that there is no such session.
fn tells(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 401 | 404)
}

/// The header that names the revision; before 2025-06-18 there was none (protocol.md §4.6).
pub(crate) fn version_header(revision: Revision) -> Option<(HeaderName, HeaderValue)> {
    (revision >= Revision::V2025_06_18)
        .then(|| (HeaderName::from_static(PROTOCOL_VERSION), HeaderValue::from_static(revision.as_str())))
}
