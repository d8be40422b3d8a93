//! What requests to an API prove themselves with, whatever its description says.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_domain::{
    Caller, DownstreamFault, Error, Exchange, Execution, Incoming, Outcome, Params, Subject, TraceContext,
    Visit,
};
use gateway_egress::{Challenge, CredentialError, Credentials, Reaction};
use gateway_openapi::engine::{ClientError, HttpClient, ResponseBody};
use http::{HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};

use crate::support::{Scene, get, quiet};

/// An API that answers with one status and keeps the headers it is sent.
#[derive(Debug)]
struct Recorder {
    status: u16,
    seen: Mutex<Vec<http::HeaderMap>>,
}

impl Recorder {
    fn new(status: u16) -> Arc<Self> {
        Arc::new(Self { status, seen: Mutex::default() })
    }

    fn all(&self, name: &str) -> Vec<Vec<String>> {
        let values = |headers: &http::HeaderMap| {
            headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        self.seen.lock().unwrap().iter().map(values).collect()
    }
}

#[async_trait]
impl HttpClient for Recorder {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<ResponseBody>, ClientError> {
        self.seen.lock().unwrap().push(request.headers().clone());
        let body = Full::new(Bytes::from_static(b"{}")).map_err(|never| match never {}).boxed_unsync();
        let answer = http::Response::builder().status(self.status);
        let answer =
            answer.header("content-type", "application/json").header("www-authenticate", "Bearer s3cret");
        Ok(answer.body(body).unwrap())
    }
}

#[derive(Debug)]
struct Scripted {
    reaction: Reaction,
    lacking: Option<CredentialError>,
    refusals: Mutex<Vec<(u16, String, String)>>,
}

impl Scripted {
    fn new(reaction: Reaction) -> Self {
        Self { reaction, lacking: None, refusals: Mutex::default() }
    }
}

fn whose(incoming: Option<&Incoming>) -> String {
    incoming.and_then(|incoming| incoming.caller.client_name()).unwrap_or("gateway").to_owned()
}

#[async_trait]
impl Credentials for Scripted {
    async fn headers(
        &self,
        incoming: Option<&Incoming>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        if let Some(error) = &self.lacking {
            return Err(error.clone());
        }
        let text = format!("{} {}", whose(incoming), self.refusals.lock().unwrap().len());
        Ok(vec![(HeaderName::from_static("x-key"), HeaderValue::try_from(text).unwrap())])
    }

    async fn refused(
        &self,
        incoming: Option<&Incoming>,
        challenge: &Challenge<'_>,
    ) -> Result<Reaction, CredentialError> {
        let authenticate = format!("{:?}", challenge.authenticate);
        self.refusals.lock().unwrap().push((challenge.status.as_u16(), whose(incoming), authenticate));
        Ok(self.reaction)
    }
}

async fn call(
    api: &Arc<Recorder>,
    credentials: Option<Arc<Scripted>>,
    exchange: &Exchange,
) -> Result<Outcome, Error> {
    let scene = Scene::new(vec![get("a")], |config| {
        config.executor.client = api.clone();
        let name = HeaderName::from_static("x-key");
        config.executor.headers = vec![(name, HeaderValue::from_static("configured"))];
        config.executor.outbound = credentials.map(|credentials| credentials as Arc<dyn Credentials>);
    });
    let session = scene.open().await.unwrap();
    session.call(&Subject::tool("a"), &Params::empty(), exchange).await
}

fn of_ann() -> Exchange {
    Exchange { incoming: Some(Arc::new(Incoming::from(Caller::client("ann")))), ..quiet() }
}

#[tokio::test]
async fn credentials_of_the_caller_go_before_configured_headers() {
    for (credentials, exchange, expected) in [
        (None, of_ann(), "configured"),
        (Some(Arc::new(Scripted::new(Reaction::GiveUp))), of_ann(), "ann 0"),
        (Some(Arc::new(Scripted::new(Reaction::GiveUp))), quiet(), "gateway 0"),
    ] {
        let api = Recorder::new(200);
        call(&api, credentials, &exchange).await.unwrap();
        assert_eq!(api.all("x-key"), [[expected]]);
    }
}

#[tokio::test]
async fn a_refused_request_is_made_once_more_if_there_are_other_credentials() {
    for (status, reaction, expected) in [
        (401, Reaction::GiveUp, vec![["ann 0"]]),
        (401, Reaction::Retry, vec![["ann 0"], ["ann 1"]]),
        (403, Reaction::Retry, vec![["ann 0"], ["ann 1"]]),
        (404, Reaction::Retry, vec![["ann 0"]]),
        (500, Reaction::Retry, vec![["ann 0"]]),
    ] {
        let (api, credentials) = (Recorder::new(status), Arc::new(Scripted::new(reaction)));
        let Outcome::Complete(result) = call(&api, Some(credentials.clone()), &of_ann()).await.unwrap()
        else {
            panic!("a tool's result")
        };
        assert!(result.as_str().contains(r#""isError":true"#) && !result.as_str().contains("s3cret"));
        assert_eq!(api.all("x-key"), expected, "{status} {reaction:?}");
        let refusals = credentials.refusals.lock().unwrap().clone();
        let refusal = (status, "ann".to_owned(), r#"["Bearer s3cret"]"#.to_owned());
        assert_eq!(refusals, if matches!(status, 401 | 403) { vec![refusal] } else { Vec::new() });
    }
}

#[tokio::test]
async fn without_credentials_nothing_is_sent_and_it_is_no_result_of_a_tool() {
    let [url, id, message] = ["https://g/x", "i", "m"].map(str::to_owned);
    let visit = Visit { url: url.clone(), id: id.clone(), message: message.clone() };
    let visited = DownstreamFault::Credentials {
        reason: "the user has to authorize the gateway first".to_owned(),
        visit: Some(Box::new(visit)),
    };
    for (error, expected) in [
        (
            CredentialError::Unavailable { reason: "log in".into() },
            DownstreamFault::Credentials { reason: "log in".to_owned(), visit: None },
        ),
        (CredentialError::Visit { url, id, message }, visited),
        (CredentialError::OfCaller { what: "w" }, DownstreamFault::CallerCredentials { what: "w" }),
    ] {
        let api = Recorder::new(200);
        let credentials = Scripted { lacking: Some(error), ..Scripted::new(Reaction::Retry) };
        let made = call(&api, Some(Arc::new(credentials)), &of_ann()).await;
        let Err(Error::Downstream(made)) = made else { panic!("{made:?}") };
        assert_eq!(made.execution, Execution::NotStarted);
        assert_eq!(made.fault, expected);
        assert!(api.all("x-key").is_empty());
    }
}

#[tokio::test]
async fn a_call_says_where_it_stands_in_its_trace() {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = TraceContext { state: Some("a=1".into()), ..TraceContext::parse(parent).unwrap() };
    let api = Recorder::new(200);
    call(&api, None, &Exchange { trace: Some(trace), ..quiet() }).await.unwrap();
    call(&api, None, &quiet()).await.unwrap();
    assert_eq!(api.all("traceparent"), [vec![parent.to_owned()], Vec::new()]);
    assert_eq!(api.all("tracestate"), [vec!["a=1".to_owned()], Vec::new()]);
}
