//! What requests prove themselves with: each with what is its own, and once more after a refusal.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway_domain::{
    Caller, DownstreamFault, DownstreamSession, Era, Error, Exchange, Execution, Incoming, ListKind, Session,
    SessionProfile, TraceContext,
};
use gateway_egress::{Challenge, CredentialError, Credentials, Reaction};
use gateway_testkit::{Profile, http::HttpFake};
use gateway_transport_http::HttpSession;
use http::{HeaderName, HeaderValue};

use crate::support::{Exchanged, Heard, Wire, eventually, factory, fault, params, profile, quiet};

/// Sends the name of whom a request is made for and how often it was refused, and does as it is told otherwise.
#[derive(Debug, Default)]
struct Scripted {
    header: Option<HeaderName>,
    /// What comes of the next look-ups of headers; later ones succeed.
    lacking: Mutex<Vec<CredentialError>>,
    reaction: Option<Reaction>,
    refusals: Mutex<Vec<String>>,
    is_per_caller: bool,
}

impl Scripted {
    fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap().clone()
    }
}

fn whose(incoming: Option<&Incoming>) -> &str {
    incoming.map_or("gateway", |incoming| incoming.caller.client_name().unwrap_or("nobody"))
}

#[async_trait]
impl Credentials for Scripted {
    async fn headers(
        &self,
        incoming: Option<&Incoming>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        if let Some(error) = self.lacking.lock().unwrap().pop() {
            return Err(error);
        }
        let text = format!("{} {}", whose(incoming), self.refusals().len());
        let name = self.header.clone().unwrap_or(http::header::AUTHORIZATION);
        Ok(vec![(name, HeaderValue::try_from(text).unwrap())])
    }

    async fn refused(
        &self,
        incoming: Option<&Incoming>,
        challenge: &Challenge<'_>,
    ) -> Result<Reaction, CredentialError> {
        let (_, sent) = &challenge.sent[0];
        let text = format!(
            "{} {} {:?} {}",
            challenge.status.as_u16(),
            sent.to_str().unwrap(),
            challenge.authenticate,
            whose(incoming)
        );
        self.refusals.lock().unwrap().push(text);
        Ok(self.reaction.unwrap_or(Reaction::GiveUp))
    }

    fn is_per_caller(&self) -> bool {
        self.is_per_caller
    }
}

async fn open(
    fake: &HttpFake,
    credentials: &Arc<Scripted>,
    profile: &SessionProfile,
) -> Result<HttpSession, Error> {
    open_at(&fake.url(), credentials, profile).await
}

async fn open_at(
    url: &str,
    credentials: &Arc<Scripted>,
    profile: &SessionProfile,
) -> Result<HttpSession, Error> {
    let (factory, _) = factory(url, |config| {
        config.credentials = Some(credentials.clone());
        config.headers = vec![("Authorization".into(), "configured".into()), ("X-Other".into(), "o".into())];
    });
    factory.open(profile).await
}

fn of(name: &str) -> Exchange {
    Exchange { incoming: Some(Arc::new(Incoming::from(Caller::client(name)))), ..quiet() }
}

fn opened_for(era: Era, name: &str) -> SessionProfile {
    SessionProfile { incoming: of(name).incoming, ..profile(era) }
}

/// What the requests carried, with their JSON-RPC or HTTP method.
fn carried(fake: &HttpFake) -> Vec<String> {
    let requests = fake.requests();
    let line = |request: &gateway_testkit::http::Recorded| {
        let values: Vec<_> = request.headers.get_all("authorization").iter().collect();
        assert_eq!((values.len(), &request.headers["x-other"]), (1, &HeaderValue::from_static("o")));
        let name = request.rpc.clone().unwrap_or_else(|| request.method.clone());
        format!("{name}: {}", values[0].to_str().unwrap())
    };
    requests.iter().map(line).collect()
}

#[tokio::test]
async fn a_modern_session_proves_each_request_with_what_is_its_callers() {
    let (fake, credentials) = (HttpFake::start(Profile::default()), Arc::<Scripted>::default());
    let session = open(&fake, &credentials, &opened_for(Era::Modern, "ann")).await.unwrap();
    session.call_tool("echo", &[], &params("{}"), &of("ann")).await.unwrap();
    session.call_tool("echo", &[], &params("{}"), &of("bob")).await.unwrap();
    session.list(ListKind::Tools, None).await.unwrap();
    session.ping().await.unwrap();
    let expected = [
        "server/discover: ann 0",
        "tools/call: ann 0",
        "tools/call: bob 0",
        "tools/list: gateway 0",
        "server/discover: gateway 0",
    ];
    assert_eq!(carried(&fake), expected);
}

