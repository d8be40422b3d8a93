use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    CallerError, DownstreamFault, DownstreamSession, Era, Error, Exchange, InternalError, JsonError,
    JsonKind, ListKind, ListPage, Outcome, Params, PeerError, PeerInfo, RawJson, RawObject, Session, Subject,
    Visit,
};
use gateway_egress::CredentialError;
use http::{HeaderName, HeaderValue};
use tokio::{sync::watch, time::timeout};

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

    /// Whether there is something to prove the call with: if there is not, that is no result of a tool, and a user may
    /// be able to mend it.
    async fn have_credentials(&self, exchange: &Exchange) -> Result<(), Error> {
        let Some(credentials) = &self.api.config.executor.outbound else { return Ok(()) };
        let limit = self.api.config.executor.timeout;
        let fault = match timeout(limit, credentials.headers(exchange.incoming.as_deref())).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => lacking(error),
            Err(_) => DownstreamFault::TimedOut { after: limit },
        };
        Err(fault.before(&self.api.config.name))
    }

    async fn call_tool(&self, name: &str, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        let loaded = self.api.load().await.map_err(|fault| fault.before(&self.api.config.name))?;
        let Some(tool) = loaded.tool(name) else {
            return failed(INVALID_PARAMS, &format!("Unknown tool: {name}"));
        };
        let arguments = match arguments(params) {
            Ok(arguments) => arguments,
            Err(reason) => return failed(INVALID_PARAMS, &reason),
        };
        self.have_credentials(exchange).await?;
        let context = CallContext::with_headers(trace(exchange)).with_incoming(exchange.incoming.clone());
        tokio::select! {
            biased;
            closed = self.closed() => Err(closed),
            result = tool.call(&arguments, &context) => Ok(Outcome::Complete(result)),
        }
    }
}

/// Where a call stands in its trace, if it does in one (W3C Trace Context).
fn trace(exchange: &Exchange) -> Vec<(HeaderName, HeaderValue)> {
    let Some(trace) = &exchange.trace else { return Vec::new() };
    let headers = [("traceparent", Some(trace.to_string())), ("tracestate", trace.state.clone())];
    let header = |(name, value): (&'static str, Option<String>)| {
        Some((HeaderName::from_static(name), HeaderValue::try_from(value?).ok()?))
    };
    headers.into_iter().filter_map(header).collect()
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

fn lacking(error: CredentialError) -> DownstreamFault {
    let reason = error.to_string();
    match error {
        CredentialError::Unavailable { .. } => DownstreamFault::Credentials { reason, visit: None },
        CredentialError::OfCaller { what } => DownstreamFault::CallerCredentials { what },
        CredentialError::Visit { url, id, message } => {
            let visit = Some(Box::new(Visit { url, id, message }));
            DownstreamFault::Credentials { reason, visit }
        }
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

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        if !self.is_open() {
            return Err(DownstreamFault::Closed.before(&self.api.config.name));
        }
        match subject {
            Subject::Tool { name, .. } => self.call_tool(name, params, exchange).await,
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
