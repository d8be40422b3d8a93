use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    CallerError, DownstreamFault, DownstreamSession, Era, Error, Exchange, InternalError, JsonError,
    JsonKind, ListKind, ListPage, Outcome, Params, PeerError, PeerInfo, RawJson, RawObject, Session, Subject,
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
        let arguments = match arguments(params) {
            Ok(arguments) => arguments,
            Err(reason) => return failed(INVALID_PARAMS, &reason),
        };
        let context = CallContext::default();
        tokio::select! {
            biased;
            closed = self.closed() => Err(closed),
            result = tool.call(&arguments, &context) => Ok(Outcome::Complete(result)),
        }
    }
}

/// `params.arguments`; empty if there are none. Or why they cannot be taken.
fn arguments(params: &Params) -> Result<RawObject, String> {
    match params.object.get("arguments") {
        None => Ok(RawObject::empty()),
        Some(given) if given.kind() == JsonKind::Null => Ok(RawObject::empty()),
        Some(given) => RawObject::try_from(given).map_err(|error| match error {
            JsonError::Duplicate { .. } => format!("`arguments`: {error}"),
            _ => "`arguments` must be an object".to_owned(),
        }),
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

    /// All tools are on one page. That the API cannot be reached, or that it is not known yet whether it can, is remarked
    /// on it.
    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        if cursor.is_some() {
            return Err(CallerError::InvalidCursor.into());
        }
        if list != ListKind::Tools {
            return Ok(ListPage::default());
        }
        let loaded = self.api.load().await.map_err(|fault| fault.before(&self.api.config.name))?;
        let place = self.api.place();
        let remark = match self.api.reachability().show() {
            None => Some(format!("not known yet whether the API at {place} can be reached")),
            Some(Ok(())) => None,
            Some(Err(reason)) => Some(format!("the API at {place} cannot be reached: {reason}")),
        };
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