#[tokio::test]
async fn a_legacy_session_of_one_caller_proves_everything_with_what_is_that_callers() {
    let (fake, credentials) = (HttpFake::start(Profile::default()), Arc::<Scripted>::default());
    let session = open(&fake, &credentials, &opened_for(Era::Legacy, "ann")).await.unwrap();
    session.call_tool("echo", &[], &params("{}"), &of("ann")).await.unwrap();
    session.ping().await.unwrap();
    session.close().await;
    let carried = carried(&fake);
    for expected in ["initialize", "notifications/initialized", "tools/call", "ping", "DELETE"] {
        assert!(carried.contains(&format!("{expected}: ann 0")), "{expected} in {carried:?}");
    }
    assert!(carried.iter().all(|line| line.ends_with(": ann 0")), "{carried:?}");
}

#[tokio::test]
async fn a_legacy_session_of_the_gateways_lends_its_callers_credentials_to_nothing_but_their_calls() {
    let (fake, credentials) = (HttpFake::start(Profile::default()), Arc::<Scripted>::default());
    let session = open(&fake, &credentials, &profile(Era::Legacy)).await.unwrap();
    session.call_tool("echo", &[], &params("{}"), &of("ann")).await.unwrap();
    session.ping().await.unwrap();
    session.close().await;
    let carried = carried(&fake);
    let (calls, others): (Vec<_>, Vec<_>) = carried.iter().partition(|line| line.starts_with("tools/call"));
    assert_eq!(calls, ["tools/call: ann 0"]);
    assert!(others.len() > 3 && others.iter().all(|line| line.ends_with(": gateway 0")), "{others:?}");
}

