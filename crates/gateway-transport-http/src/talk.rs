//! What a server says on its own: notifications, and in the legacy era requests.

use std::sync::Arc;

use gateway_domain::{Era, LogLevel, Notice, RawObject};
use gateway_protocol::{
    Message, Notification, Request, RequestId, Response,
    client::{
        self,
        questions::{Asked, Question, ROOTS_WAIT, attribute, attribute_log},
    },
    method, write,
};
use tokio::time::timeout;

use crate::{
    calls::OpenCall, deadline::Deadline, failure::Failure, inquiry::Ear, link::Link, watches::without_stream,
};

impl Link {
    /// Takes what came on a stream that belongs to no request. An answer is given back.
    pub(crate) async fn overhear(self: &Arc<Self>, message: Message) -> Option<Response> {
        match message {
            Message::Notification(notification) => self.notified(notification, None),
            Message::Request(request) => self.asked(&request, None).await,
            Message::Response(response) => return Some(response),
        }
        None
    }

    /// Takes a notification. `call` is the one on whose stream it came.
    pub(crate) fn notified(&self, notification: Notification, call: Option<&OpenCall>) {
        let params = notification.params.object;
        if let Some(list) = method::changed_list(&notification.method) {
            return self.endpoint.observer.list_changed(list);
        }
        match notification.method.as_str() {
            method::RESOURCE_UPDATED => self.hub.watches.updated(&without_stream(params)),
            method::PROGRESS => {
                if let Some(call) = number(&params, "progressToken").and_then(|id| self.hub.calls.get(id)) {
                    call.progress(params);
                }
            }
            method::MESSAGE => match call {
                Some(call) => call.log(params),
                None => self.logged(params),
            },
            method::ELICITATION_COMPLETE => {
                if let Some(client) = self.hub.client() {
                    client.tell(&self.endpoint.name, Notice::ElicitationComplete(params));
                }
            }
            method::CANCELLED => {
                if let Some(id) = params.get("requestId").and_then(RequestId::new) {
                    self.hub.calls.withdraw(&id);
                }
            }
            _ => {}
        }
    }

    /// Takes a log message that no stream ties to a call.
    fn logged(&self, params: RawObject) {
        if self.era() == Era::Modern {
            return;
        }
        if let (_, Some(call)) = self.hub.calls.attributed(|_| true, |calls| attribute_log(calls)) {
            call.log(params);
        } else if let Some(client) = self.hub.client() {
            client.tell(&self.endpoint.name, Notice::Log(params));
        } else if self.hub.lose_log() {
            let downstream = &self.endpoint.name;
            tracing::debug!(%downstream, "log messages that belong to no call are dropped");
        }
    }

    /// Takes a request of a legacy server's. `call` is the one on whose stream it came. Modern servers ask in
    /// results.
    pub(crate) async fn asked(self: &Arc<Self>, request: &Request, call: Option<&OpenCall>) {
        if let Some(reply) = self.consider(request, call) {
            self.reply_or_not(reply).await;
        }
    }

    /// The same without sending the reply, if there is one already.
    pub(crate) fn consider(self: &Arc<Self>, request: &Request, call: Option<&OpenCall>) -> Option<Vec<u8>> {
        if self.era() == Era::Modern {
            return None;
        }
        let question = match Asked::read(request, &self.hub.declared) {
            Asked::Reply(reply) => return Some(reply),
            Asked::Question(question) => question,
        };
        if let Some(call) = call {
            return call.ask(question).err();
        }
        match self.hub.calls.attributed(|call| call.may_ask, |calls| attribute(calls)) {
            (_, Some(call)) => call.ask(question.guessed()).err(),
            _ if question.is_roots() => self.tell_roots(question),
            _ => Some(question.unsupported()),
        }
    }

    /// Gives a question of a call that has ended to another of the same client's, if which it was about was a guess.
    /// Gives the reply if nobody takes it.
    pub(crate) fn hand_over(self: &Arc<Self>, question: Question, ended: &OpenCall) -> Option<Vec<u8>> {
        if !question.is_guessed() {
            return Some(question.abandoned());
        }
        let (owner, _) = ended.standing();
        let same = |call: &OpenCall| call.may_ask && call.standing().0.succeeds(&owner);
        match self.hub.calls.attributed(same, |calls| attribute(calls)) {
            (_, Some(call)) => call.ask(question).err(),
            _ if question.is_roots() => self.tell_roots(question),
            _ => Some(question.abandoned()),
        }
    }

