//! The client over real sockets: what it keeps, what it refuses, what it says went wrong.

use std::time::Duration;

use bytes::Bytes;
use gateway_openapi::engine::{ClientConfig, ClientError, HttpClient, NetworkClient};
use http::{Request, StatusCode};
use http_body_util::BodyExt;

use crate::api::{Api, Step, answer, say};

fn client(change: impl FnOnce(&mut ClientConfig)) -> NetworkClient {
    let mut config = ClientConfig::default();
    change(&mut config);
    NetworkClient::new(config).unwrap()
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}

async fn fetch(client: &NetworkClient, url: &str) -> Result<(StatusCode, Bytes), ClientError> {
    let (head, body) = client.send(get(url)).await?.into_parts();
    Ok((head.status, body.collect().await?.to_bytes()))
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let api = Api::that(answer(200, "", "ok")).await;
    let client = client(|_| {});
    for _ in 0..3 {
        assert_eq!(fetch(&client, &api.url()).await, Ok((StatusCode::OK, "ok".into())));
    }
    assert_eq!((api.connections(), api.asked().len()), (1, 3));
}

#[tokio::test]
async fn what_was_sent_is_what_was_given_and_nothing_more() {
    let api = Api::that(answer(200, "", "")).await;
    let url = format!("{}/a%2Fb?c=d", api.url());
    let request = Request::post(url).header("x-one", "1").body("body".into()).unwrap();
    client(|_| {}).send(request).await.unwrap();
    let asked = &api.asked()[0];
    let host = api.addr().to_string();
    assert_eq!(asked.line(), "POST /a%2Fb?c=d HTTP/1.1");
    let expected =
        format!("POST /a%2Fb?c=d HTTP/1.1\r\nx-one: 1\r\nhost: {host}\r\ncontent-length: 4\r\n\r\n");
    assert_eq!((asked.head.as_str(), asked.body.as_slice()), (expected.as_str(), &b"body"[..]));
}

#[tokio::test]
async fn nothing_is_followed_decoded_or_sent_elsewhere() {
    let elsewhere = Api::that(answer(200, "", "stolen")).await;
    let headers = format!("location: {}/\r\ncontent-encoding: gzip\r\n", elsewhere.url());
    for status in [301, 302, 303, 307, 308] {
        let api = Api::that(answer(status, &headers, "as it is")).await;
        let answered = fetch(&client(|_| {}), &api.url()).await.unwrap();
        assert_eq!(answered, (StatusCode::from_u16(status).unwrap(), "as it is".into()));
        assert_eq!(api.asked().len(), 1);
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn what_breaks_before_an_answer_is_said_and_not_tried_again() {
    let fields = |count: usize| (0..count).map(|n| format!("x-{n}: 1\r\n")).collect::<String>();
    let long = format!("x: {}\r\n", "y".repeat(70_000));
    for (steps, reason) in [
        (vec![Step::Close], "closed before an answer"),
        (vec![say("HTTP/1.1 20"), Step::Close], "closed before an answer"),
        (vec![say("SSH-2.0-server\r\n\r\n")], "the answer is not valid HTTP"),
        (answer(200, &fields(101), ""), "the head of the answer is too large"),
        (answer(200, &long, ""), "the head of the answer is too large"),
        (
            vec![say("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n")],
            "the answer is not valid HTTP",
        ),
        (vec![say("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n")], "the answer is not valid HTTP"),
    ] {
        let api = Api::that(steps.clone()).await;
        let error = fetch(&client(|_| {}), &api.url()).await.unwrap_err();
        assert_eq!(error, ClientError { reason: reason.into(), is_unsent: false }, "for {steps:?}");
        assert_eq!(api.asked().len(), 1, "for {steps:?}");
    }
}

#[tokio::test]
async fn what_breaks_in_a_body_is_said() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (head, body, reason) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", "half", "the connection was closed too early"),
        (CHUNKED, "4\r\nhalf\r\n", "the connection was closed too early"),
        (CHUNKED, "half\r\n", "it is not valid HTTP"),
    ] {
        let api = Api::that(vec![say(head), say(body), Step::Close]).await;
        let error = fetch(&client(|_| {}), &api.url()).await.unwrap_err();
        assert_eq!(error, ClientError { reason: reason.into(), is_unsent: false }, "for {body:?}");
    }
}

