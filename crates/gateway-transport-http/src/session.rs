use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateway_domain::{
    ClientCapabilities, DownstreamFault, DownstreamSession, Era, Error, Exchange, ListKind, ListPage,
    Outcome, ParamHeader, Params, PeerInfo, Session, Subject,
};
use gateway_protocol::{
    RequestId, Response, client,
    headers::{self, NAME},
    method, write,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::{sync::OnceCell, task::JoinHandle};

use crate::{deadline::Deadline, failure::Failure, link::Link, listen};

/// An open session to a remote server. Requests run side by side; each has an id of its own.
///
/// A modern session is nothing but what both sides know of each other: it serves everybody.
pub struct HttpSession {
    link: Arc<Link>,
    peer: PeerInfo,
    /// The task that listens for changes.
    listener: Mutex<Option<JoinHandle<()>>>,
    /// Set once everything is gone.
    ended: OnceCell<()>,
}

impl HttpSession {
    pub(crate) fn new(link: Link, peer: PeerInfo) -> Self {
        Self { link: Arc::new(link), peer, listener: Mutex::new(None), ended: OnceCell::new() }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Listens for changes, if the server announces them.
    pub(crate) fn listen(&self) {
        if self.peer.announces_changes(ListKind::Tools) {
            let listener = tokio::spawn(listen::listen(Arc::clone(&self.link)));
            *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
        }
    }

    fn stop_listening(&self) -> Option<JoinHandle<()>> {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        listener.abort();
        Some(listener)
    }

    fn fail(&self, failure: Failure) -> Error {
        failure.of(&self.link.endpoint.name)
    }

    fn nonsense(&self, reason: client::Nonsense) -> Error {
        DownstreamFault::Nonsense { reason: reason.reason }.during(&self.link.endpoint.name)
    }

    /// A request that is no call.
    async fn ask(&self, method: &str, params: Vec<u8>) -> Result<Response, Error> {
        let id = self.link.next_id();
        let message = write::request(&RequestId::from(id), method, &params);
        let deadline = Deadline::fixed(self.link.endpoint.config.request_timeout);
        let answer = self.link.ask(id, self.link.headers_for(method), message, None, deadline).await;
        answer.map_err(|failure| self.fail(failure))
    }
}

#[async_trait]
impl Session for HttpSession {
    /// If the future is dropped, the next close begins anew.
    async fn close(&self) {
        self.link.close();
        let end = || async {
            if let Some(listener) = self.stop_listening() {
                // Aborted, so it ends at its next await.
                let _ = listener.await;
            }
            self.link.delete().await;
        };
        self.ended.get_or_init(end).await;
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }
}

#[async_trait]
impl DownstreamSession for HttpSession {
    fn peer(&self) -> &PeerInfo {
        &self.peer
    }

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        let link = &self.link;
        let id = link.next_id();
        let mut headers = link.headers_for(method::of(subject));
        if link.era() == Era::Modern {
            mirror(&mut headers, subject, params);
        }
        let message = client::call(&link.hop(&exchange.capabilities), id, subject, params, exchange);
        let deadline = Deadline::new(link.endpoint.config.call_timeout, link.endpoint.config.max_call_time);
        let answer = link.ask(id, headers, message, Some(exchange), deadline).await;
        let response = answer.map_err(|failure| self.fail(failure))?;
        client::outcome(link.era(), response.answer).map_err(|reason| self.nonsense(reason))
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        let params = client::list_params(&self.link.hop(&ClientCapabilities::none()), cursor);
        let response = self.ask(method::of_list(list), params).await?;
        client::list_page(list, response).map_err(|reason| self.nonsense(reason))
    }

    async fn ping(&self) -> Result<(), Error> {
        let method = match self.link.era() {
            Era::Legacy => method::PING,
            Era::Modern => method::DISCOVER,
        };
        let params = client::ping_params(&self.link.hop(&ClientCapabilities::none()));
        self.ask(method, params).await.map(|_| ())
    }
}

/// Repeats what is called and the annotated arguments in headers (protocol.md §5.2).
fn mirror(headers: &mut HeaderMap, subject: &Subject, params: &Params) {
    let (named, mirrored): (_, &[ParamHeader]) = match subject {
        Subject::Tool { name, headers, .. } => (name, headers),
        Subject::Prompt { name } => (name, &[]),
        Subject::Resource { uri } => (uri, &[]),
        Subject::Task { id, .. } => (id, &[]),
        Subject::Completion(_) | Subject::Other { .. } => return,
    };
    // What `encode` writes is printable ASCII, which every header value may hold.
    if let Ok(value) = HeaderValue::from_str(&headers::encode(named)) {
        headers.insert(NAME, value);
    }
    if mirrored.is_empty() {
        return;
    }
    let arguments = params.object.get_object("arguments");
    for (name, value) in headers::params(mirrored, arguments.as_ref()) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
}

/// A session that is let go without a close is ended all the same, beside everything else.
impl Drop for HttpSession {
    fn drop(&mut self) {
        drop(self.stop_listening());
        self.link.close();
        if !self.ended.initialized() && self.link.has_session() {
            let link = Arc::clone(&self.link);
            self.link.endpoint.errand(async move { link.delete().await });
        }
    }
}

impl fmt::Debug for HttpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSession")
            .field("downstream", &self.link.endpoint.name.as_str())
            .field("protocol", &self.peer.protocol)
            .field("open", &self.link.is_open())
            .finish_non_exhaustive()
    }
}
