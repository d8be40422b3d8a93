//! What a tool says of whatever the API does.

use std::time::Duration;

use gateway_openapi::ir::Method;

use crate::{
    api::{Api, Step, answer, say},
    shop::Shop,
};

#[tokio::test]
async fn whatever_the_status_there_is_a_result() {
    for (status, body, expected) in [
        (200, "fine", ("fine", false)),
        (201, "made", ("made", false)),
        (206, "part", ("part", false)),
        (300, "choose", ("HTTP 300\nchoose", true)),
        (302, "moved", ("HTTP 302\nmoved", true)),
        (400, "bad", ("HTTP 400\nbad", true)),
        (404, "", ("HTTP 404\n", true)),
        (500, "oh", ("HTTP 500\noh", true)),
        (599, "oh", ("HTTP 599\noh", true)),
    ] {
        let api = Api::that(answer(status, "content-type: text/plain\r\n", body)).await;
        let shop = Shop::at(&api.url(), |_, _| {});
        assert_eq!(shop.said().await, (expected.0.to_owned(), expected.1), "for {status}");
        assert_eq!(shop.heard(), [(status, String::new())]);
        assert_eq!(api.asked()[0].line(), "GET /v1/things HTTP/1.1");
    }
    for (head, expected) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", ("", false)),
        (
            "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
            ("HTTP 101\n", true),
        ),
        ("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", ("HTTP 304\n", true)),
    ] {
        let api = Api::that(vec![say(head)]).await;
        assert_eq!(Shop::at(&api.url(), |_, _| {}).said().await, (expected.0.to_owned(), expected.1));
    }
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_whatever_length_it_names() {
    let api =
        Api::that(vec![say("HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 999\r\n\r\n")])
            .await;
    let shop = Shop::at(&api.url(), |operation, _| operation.method = Method::Head);
    for _ in 0..2 {
        assert_eq!(shop.said().await, (String::new(), false));
    }
    assert_eq!(api.connections(), 1);
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let elsewhere = Api::that(answer(200, "", "stolen")).await;
    let api = Api::that(answer(307, &format!("location: {}/\r\n", elsewhere.url()), "")).await;
    assert_eq!(Shop::at(&api.url(), |_, _| {}).said().await, ("HTTP 307\n".to_owned(), true));
    assert_eq!((api.asked().len(), elsewhere.connections()), (1, 0));
}

#[tokio::test]
async fn what_takes_too_long_is_given_up() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun";
    let late = "upstream call failed: no answer within 200ms";
    for (steps, status) in [
        (vec![Step::Hang], 0),
        (vec![say("HTTP/1.1 200 OK\r\n"), Step::Hang], 0),
        (vec![say(HEAD), Step::Hang], 200),
        (vec![say(HEAD), Step::Rest(Duration::from_millis(120)), say("."), Step::Hang], 200),
    ] {
        let api = Api::that(steps).await;
        let shop = Shop::at(&api.url(), |_, config| config.timeout = Some(Duration::from_millis(200)));
        assert_eq!(shop.said().await, (late.to_owned(), true));
        assert_eq!(shop.heard(), [(status, late.to_owned())]);
        api.left(1).await;
    }
}

#[tokio::test]
async fn a_stream_is_shown_as_far_as_it_came_in_time() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: one\n\n";
    let api = Api::that(vec![say(head), Step::Hang]).await;
    let shop = Shop::at(&api.url(), |_, config| config.timeout = Some(Duration::from_millis(200)));
    let expected = "data: one\n\n\n[cut: 11 bytes shown, there is more]";
    assert_eq!(shop.said().await, (expected.to_owned(), false));
    api.left(1).await;
}

