//! Sends what the engine decided: as JSON, as a stream, spoilt as told.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use tokio::sync::broadcast;

use super::{
    body::{Gone, Pipe, Tap, pipe, pretty},
    service::{Answered, EVENT_STREAM, Exchange, JSON, Shared},
};
use crate::{
    changes::{Change, Filter},
    engine::{Conversation, acknowledgement, locked, subscription},
    message::{self, Message, Refusal},
    reply::{End, Reply},
};

impl Exchange {
    pub(crate) async fn json(self, message: Message, reply: Reply) -> Answered {
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

    pub(crate) fn stream(self, message: Message, reply: Reply) -> Response<Pipe> {
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
        self.tell(tap, message, reply).await
    }

    async fn tell(&self, tap: &Tap, message: &Message, reply: Reply) -> Result<(), Gone> {
        let id = message.id.as_deref().unwrap_or("null");
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
            End::Interact(interaction) => {
                for request in &interaction.requests {
                    tap.event(request).await?;
                }
                let then = interaction.answered(&self.shared.engine).await;
                Box::pin(self.tell(tap, message, then)).await
            }
            _ => std::future::pending().await,
        }
    }

    async fn listen(&self, tap: &Tap, message: &Message) -> Result<(), Gone> {
        let mut changes = self.shared.engine.changes();
        tap.event(&acknowledgement(message)).await?;
        let (filter, meta) = (Filter::of(message), subscription(message));
        while let Ok(change) = changes.recv().await {
            if let Some(text) = change.modern(&filter, &meta) {
                tap.event(&text).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn pushed(
        &self,
        tap: &Tap,
        conversation: &Conversation,
        mut changes: broadcast::Receiver<Change>,
        mut pushes: broadcast::Receiver<String>,
    ) -> Result<(), Gone> {
        tap.open().await?;
        let owed = std::mem::take(&mut *locked(&self.shared.owed));
        for request in owed {
            tap.event(&request).await?;
        }
        loop {
            tokio::select! {
                Ok(change) = changes.recv() => {
                    if let Some(text) = change.legacy(conversation) {
                        tap.event(&text).await?;
                    }
                }
                Ok(text) = pushes.recv() => tap.event(&text).await?,
                else => return Ok(()),
            }
        }
    }

    pub(crate) fn refuse(&self, refusal: &Refusal, id: Option<&str>) -> Response<Pipe> {
        self.bytes(refusal.status, Some(JSON), refusal.render(id).into())
    }

    pub(crate) fn empty(&self, status: u16) -> Response<Pipe> {
        self.bytes(status, None, Bytes::new())
    }

    pub(crate) fn bytes(&self, status: u16, kind: Option<&str>, bytes: Bytes) -> Response<Pipe> {
        let (tap, body) = pipe(&self.faults);
        let mut response = self.response(status, kind, body);
        response.headers_mut().insert(header::CONTENT_LENGTH, bytes.len().into());
        // A reader that leaves early is the test's business.
        tokio::spawn(async move { drop(tap.last(bytes).await) });
        response
    }

    pub(crate) fn response(&self, status: u16, kind: Option<&str>, body: Pipe) -> Response<Pipe> {
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