#[tokio::test]
async fn bodies_end_where_their_framing_says() {
    const CHUNKED: &str =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nwh\r\n3;x=y\r\nole\r\n0\r\nt: 1\r\n\r\n";
    for steps in [
        vec![say(CHUNKED)],
        vec![say("HTTP/1.1 200 OK\r\n\r\nwhole"), Step::Close],
        vec![say("HTTP/1.0 200 OK\r\n\r\nwhole"), Step::Close],
        vec![say("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole and more")],
        vec![say("HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole")],
    ] {
        let api = Api::that(steps.clone()).await;
        let client = client(|_| {});
        for _ in 0..2 {
            let answered = fetch(&client, &api.url()).await;
            assert_eq!(answered, Ok((StatusCode::OK, "whole".into())), "for {steps:?}");
        }
    }
}

#[tokio::test]
async fn a_request_is_written_again_only_if_it_was_not_written() {
    // The second connection answers; on the first one the second request is taken and nothing comes.
    let api = Api::start(|asked| match (asked.connection, asked.line()) {
        (1, "GET /2 HTTP/1.1") => vec![Step::Close],
        _ => answer(200, "", "ok"),
    })
    .await;
    let client = client(|_| {});
    fetch(&client, &format!("{}/1", api.url())).await.unwrap();
    let error = fetch(&client, &format!("{}/2", api.url())).await.unwrap_err();
    assert!(!error.is_unsent, "{error:?}");
    assert_eq!(api.asked().len(), 2);
}

#[tokio::test]
async fn a_kept_connection_that_the_server_has_closed_costs_nothing() {
    let api = Api::start(|_| [answer(200, "", "ok"), vec![Step::Close]].concat()).await;
    let client = client(|_| {});
    for count in 1..=20 {
        assert_eq!(fetch(&client, &api.url()).await.map(|(status, _)| status), Ok(StatusCode::OK));
        assert_eq!(api.asked().len(), count);
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_reached_is_said_without_its_name() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    for (url, reason) in [
        (dead.as_str(), "connection refused"),
        ("http://no-such-host.invalid/", "the name cannot be resolved"),
    ] {
        let expected = ClientError { reason: reason.into(), is_unsent: true };
        let client = client(|config| config.address = Some(url.parse().unwrap()));
        assert_eq!(fetch(&client, url).await, Err(expected.clone()), "for {url}");
        assert_eq!(client.reach().await, Err(expected), "for {url}");
    }
    assert!(client(|_| {}).send(get("/relative")).await.is_err_and(|error| error.is_unsent));
}

#[tokio::test]
async fn reaching_asks_nothing() {
    let api = Api::that(answer(200, "", "")).await;
    let address = format!("{}/v1", api.url()).parse().unwrap();
    let client = client(|config| config.address = Some(address));
    client.reach().await.unwrap();
    fetch(&client, &api.url()).await.unwrap();
    assert_eq!((api.connections(), api.asked().len()), (2, 1));
    NetworkClient::new(ClientConfig::default()).unwrap().reach().await.unwrap();
}

#[tokio::test]
async fn an_idle_connection_is_left_before_the_server_leaves_it() {
    let api = Api::that(answer(200, "", "ok")).await;
    let client = client(|config| config.idle_timeout = Duration::from_millis(50));
    fetch(&client, &api.url()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    fetch(&client, &api.url()).await.unwrap();
    assert_eq!(api.connections(), 2);
}

#[tokio::test]
async fn giving_up_closes_the_connection() {
    let api = Api::start(|asked| match asked.line() {
        "GET /head HTTP/1.1" => vec![Step::Hang],
        _ => vec![say("HTTP/1.1 200 OK\r\n\r\nbegun"), Step::Hang],
    })
    .await;
    let client = client(|_| {});
    let url = format!("{}/head", api.url());
    let asking = fetch(&client, &url);
    assert!(tokio::time::timeout(Duration::from_millis(100), asking).await.is_err());
    api.left(1).await;
    let body = client.send(get(&format!("{}/body", api.url()))).await.unwrap().into_body();
    drop(body);
    api.left(2).await;
}