    /// Replies beside the reading of a stream, so that it does not stop for that; if too many replies are on their way,
    /// it does.
    pub(crate) async fn reply_beside(self: &Arc<Self>, reply: Vec<u8>) {
        let (link, message) = (Arc::clone(self), reply.clone());
        let limit = self.endpoint.config.request_timeout;
        if !self.endpoint.beside(limit, async move { link.reply_or_not(message).await }) {
            self.reply_or_not(reply).await;
        }
    }

    /// Tells the server that there are other roots: once more, however often they change while it is being told.
    pub(crate) fn tell_of_roots(self: &Arc<Self>) {
        let Ok(place) = Arc::clone(&self.hub.roots_news).try_acquire_owned() else { return };
        let link = Arc::clone(self);
        let limit = self.endpoint.config.request_timeout;
        let is_told = self.endpoint.beside(limit.saturating_mul(2), async move {
            let turn = link.hub.telling_roots.lock().await;
            // A server that does not hear it knows the old ones.
            let told = link.post(write::notification(method::ROOTS_LIST_CHANGED, b"{}"));
            let told = timeout(limit, told).await;
            drop((turn, place));
            if !matches!(told, Ok(Ok(status)) if status.is_success()) {
                tracing::debug!(downstream = %link.endpoint.name, "it was not told of other roots");
            }
        });
        if !is_told {
            tracing::warn!(downstream = %self.endpoint.name, "too much at once; it is not told of other roots");
        }
    }

    /// Tells the roots of the client whose session it is, beside everything else. Gives the refusal if that cannot
    /// be done.
    fn tell_roots(self: &Arc<Self>, question: Question) -> Option<Vec<u8>> {
        let (link, refusal) = (Arc::clone(self), question.unsupported());
        let limit = ROOTS_WAIT.saturating_add(self.endpoint.config.request_timeout);
        let is_told = self.endpoint.beside(limit, async move {
            let roots = timeout(ROOTS_WAIT, link.hub.roots()).await.ok().flatten();
            let answer = roots.map_or_else(|| question.unsupported(), |roots| question.answered(&roots));
            link.reply_or_not(answer).await;
        });
        (!is_told).then_some(refusal)
    }

    /// Answers a server. It may not want the answer any more.
    ///
    /// # Errors
    /// It did not get the answer.
    pub(crate) async fn reply(&self, message: Vec<u8>) -> Result<(), Failure> {
        let status =
            Deadline::fixed(self.endpoint.config.request_timeout).bound(self.post(message)).await??;
        if status.as_u16() == 404 && self.has_session() {
            return Err(Failure::unknown_session(404));
        }
        if !status.is_success() {
            tracing::debug!(downstream = %self.endpoint.name, %status, "an answer was not taken");
        }
        Ok(())
    }

    async fn reply_or_not(&self, message: Vec<u8>) {
        if let Err(Failure { fault, .. }) = self.reply(message).await {
            tracing::debug!(downstream = %self.endpoint.name, %fault, "an answer was not taken");
        }
    }

    /// Has a legacy server log from this level on, if it logs and was not told of one as low.
    pub(crate) async fn set_level(self: &Arc<Self>, level: Option<LogLevel>) {
        let Some(level) = level.filter(|_| self.era() == Era::Legacy && self.hub.has_logs()) else { return };
        let mut told = self.hub.level.lock().await;
        if told.is_none_or(|told| level < told) {
            // A server that refuses logs as it likes; the call shows whether it is there at all.
            let _ = self.request(method::SET_LEVEL, client::level_params(level)).await;
            *told = Some(level);
        }
    }

    /// A request that is no call of a client's.
    pub(crate) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: Vec<u8>,
    ) -> Result<Response, Failure> {
        self.request_for(method, params, Ear::Nobody).await
    }

    /// A request that is no call, for whom `ear` says.
    pub(crate) async fn request_for(
        self: &Arc<Self>,
        method: &str,
        params: Vec<u8>,
        ear: Ear<'_>,
    ) -> Result<Response, Failure> {
        let id = self.next_id();
        let message = write::request(&RequestId::from(id), method, &params);
        let deadline = Deadline::fixed(self.endpoint.config.request_timeout);
        self.ask(id, self.headers_for(method), message, ear, deadline).await
    }
}

/// A member that is one of our numbers.
pub(crate) fn number(params: &RawObject, member: &str) -> Option<u64> {
    params.get(member).and_then(RequestId::new)?.to_number()
}
