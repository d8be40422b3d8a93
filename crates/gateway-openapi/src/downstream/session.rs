use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    CallerError, DownstreamFault, DownstreamSession, Era, Error, Exchange, InternalError, JsonKind, ListKind,
    ListPage, Outcome, Params, PeerError, PeerInfo, RawJson, RawObject, Session, Subject,
};
use tokio::sync::watch;

use super::{api::Api, loaded::Loaded};
use crate::engine::CallContext;

/// The revision whose results these sessions give.
const PROTOCOL: &str = "2026-07-28";
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// A session to an API: nothing but the way to it. One serves everybody.
pub(super) struct ApiSession {
    api: Arc<Api>,
    peer: PeerInfo,
    is_closed: watch::Sender<bool>,
}

impl ApiSession {
    pub(super) fn new(api: Arc<Api>, loaded: &Loaded) -> Self {
        let peer = PeerInfo {
            era: Era::Modern,
            protocol: PROTOCOL.to_owned(),
            server: Some(loaded.server().clone()),
            capabilities: RawObject::parse(r#"{"tools":{"listChanged":true}}"#)
                .unwrap_or_else(|_| RawObject::empty()),
            // A description is written for people, and may be a book.
            instructions: None,
        };
        Self { api, peer, is_closed: watch::Sender::new(false) }
    }

    /// Completes when the session is closed.
    async fn closed(&self) -> Error {
        // The sender is here, so waiting cannot fail.
        drop(self.is_closed.subscribe().wait_for(|is_closed| *is_closed).await);
        DownstreamFault::Closed.during(&self.api.config.name)
    }

    async fn call_tool(&self, name: &str, params: &Params) -> Result<Outcome, Error> {
        let loaded = self.api.load().await.map_err(|fault| fault.before(&self.api.config.name))?;
        let Some(tool) = loaded.tool(name) else {
            return failed(INVALID_PARAMS, &format!("Unknown tool: {name}"));
        };
        let Some(arguments) = arguments(params) else {
            return failed(INVALID_PARAMS, "`arguments` must be an object");
        };
        let context = CallContext::default();
        tokio::select! {
            biased;
            closed = self.closed() => Err(closed),
            result = tool.call(&arguments, &context) => Ok(Outcome::Complete(result)),
        }
    }
}

/// `params.arguments`; empty if there are none.
fn arguments(params: &Params) -> Option<RawObject> {
    match params.object.get("arguments") {
        None => Some(RawObject::empty()),
        Some(given) if given.kind() == JsonKind::Null => Some(RawObject::empty()),
        Some(given) => RawObject::try_from(given).ok(),
    }
}

fn failed(code: i64, message: &str) -> Result<Outcome, Error> {
    let error = format!(r#"{{"code":{code},"message":{}}}"#, RawJson::string(message));
    let error = RawObject::parse(error).ok().and_then(PeerError::new);
    error.map(Outcome::Failed).ok_or_else(|| InternalError { what: "an error could not be written" }.into())
}

#[async_trait]
impl Session for ApiSession {
    /// Calls in flight end.
    async fn close(&self) {
        self.is_closed.send_replace(true);
    }

    fn is_open(&self) -> bool {
        !*self.is_closed.borrow()
    }
}

#[async_trait]
impl DownstreamSession for ApiSession {
    fn peer(&self) -> &PeerInfo {
        &self.peer
    }

    async fn call(&self, subject: &Subject, params: &Params, _: &Exchange) -> Result<Outcome, Error> {
        if !self.is_open() {
            return Err(DownstreamFault::Closed.before(&self.api.config.name));
        }
        match subject {
            Subject::Tool { name, .. } => self.call_tool(name, params).await,
            _ => failed(METHOD_NOT_FOUND, "Method not found"),
        }
    }

    /// All tools are on one page. That the API cannot be reached is remarked on it.
    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        if cursor.is_some() {
            return Err(CallerError::InvalidCursor.into());
        }
        if list != ListKind::Tools {
            return Ok(ListPage::default());
        }
        let loaded = self.api.load().await.map_err(|fault| fault.before(&self.api.config.name))?;
        let trouble = self.api.reachability().trouble();
        let remark =
            trouble.map(|reason| format!("the API at {} cannot be reached: {reason}", self.api.place()));
        Ok(ListPage {
            items: loaded.definitions(),
            skipped: remark.into_iter().collect(),
            ..ListPage::default()
        })
    }

    /// A session is always alive. Whether the API is gets looked at, which shows on the list: to fail here would have
    /// calls refused before they are tried, and only their own results say best what is wrong (E-29).
    async fn ping(&self) -> Result<(), Error> {
        self.api.reachability().want();
        Ok(())
    }
}