#[tokio::test]
async fn a_refused_request_is_made_once_more_if_there_are_other_credentials() {
    for status in [401, 403] {
        let check = async |reaction, expected: &[&str]| {
            let fake = HttpFake::start(Profile::default());
            let credentials = Arc::new(Scripted { reaction: Some(reaction), ..Scripted::default() });
            let session = open(&fake, &credentials, &profile(Era::Modern)).await.unwrap();
            fake.set(|faults| {
                faults.status = Some(status);
                faults.headers = vec![("www-authenticate".into(), "Bearer error=\"s3cret\"".into())];
            });
            let made = session.call_tool("echo", &[], &params("{}"), &of("ann")).await;
            let (text, execution) = fault(made.unwrap_err());
            assert!(text.contains(&format!("refused the credentials (HTTP status {status})")), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
            assert_eq!(execution, Execution::NotStarted);
            assert_eq!(carried(&fake)[1..], *expected, "{reaction:?}");
            let refusal = format!("{status} ann 0 [\"Bearer error=\\\"s3cret\\\"\"] ann");
            assert_eq!(credentials.refusals(), [refusal]);
        };
        check(Reaction::GiveUp, &["tools/call: ann 0"]).await;
        check(Reaction::Retry, &["tools/call: ann 0", "tools/call: ann 1"]).await;
    }
}

#[tokio::test]
async fn other_refusals_are_none_of_credentials() {
    let credentials = Arc::new(Scripted { reaction: Some(Reaction::Retry), ..Scripted::default() });
    let fake = HttpFake::start(Profile::default());
    let session = open(&fake, &credentials, &profile(Era::Modern)).await.unwrap();
    for status in [400, 402, 404, 500] {
        fake.set(|faults| faults.status = Some(status));
        session.call_tool("echo", &[], &params("{}"), &of("ann")).await.unwrap_err();
    }
    assert!(credentials.refusals().is_empty());
}

#[tokio::test]
async fn a_session_opens_with_the_second_credentials_too() {
    let credentials = Arc::new(Scripted { reaction: Some(Reaction::Retry), ..Scripted::default() });
    let fake = HttpFake::start(Profile::default());
    fake.set(|faults| faults.status = Some(401));
    let made = open(&fake, &credentials, &profile(Era::Legacy)).await;
    assert!(fault(made.unwrap_err()).0.contains("HTTP status 401"));
    assert_eq!(carried(&fake)[..2], ["initialize: gateway 0", "initialize: gateway 1"]);
}

#[tokio::test]
async fn without_credentials_nothing_is_sent() {
    let check = async |error: CredentialError, expected: &str, is_visit: bool| {
        let fake = HttpFake::start(Profile::default());
        let credentials = Arc::<Scripted>::default();
        let session = open(&fake, &credentials, &profile(Era::Modern)).await.unwrap();
        for opens in [false, true] {
            credentials.lacking.lock().unwrap().push(error.clone());
            let made = match opens {
                true => open(&fake, &credentials, &profile(Era::Modern)).await.map(drop),
                false => session.call_tool("echo", &[], &params("{}"), &of("ann")).await.map(drop),
            };
            let Err(Error::Downstream(error)) = made else { panic!("{made:?}") };
            assert_eq!(error.execution, Execution::NotStarted);
            let DownstreamFault::Credentials { reason, visit } = error.fault else {
                panic!("{:?}", error.fault)
            };
            assert_eq!(reason, expected);
            let visited = visit.map(|visit| [visit.url, visit.id, visit.message].join(" "));
            assert_eq!(visited.as_deref(), is_visit.then_some("https://g/x i m"));
        }
        assert_eq!(carried(&fake), ["server/discover: gateway 0"]);
    };
    check(CredentialError::Unavailable { reason: "log in".into() }, "log in", false).await;
    let [url, id, message] = ["https://g/x", "i", "m"].map(str::to_owned);
    check(CredentialError::Visit { url, id, message }, "the user has to authorize the gateway first", true)
        .await;
}

#[tokio::test]
async fn who_comes_without_what_it_takes_is_told_what_that_is() {
    let (fake, credentials) = (HttpFake::start(Profile::default()), Arc::<Scripted>::default());
    let session = open(&fake, &credentials, &profile(Era::Modern)).await.unwrap();
    credentials.lacking.lock().unwrap().push(CredentialError::OfCaller { what: "a token of yours" });
    let made = session.call_tool("echo", &[], &params("{}"), &of("ann")).await;
    let Err(Error::Downstream(error)) = made else { panic!("{made:?}") };
    assert_eq!(error.fault, DownstreamFault::CallerCredentials { what: "a token of yours" });
    assert_eq!(error.execution, Execution::NotStarted);
    assert!(error.for_client().ends_with("needs a token of yours"), "{}", error.for_client());
    assert_eq!(carried(&fake), ["server/discover: gateway 0"]);
}

#[tokio::test]
async fn credentials_stand_in_no_header_that_is_the_gateways() {
    for name in ["host", "mcp-session-id", "content-length", "accept"] {
        let header = Some(HeaderName::from_static(name));
        let (fake, credentials) =
            (HttpFake::start(Profile::default()), Scripted { header, ..Scripted::default() });
        let made = open(&fake, &Arc::new(credentials), &profile(Era::Modern)).await;
        assert!(fault(made.unwrap_err()).0.contains(&format!("the header `{name}`")));
        assert_eq!(fake.request_count(), 0);
    }
}

#[tokio::test]
async fn a_call_says_where_it_stands_in_its_trace() {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for era in [Era::Modern, Era::Legacy] {
        let fake = HttpFake::start(Profile::default());
        let session = factory(&fake.url(), |_| {}).0.open(&profile(era)).await.unwrap();
        let trace = TraceContext { state: Some("a=1".into()), ..TraceContext::parse(parent).unwrap() };
        let traced = Exchange { trace: Some(trace), ..quiet() };
        let meta = params(r#"{"_meta":{"traceparent":"00-x"}}"#);
        session.call_tool("echo", &[], &meta, &traced).await.unwrap();
        session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
        let [with, without] = &fake.requests_of("tools/call")[..] else { panic!("two calls") };
        assert_eq!(
            (&with.headers["traceparent"], &with.headers["tracestate"]),
            (&HeaderValue::from_static(parent), &HeaderValue::from_static("a=1"),)
        );
        assert!(with.body.contains(&format!(r#""traceparent":"{parent}""#)), "{}", with.body);
        assert!(with.body.contains(r#""tracestate":"a=1""#), "{}", with.body);
        assert!(!without.headers.contains_key("traceparent") && !without.body.contains("traceparent"));
    }
}

const WATCHED: &str = r#"{"resources":{"subscribe":true}}"#;

fn each_its_own() -> Arc<Scripted> {
    Arc::new(Scripted { is_per_caller: true, ..Scripted::default() })
}

/// Begins a modern stream that grants this resource.
async fn granting(wire: &mut Wire, uri: &str) -> Exchanged {
    let mut stream = wire.next().await;
    stream.stream().await;
    stream
        .event(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"resourceSubscriptions":["{uri}"]}}}}}}"#
        ))
        .await;
    stream
}

