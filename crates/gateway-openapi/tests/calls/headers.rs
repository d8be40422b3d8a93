//! What goes out with a request besides arguments (E-15, E-24, E-50, E-W11).

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use gateway_domain::RawObject;
use gateway_openapi::{
    engine::{
        BaseUrl, CallContext, ClientConfig, ClientCredentials, Credential, Credentials, Executor,
        ExecutorConfig, HttpClient, NetworkClient, Secret,
    },
    ir::{Location, Operation, Param, Requirement, SchemeUse, SecurityScheme},
};
use http::{HeaderName, HeaderValue, Request, Response, header};
use tokio::time::advance;

use crate::{
    api::{Api, Asked, answer},
    router::Router,
    shop::Shop,
};

const BASE: &str = "http://in.process";

fn field(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::from_static(value))
}

fn network() -> Arc<dyn HttpClient> {
    Arc::new(NetworkClient::new(ClientConfig::default()).unwrap())
}

fn secured(operation: &mut Operation) {
    operation.security = vec![Requirement(vec![SchemeUse { name: "key".into(), scopes: vec![] }])];
}

fn credentials(
    credential: Credential,
    scheme: SecurityScheme,
    base: &str,
    tokens: Arc<dyn HttpClient>,
) -> Arc<Credentials> {
    let (configured, schemes) =
        (BTreeMap::from([("key".into(), credential)]), BTreeMap::from([("key".into(), scheme)]));
    Arc::new(Credentials::new(configured, &schemes, &base.parse().unwrap(), &tokens).unwrap())
}

#[tokio::test]
async fn calls_win_over_what_is_static_and_credentials_over_that_too() {
    let api = Api::that(answer(200, "", "")).await;
    let shop = Shop::new(
        &api.url(),
        network(),
        |config| {
            let fixed = [("authorization", "static"), ("x-static", "1"), ("x-both", "static")];
            config.headers = fixed.map(|(name, value)| field(name, value)).into();
            let bearer = Credential::Bearer(Secret::new("token"));
            config.credentials = credentials(bearer, SecurityScheme::Bearer, &api.url(), network());
        },
        |operation, _| secured(operation),
    );
    let context = CallContext::with_headers([field("x-both", "call"), field("x-call", "2")]);
    shop.tool.call(&RawObject::empty(), &context).await;
    let asked: &Asked = &api.asked()[0];
    for (name, expected) in
        [("authorization", "Bearer token"), ("x-static", "1"), ("x-both", "call"), ("x-call", "2")]
    {
        assert_eq!(asked.values(name), [expected], "for {name}");
    }
}

#[tokio::test]
async fn a_parameter_sets_no_header_that_the_operator_or_the_call_sets() {
    let api = Api::that(answer(200, "", "")).await;
    let shop = Shop::new(
        &api.url(),
        network(),
        |config| config.headers = vec![field("x-static", "operator"), field("cookie", "session=operator")],
        |operation, _| {
            let names = ["X-Static", "Authorization", "X-Call", "X-Free"];
            operation.params = names.map(|name| Param::new(name, Location::Header)).into();
            operation.params.extend(["session", "theme"].map(|name| Param::new(name, Location::Cookie)));
        },
    );
    let arguments = concat!(
        r#"{"X-Static":"model","Authorization":"model","X-Call":"model","X-Free":"model","#,
        r#""session":"model","theme":"model"}"#
    );
    let context = CallContext::with_headers([field("x-call", "call")]);
    shop.tool.call(&RawObject::parse(arguments).unwrap(), &context).await;
    let asked: &Asked = &api.asked()[0];
    for (name, expected) in [
        ("x-static", &["operator"][..]),
        ("authorization", &[]),
        ("x-call", &["call"]),
        ("x-free", &["model"]),
        ("cookie", &["session=operator; theme=model"]),
    ] {
        assert_eq!(asked.values(name), expected, "for {name}");
    }
    assert_eq!(shop.tool.notes().len(), 3, "{:?}", shop.tool.notes());
}

#[test]
fn what_the_operator_sets_is_no_argument() {
    let mut config = ExecutorConfig::new(BaseUrl::parse(BASE).unwrap(), network());
    config.headers = vec![field("x-static", "1")];
    let reserved = Executor::new(config.clone()).reserved();
    assert!(reserved.headers.contains(&HeaderName::from_static("x-static")));
    let scheme = SecurityScheme::ApiKey { location: Location::Query, name: "k".into() };
    config.credentials = credentials(Credential::ApiKey(Secret::new("v")), scheme, BASE, network());
    let reserved = Executor::new(config).reserved();
    assert!(
        reserved.headers.contains(&HeaderName::from_static("x-static"))
            && reserved.headers.contains(&header::AUTHORIZATION)
    );
    assert!(reserved.query.contains("k"));
}

/// A static header or cookie may stand for a scheme of which nothing is configured.
#[test]
fn what_a_static_header_sets_is_said_to_be_set() {
    let key = |location, name: &str| SecurityScheme::ApiKey { location, name: name.into() };
    let places = [(Location::Header, "x-key"), (Location::Cookie, "sid"), (Location::Query, "k")];
    let schemes = places.map(|(location, name)| (name.to_owned(), key(location, name))).into();
    let mut config = ExecutorConfig::new(BaseUrl::parse(BASE).unwrap(), network());
    let none = Credentials::new(BTreeMap::new(), &schemes, &BASE.parse().unwrap(), &network());
    config.credentials = Arc::new(none.unwrap());
    config.headers = vec![field("x-key", "1"), field("cookie", "a=1; sid=2")];
    let unset = Executor::new(config).reserved().unset;
    let expected = [(Location::Query, "k"), (Location::Header, "authorization")];
    assert_eq!(unset, expected.map(|(location, name)| (location, name.to_owned())).into());
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_accepted_is_not_used_again() {
    let tokens = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&tokens);
    let router = Router::new(move |request: Request<Bytes>| {
        let is_stale = request.headers().get("authorization").is_some_and(|sent| sent == "Bearer t1");
        let body = match request.uri().path() {
            "/token" => {
                let count = counting.fetch_add(1, Ordering::SeqCst) + 1;
                format!(r#"{{"access_token":"t{count}","token_type":"bearer","expires_in":600}}"#)
            }
            _ => "in".into(),
        };
        let status = if is_stale { 401 } else { 200 };
        async move { Response::builder().status(status).body(Bytes::from(body)).unwrap() }
    });
    let mut grant = ClientCredentials::new("id", Secret::new("secret"));
    grant.token_url = Some("http://in.process/token".parse().unwrap());
    let scheme = SecurityScheme::OAuth2 { token_url: None };
    let credentials = credentials(Credential::ClientCredentials(grant), scheme, BASE, router.clone());
    let shop =
        Shop::new(BASE, router, |config| config.credentials = credentials, |operation, _| secured(operation));
    for (seconds, expected, count) in [
        (0, ("HTTP 401\nin", true), 1),
        (20, ("HTTP 401\nin", true), 1),
        (0, ("in", false), 2),
        (60, ("in", false), 2),
    ] {
        // A token is given some time before its refusal is believed.
        advance(Duration::from_secs(seconds)).await;
        assert_eq!(shop.said().await, (expected.0.to_owned(), expected.1));
        assert_eq!(tokens.load(Ordering::SeqCst), count);
    }
}
