use std::time::Duration;

use tokio::time;

use super::{server::good, *};
use crate::engine::{CallError, ClientAuthentication, ClientCredentials, Secret};

fn grant() -> ClientCredentials {
    ClientCredentials::new("me & you", Secret::new("hunter:2"))
}

fn fetched_by(grant: ClientCredentials, server: &Arc<TokenServer>) -> Credentials {
    credentials([("oauth", Credential::ClientCredentials(grant))], server).unwrap()
}

async fn ask(credentials: &Credentials, scopes: &str) -> Result<String, CallError> {
    credentials.obtain(&security(&[&format!("oauth:{scopes}")])).await.map(|extras| written(&extras))
}

async fn reason(credentials: &Credentials) -> String {
    match ask(credentials, "read").await {
        Err(CallError::Credentials { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check_request(server: &TokenServer, url: &str, authorization: Option<&str>, form: &str) {
    let seen = server.seen.lock().unwrap();
    let request = seen.last().unwrap();
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap());
    assert_eq!((request.method().as_str(), request.uri().to_string().as_str()), ("POST", url));
    assert_eq!(header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(header("accept"), Some("application/json"));
    assert_eq!(header("authorization"), authorization);
    assert_eq!(request.body(), form);
}

#[tokio::test]
async fn requests_are_those_of_the_rfc() {
    let server = TokenServer::lasting(3600);
    ask(&fetched_by(grant(), &server), "write,read").await.unwrap();
    let basic = "Basic bWUlMjAlMjYlMjB5b3U6aHVudGVyJTNBMg==";
    let form = "grant_type=client_credentials&scope=read%20write";
    check_request(&server, "https://api.example/token", Some(basic), form);

    let url = Some("http://id.example/t?tenant=1".parse().unwrap());
    let (resource, audience) = (Some("https://api.example/".into()), Some("api".into()));
    let authentication = ClientAuthentication::Post;
    let scopes = Some(vec!["all".into()]);
    let posted = ClientCredentials { token_url: url, scopes, authentication, resource, audience, ..grant() };
    ask(&fetched_by(posted, &server), "write").await.unwrap();
    let form = "grant_type=client_credentials&scope=all&resource=https%3A%2F%2Fapi.example%2F&audience=api\
                &client_id=me%20%26%20you&client_secret=hunter%3A2";
    check_request(&server, "http://id.example/t?tenant=1", None, form);

    ask(&fetched_by(grant(), &server), "").await.unwrap();
    check_request(&server, "https://api.example/token", Some(basic), "grant_type=client_credentials");
}

#[tokio::test(start_paused = true)]
async fn a_token_is_used_until_a_tenth_before_its_end() {
    for (answer, used) in [
        (good(1000), 900),
        (good(100), 70),
        (good(40), 20),
        (good(10), 5),
        (good(1_000_000), 86_400),
        (r#"{"access_token":"t{n}","token_type":"BEARER","expires_in":"1000"}"#.into(), 900),
        (r#"{"access_token":"t{n}","token_type":"Bearer"}"#.into(), 300),
        (r#"{"access_token":"t{n}","token_type":"Bearer","expires_in":-5}"#.into(), 300),
        (r#"{"access_token":"t{n}","token_type":"Bearer","expires_in":1e400}"#.into(), 300),
    ] {
        let server = TokenServer::new(&answer);
        let credentials = fetched_by(grant(), &server);
        assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t1");
        time::advance(Duration::from_secs(used) - Duration::from_millis(1)).await;
        assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t1", "{answer}");
        time::advance(Duration::from_millis(1)).await;
        assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t2", "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_good_for_nothing_longer_is_not_kept() {
    let server = TokenServer::lasting(0);
    let credentials = fetched_by(grant(), &server);
    assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t1");
    time::advance(Duration::from_millis(1)).await;
    assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t2");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_at_once_fetch_one_token_for_each_set_of_scopes() {
    for seconds in [0, 3600] {
        let server = TokenServer::slow(&good(seconds), Duration::from_secs(2));
        let credentials = Arc::new(fetched_by(grant(), &server));
        let calls: Vec<_> = (0..100)
            .map(|number| {
                let credentials = Arc::clone(&credentials);
                let scopes = if number % 2 == 0 { "read,write" } else { "write,read,write" };
                tokio::spawn(async move { ask(&credentials, scopes).await })
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "authorization: Bearer t1");
        }
        assert_eq!(ask(&credentials, "other").await.unwrap(), "authorization: Bearer t2");
        assert_eq!(server.count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn another_fetches_when_the_one_that_did_is_dropped() {
    let server = TokenServer::slow(&good(3600), Duration::from_secs(2));
    let credentials = Arc::new(fetched_by(grant(), &server));
    let first = time::timeout(Duration::from_secs(1), ask(&credentials, "read"));
    let second = ask(&credentials, "read");
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_err());
    assert_eq!(second.unwrap(), "authorization: Bearer t2");
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_nobody_asks_for_a_while_and_then_again() {
    let server = TokenServer::lasting(3600);
    server.answers(401, r#"{"error":"invalid_client","error_description":"hunter:2 at id.internal"}"#);
    let credentials = fetched_by(grant(), &server);
    let mut asked = Vec::new();
    for second in 0..100 {
        let before = server.count();
        assert_eq!(reason(&credentials).await, "the token server answered with status 401 (invalid_client)");
        if server.count() > before {
            asked.push(second);
        }
        time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(asked, [0, 1, 3, 7, 15, 31, 61, 91]);
    time::advance(Duration::from_secs(30)).await;
    server.answers(200, &good(3600));
    assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t9");
    assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t9");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_at_once_hear_of_one_failure() {
    let server = TokenServer::slow("", Duration::from_millis(500));
    let credentials = Arc::new(fetched_by(grant(), &server));
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let credentials = Arc::clone(&credentials);
            tokio::spawn(async move { reason(&credentials).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), "the token server answered something else than a token");
    }
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_the_api_rejects_is_fetched_anew_but_not_for_every_call() {
    let server = TokenServer::lasting(3600);
    let credentials = fetched_by(grant(), &server);
    let first = credentials.obtain(&security(&["oauth:read"])).await.unwrap();
    credentials.reject(&first);
    assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t1");
    time::advance(Duration::from_secs(10)).await;
    credentials.reject(&first);
    assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t2");
    time::advance(Duration::from_secs(10)).await;
    credentials.reject(&first);
    assert_eq!(ask(&credentials, "read").await.unwrap(), "authorization: Bearer t2");
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_no_token_are_refused_without_their_text() {
    let long = format!(r#"{{"access_token":"{}","token_type":"bearer"}}"#, "a".repeat(65 << 10));
    for (status, answer, expected) in [
        (0, "", "connection refused"),
        (302, "", "the token server answered with status 302"),
        (400, r#"{"error":"invalid_scope"}"#, "the token server answered with status 400 (invalid_scope)"),
        (400, r#"{"error":"secret hunter:2"}"#, "the token server answered with status 400"),
        (500, "hunter:2", "the token server answered with status 500"),
        (201, r#"{"access_token":"a","token_type":"bearer"}"#, "the token server answered with status 201"),
        (200, "<html>", "the token server answered something else than a token"),
        (200, r#"{"access_token":"a"}"#, "the token server gave a token that is no bearer token"),
        (
            200,
            r#"{"access_token":"a","token_type":"mac"}"#,
            "the token server gave a token that is no bearer token",
        ),
        (
            200,
            r#"{"access_token":"a\r\nb","token_type":"bearer"}"#,
            "the token server gave a token that cannot be sent",
        ),
        (200, r#"{"token_type":"bearer"}"#, "the token server gave a token that cannot be sent"),
        (200, &long, "the token server's answer broke off or is too long"),
    ] {
        let server = TokenServer::lasting(60);
        server.answers(status, answer);
        assert_eq!(reason(&fetched_by(grant(), &server)).await, expected);
    }
    let server = TokenServer::slow(&good(60), Duration::from_secs(60));
    let expected = "the token server gave no answer within 10 s";
    assert_eq!(reason(&fetched_by(grant(), &server)).await, expected);
}

#[tokio::test(start_paused = true)]
async fn tokens_of_many_sets_of_scopes_are_bounded() {
    let server = TokenServer::lasting(3600);
    let credentials = fetched_by(grant(), &server);
    for number in 0..1000 {
        ask(&credentials, &format!("scope{number}")).await.unwrap();
    }
    let shown = format!("{credentials:?}");
    assert_eq!(shown.matches("flight").count(), 256);
}
