use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use async_trait::async_trait;
use gateway_domain::{
    ClientCapabilities, ClientLink, DownstreamFault, DownstreamSession, Era, Error, Exchange, ListKind,
    ListPage, Outcome, Params, PeerInfo, Session, Subject, Subscription, Updates,
};
use gateway_protocol::{Response, client, code, method};
use tokio::{sync::OnceCell, task::JoinHandle};

use crate::{
    deadline::Deadline, failure::Failure, going::Going, headers, inquiry::Ear, link::Link, listen,
    mirror::mirror, readers::Readers, sse, watches,
};

/// An open session to a remote server. Requests run side by side; each has an id of its own.
///
/// A modern session is nothing but what both sides know of each other: it serves everybody.
pub struct HttpSession {
    link: Arc<Link>,
    readers: Arc<Readers>,
    /// The task that listens for what belongs to no request.
    listener: Mutex<Option<JoinHandle<()>>>,
    /// The lists whose changes were to be heard from the beginning.
    lists: OnceLock<Vec<ListKind>>,
    /// Set once everything is gone.
    ended: OnceCell<()>,
}

impl HttpSession {
    pub(crate) fn new(link: Link) -> Self {
        Self {
            link: Arc::new(link),
            readers: Arc::default(),
            listener: Mutex::new(None),
            lists: OnceLock::new(),
            ended: OnceCell::new(),
        }
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Reads the stream that a session of HTTP+SSE consists of.
    pub(crate) fn read(&self, stream: sse::Stream) {
        *self.listener() = Some(tokio::spawn(sse::read(Arc::clone(&self.link), stream)));
    }

    /// Listens for what belongs to no request: changes of these lists, and what a legacy session has besides. Again,
    /// if the server would not have it before.
    pub(crate) fn listen(&self, lists: Vec<ListKind>) {
        let mut listener = self.listener();
        let is_modern = self.link.era() == Era::Modern;
        let listens = |task: &JoinHandle<()>| !(is_modern && task.is_finished());
        if listener.as_ref().is_some_and(listens) || self.link.sse.is_some() || !self.link.is_open() {
            return;
        }
        let link = Arc::clone(&self.link);
        // Who listens again hears all that was heard before.
        let lists = self.lists.get_or_init(|| lists);
        *listener = Some(if is_modern {
            link.hub.watches.begin();
            tokio::spawn(listen::listen_modern(link, lists.clone()))
        } else {
            tokio::spawn(listen::listen(link))
        });
    }

    fn listener(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop_listening(&self) -> Option<JoinHandle<()>> {
        let listener = self.listener().take()?;
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
        self.link.request(method, params).await.map_err(|failure| self.fail(failure))
    }

    async fn list_as(&self, ear: Ear<'_>, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        let params = client::list_params(&self.link.hop(&ClientCapabilities::none()), cursor);
        let asked = self.link.request_for(method::of_list(list), params, ear).await;
        let response = asked.map_err(|failure| self.fail(failure))?;
        client::list_page(list, response).map_err(|reason| self.nonsense(reason))
    }

    async fn call_modern(
        &self,
        subject: &Subject,
        params: &Params,
        exchange: &Exchange,
    ) -> Result<Outcome, Error> {
        let link = &self.link;
        let id = link.next_id();
        let mut headers = link.headers_for(method::of(subject));
        mirror(&mut headers, subject, params);
        headers::trace(&mut headers, exchange);
        let message = client::call(&link.hop(&exchange.here()), id, subject, params, exchange);
        let deadline = Deadline::new(link.endpoint.config.call_timeout, link.endpoint.config.max_call_time);
        let answer = link.ask(id, headers, message, Ear::Modern(exchange), deadline).await;
        let response = answer.map_err(|failure| self.fail(failure))?;
        let outcome =
            client::outcome(Era::Modern, response.answer).map_err(|reason| self.nonsense(reason))?;
        if matches!((subject, &outcome), (Subject::Tool { .. }, Outcome::Failed(error)) if error.code == code::HEADER_MISMATCH)
        {
            // What is mirrored is another thing by now (protocol.md §5.3).
            link.endpoint.observer.list_changed(ListKind::Tools);
        }
        Ok(outcome)
    }
}

#[async_trait]
impl Session for HttpSession {
    /// If the future is dropped, the next close begins anew.
    async fn close(&self) {
        self.link.close();
        self.readers.close();
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
        &self.link.hub.peer
    }

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        let link = &self.link;
        if link.era() == Era::Modern {
            return self.call_modern(subject, params, exchange).await;
        }
        link.set_level(exchange.log_level).await;
        let id = link.next_id();
        let message = client::call(&link.hop(&exchange.here()), id, subject, params, exchange);
        let mut headers = link.headers_for(method::of(subject));
        headers::trace(&mut headers, exchange);
        Going::new(link, id, headers, message, (subject, exchange)).next().await
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        self.list_as(Ear::Nobody, list, cursor).await
    }

    async fn list_for(
        &self,
        list: ListKind,
        cursor: Option<&str>,
        exchange: &Exchange,
    ) -> Result<ListPage, Error> {
        let ear = exchange.incoming.as_ref().map_or(Ear::Nobody, Ear::Reader);
        self.list_as(ear, list, cursor).await
    }

    async fn ping(&self) -> Result<(), Error> {
        let method = match self.link.era() {
            Era::Legacy => method::PING,
            Era::Modern => method::DISCOVER,
        };
        let params = client::ping_params(&self.link.hop(&ClientCapabilities::none()));
        self.ask(method, params).await.map(|_| ())
    }

    async fn subscribe(&self, uri: &str, updates: Arc<dyn Updates>) -> Result<Subscription, Error> {
        self.listen(Vec::new());
        watches::watch(&self.link, uri, updates, Ear::Nobody).await
    }

    async fn subscribe_for(
        &self,
        uri: &str,
        updates: Arc<dyn Updates>,
        exchange: &Exchange,
    ) -> Result<Subscription, Error> {
        let Some(incoming) = &exchange.incoming else { return self.subscribe(uri, updates).await };
        let credentials = self.link.endpoint.config.credentials.as_ref();
        let is_per_caller = credentials.is_some_and(|credentials| credentials.is_per_caller());
        if self.link.era() == Era::Modern && is_per_caller {
            return self.readers.watch(&self.link, uri, updates, incoming).await;
        }
        self.listen(Vec::new());
        watches::watch(&self.link, uri, updates, Ear::Reader(incoming)).await
    }

    fn attend(&self, client: Weak<dyn ClientLink>) {
        self.link.hub.attend(client);
        if self.link.era() == Era::Legacy && self.link.hub.has_logs() {
            self.listen(Vec::new());
        }
    }

    async fn roots_changed(&self) {
        if self.link.hub.tells_roots() {
            self.link.tell_of_roots();
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
            .field("protocol", &self.link.hub.peer.protocol)
            .field("open", &self.link.is_open())
            .finish_non_exhaustive()
    }
}
