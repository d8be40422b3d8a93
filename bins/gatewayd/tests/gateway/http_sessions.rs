//! Sessions of HTTP downstreams that are lost, seen from the gateway's clients.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use gateway_testkit::{
    Era, Profile,
    client::{Answer, HttpClient, Speaks},
    http::{HttpFake, Recorded},
};
use http::HeaderValue;

use crate::support::{Folder, Serving};

/// A gateway in front of a legacy fake, and a client that has called once.
async fn warm(sharing: &str) -> (HttpFake, Serving, Arc<HttpClient>) {
    let fake = HttpFake::start(Profile { era: Era::Legacy, ..Profile::default() });
    let config = format!("[downstreams.http]\nurl = \"{}\"\nsharing = \"{sharing}\"\n", fake.url());
    let serving = Serving::start(&Folder::with(&config), &[]);
    let client = Arc::new(HttpClient::connect(&serving.url, Speaks::legacy()).await.unwrap());
    for _ in 0..200 {
        if client.call("\"warm\"", "http__counter", "{}").await.unwrap().result().is_some() {
            return (fake, serving, client);
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the downstream was not listed: {}", serving.log());
}

async fn fifty_calls(client: &Arc<HttpClient>) -> Vec<Answer> {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..50 {
        let client = client.clone();
        callers.spawn(async move { client.call(&caller.to_string(), "http__counter", "{}").await.unwrap() });
    }
    callers.join_all().await
}

/// The sessions in which lists were asked for.
fn listing_sessions(fake: &HttpFake) -> BTreeSet<HeaderValue> {
    let session = |request: Recorded| request.headers.get("mcp-session-id").cloned();
    fake.requests_of("tools/list").into_iter().filter_map(session).collect()
}

fn count(answer: &Answer) -> u64 {
    let text = answer.result().unwrap_or_else(|| panic!("no result: {}", answer.text));
    let (_, rest) = text.split_once(r#""count":"#).unwrap();
    rest.split(['}', ',']).next().unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_callers_of_a_lost_session_share_one_new_handshake_and_each_call_runs_once() {
    let (fake, serving, client) = warm("per_client").await;
    for round in 0..5 {
        let (handshakes, known) = (fake.requests_of("initialize").len(), listing_sessions(&fake));
        fake.forget_sessions();
        let answers = fifty_calls(&client).await;
        // The new session has counted every call that it ran, and it ran each of them once.
        let counts: BTreeSet<_> = answers.iter().map(count).collect();
        assert_eq!(counts, (1..=50).collect(), "round {round}: {}", serving.log());
        // The session that lists are read from was forgotten as well, and is replaced when the next list is.
        let is_replaced = async {
            while listing_sessions(&fake).is_subset(&known) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(30), is_replaced).await;
        in_time.unwrap_or_else(|_| panic!("round {round}: no new list: {}", serving.log()));
        let new = fake.requests_of("initialize").len() - handshakes;
        assert_eq!(new, 2, "round {round}: one for all callers, one for lists: {}", serving.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_all_share_are_lost_together_and_no_call_fails() {
    let (fake, serving, client) = warm("shared").await;
    fifty_calls(&client).await;
    for round in 0..5 {
        fake.forget_sessions();
        for answer in fifty_calls(&client).await {
            assert!(answer.result().is_some(), "round {round}: {}: {}", answer.text, serving.log());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_lost_again_at_once_is_an_error_and_nothing_loops() {
    let (fake, serving, client) = warm("per_client").await;
    fake.set(|faults| (faults.only, faults.status) = (Some("tools/call".into()), Some(404)));
    let (calls, handshakes) = (fake.requests_of("tools/call").len(), fake.requests_of("initialize").len());
    let answer = client.call("1", "http__counter", "{}").await.unwrap();
    assert!(answer.error().is_some() || answer.text.contains("isError"), "{}", answer.text);
    assert!(answer.text.contains(NEVER_RAN), "{}", answer.text);
    assert_eq!(fake.requests_of("tools/call").len() - calls, 2, "{}", serving.log());
    assert_eq!(fake.requests_of("initialize").len() - handshakes, 1, "{}", serving.log());
    fake.heal();
    assert_eq!(count(&client.call("2", "http__counter", "{}").await.unwrap()), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_restarted_serves_the_same_clients_again() {
    let (fake, serving, client) = warm("per_client").await;
    fake.close();
    fake.forget_sessions();
    // One may still be written to a connection whose end is not seen yet.
    let refused = async {
        while !client.call("1", "http__counter", "{}").await.unwrap().text.contains(NEVER_RAN) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(10), refused).await.is_ok(), "{}", serving.log());
    fake.open();
    let answer = client.call("2", "http__counter", "{}").await.unwrap();
    assert_eq!(count(&answer), 1, "a new session: {}", serving.log());
}

const NEVER_RAN: &str = r#""may_have_executed":false"#;