fn updated(uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}","_meta":{{"io.modelcontextprotocol/subscriptionId":1}}}}}}"#
    )
}

#[tokio::test]
async fn each_caller_watches_at_a_modern_server_in_its_own_name() {
    let (mut wire, credentials) = (Wire::modern(WATCHED).await, each_its_own());
    let session = open_at(&wire.url(), &credentials, &opened_for(Era::Modern, "ann")).await.unwrap();
    let session = Arc::new(session);
    let watch = |name: &'static str, uri: &'static str| {
        let (session, heard) = (session.clone(), Arc::<Heard>::default());
        let told = heard.clone();
        let watching = tokio::spawn(async move { session.subscribe_for(uri, told, &of(name)).await });
        (watching, heard)
    };
    let (watching, ann) = watch("ann", "a:1");
    let mut anns = granting(&mut wire, "a:1").await;
    assert!(anns.is("authorization: ann 0") && anns.is(r#"["a:1"]"#), "{}", anns.request);
    let first = watching.await.unwrap().unwrap();
    let (watching, bob) = watch("bob", "a:1");
    let mut bobs = granting(&mut wire, "a:1").await;
    assert!(bobs.is("authorization: bob 0"), "{}", bobs.request);
    let other = watching.await.unwrap().unwrap();
    // What one is told the other may not know.
    anns.event(&updated("a:1")).await;
    eventually("the update", || ann.all() == [r#"{"uri":"a:1"}"#]).await;
    bobs.event(&updated("a:1")).await;
    bobs.event(&updated("a:1")).await;
    eventually("the updates", || bob.all().len() == 2).await;
    assert_eq!(ann.all().len(), 1);
    // More of the same caller's is on the same stream, with the rest.
    let (watching, _) = watch("ann", "b:2");
    let mut more = wire.next().await;
    assert!(more.is("authorization: ann 0") && more.is("a:1") && more.is("b:2"), "{}", more.request);
    more.stream().await;
    more.event(r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["a:1","b:2"]}}}"#).await;
    let second = watching.await.unwrap().unwrap();
    anns.gone().await;
    // With its last watch a caller's stream ends, and nobody else's.
    drop(other);
    bobs.gone().await;
    more.event(&updated("a:1")).await;
    eventually("the update", || ann.all().len() == 2).await;
    drop((first, second));
    more.gone().await;
    session.close().await;
}

#[tokio::test]
async fn who_has_no_credentials_is_told_so_and_watches_nothing() {
    let (wire, credentials) = (Wire::modern(WATCHED).await, each_its_own());
    let session = open_at(&wire.url(), &credentials, &profile(Era::Modern)).await.unwrap();
    credentials.lacking.lock().unwrap().push(CredentialError::Unavailable { reason: "log in".into() });
    let made = session.subscribe_for("a:1", Arc::<Heard>::default(), &of("ann")).await;
    let (text, execution) = fault(made.unwrap_err());
    assert!(text.contains("log in") && execution == Execution::NotStarted, "{text}");
    assert_eq!(wire.count("subscriptions/listen"), 0);
}

#[tokio::test]
async fn who_watches_loses_it_when_the_session_is_closed() {
    let (mut wire, credentials) = (Wire::modern(WATCHED).await, each_its_own());
    let session = open_at(&wire.url(), &credentials, &profile(Era::Modern)).await.unwrap();
    let session = Arc::new(session);
    let heard = Arc::<Heard>::default();
    let (watcher, told) = (session.clone(), heard.clone());
    let watching = tokio::spawn(async move { watcher.subscribe_for("a:1", told, &of("ann")).await });
    let stream = granting(&mut wire, "a:1").await;
    let _watch = watching.await.unwrap().unwrap();
    session.close().await;
    stream.gone().await;
    eventually("the loss", || heard.all() == ["lost"]).await;
}

#[tokio::test]
async fn a_legacy_server_is_told_to_watch_in_the_name_of_who_wants_it() {
    let (wire, credentials) = (Wire::legacy(WATCHED).await, each_its_own());
    let session = open_at(&wire.url(), &credentials, &profile(Era::Legacy)).await.unwrap();
    let watch = session.subscribe_for("a:1", Arc::<Heard>::default(), &of("ann")).await.unwrap();
    let is_anns = |method: &str| wire.last(method).contains("authorization: ann 0");
    assert!(is_anns("resources/subscribe"));
    drop(watch);
    wire.sees("resources/unsubscribe").await;
    assert!(is_anns("resources/unsubscribe"));
}