#[tokio::test]
async fn a_body_without_an_end_is_cut_and_left() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"] {
        let api = Api::that(vec![say(head), Step::Endless(&[b'x'; 8192])]).await;
        let shop = Shop::at(&api.url(), |_, config| config.max_response_bytes = 1000);
        let (text, is_error) = shop.said().await;
        assert!(text.len() <= 1000 && text.len() > 900 && !is_error, "{text}");
        let notice = text.lines().last().unwrap();
        let (length, total) = (
            text.lines().next().unwrap().len(),
            if head.contains("length") { "of 99999999999 bytes shown" } else { "bytes shown, there is more" },
        );
        assert_eq!(notice, format!("[cut: {length} {total}]"));
        api.left(1).await;
    }
}

#[tokio::test]
async fn a_long_body_is_counted_and_its_connection_kept() {
    let api = Api::that(answer(200, "content-type: text/plain\r\n", "é".repeat(5000))).await;
    let shop = Shop::at(&api.url(), |_, config| config.max_response_bytes = 1001);
    for _ in 0..2 {
        let (text, _) = shop.said().await;
        let (shown, notice) = text.split_once('\n').unwrap();
        assert!(text.len() <= 1001 && shown.chars().all(|c| c == 'é'));
        assert_eq!(notice, format!("[cut: {} of 10000 bytes shown]", shown.len()));
    }
    assert_eq!(api.connections(), 1);
}

#[tokio::test]
async fn what_breaks_off_is_said_without_a_host() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let shop = Shop::at(&format!("http://{dead}"), |_, _| {});
    let refused = "upstream call failed: connection refused";
    assert_eq!(shop.said().await, (refused.to_owned(), true));
    assert_eq!(shop.heard(), [(0, refused.to_owned())]);

    let api = Api::that(vec![say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"), Step::Close]).await;
    let shop = Shop::at(&api.url(), |_, _| {});
    let broken = "upstream call failed: the answer broke off: the connection was closed too early";
    assert_eq!(shop.said().await, (broken.to_owned(), true));
    assert_eq!(shop.heard(), [(200, broken.to_owned())]);
}

#[tokio::test]
async fn text_that_is_not_utf_8_is_read_in_its_charset() {
    for (content_type, body, expected) in [
        ("text/plain; charset=iso-8859-1", &b"caf\xe9"[..], "café"),
        ("text/plain", b"caf\xe9", "caf\u{fffd}"),
        ("application/json", b"\"caf\xe9\"", "\"caf\u{fffd}\""),
    ] {
        let api = Api::that(answer(200, &format!("content-type: {content_type}\r\n"), body)).await;
        assert_eq!(Shop::at(&api.url(), |_, _| {}).said().await, (expected.to_owned(), false));
    }
}

/// `Transfer-Encoding` is looked at too: chunks are taken off, and nothing else.
#[tokio::test]
async fn what_is_encoded_though_nobody_asked_is_not_taken_for_an_answer() {
    const REFUSED: &str = "upstream call failed: the answer is compressed, which was not asked for";
    const CHUNKS: &[u8] = b"2\r\n{}\r\n0\r\n\r\n";
    for (status, headers, body, expected) in [
        ("200 OK", "content-encoding: gzip\r\ncontent-length: 2", &b"{}"[..], (REFUSED, true)),
        ("200 OK", "content-encoding: identity, br\r\ncontent-length: 2", b"{}", (REFUSED, true)),
        ("200 OK", "transfer-encoding: gzip, chunked", CHUNKS, (REFUSED, true)),
        ("200 OK", "transfer-encoding: chunked\r\ncontent-encoding: Identity", CHUNKS, ("{}", false)),
        ("200 OK", "content-encoding: gzip\r\ncontent-length: 0", b"", ("", false)),
        ("404 Gone", "content-encoding: gzip\r\ncontent-length: 2", b"{}", ("HTTP 404\n{}", true)),
    ] {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}\r\n\r\n");
        let api = Api::that(vec![say([head.as_bytes(), body].concat())]).await;
        let said = Shop::at(&api.url(), |_, _| {}).said().await;
        assert_eq!(said, (expected.0.to_owned(), expected.1), "{headers}");
        assert!(api.asked()[0].values("accept-encoding").is_empty());
    }
}
