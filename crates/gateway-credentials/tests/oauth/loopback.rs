//! What comes back to the redirect URI of a login, and what else may come there.

use std::{sync::Mutex, time::Duration};

use gateway_credentials::oauth::{LoginReport, Mode, OauthConfig, OauthError, login};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    time::timeout,
};

use crate::fake::{Fake, SERVER, credentials, parameters, visit};

/// What a browser was sent to, taken apart.
struct Sent {
    host: String,
    path: String,
    state: String,
}

impl Sent {
    fn good(&self) -> String {
        format!("{}?code=c&state={}", self.path, self.state)
    }
}

/// Logs in; `browse` is what happens meanwhile, and has 4 seconds.
async fn log_in<R>(browse: impl AsyncFnOnce(Sent) -> R) -> (Result<LoginReport, OauthError>, R) {
    let mut config = OauthConfig::new("one", SERVER, Mode::Gateway);
    config.limits.login_time = Duration::from_secs(5);
    let one = credentials(config, &Fake::usual());
    let (send, sent) = oneshot::channel();
    let send = Mutex::new(Some(send));
    let report = login(&one, |url| {
        let asked = parameters(url);
        let (host, path) = asked["redirect_uri"].strip_prefix("http://").unwrap().split_once('/').unwrap();
        let sent = Sent { host: host.into(), path: format!("/{path}"), state: asked["state"].clone() };
        assert!(send.lock().unwrap().take().unwrap().send(sent).is_ok());
    });
    let browsed = async { timeout(Duration::from_secs(4), browse(sent.await.unwrap())).await.unwrap() };
    tokio::join!(report, browsed)
}

async fn whole(mut connection: TcpStream) -> String {
    let mut answer = String::new();
    // It may be closed with what was not read of it.
    drop(connection.read_to_string(&mut answer).await);
    answer
}

#[tokio::test]
async fn a_browser_is_told_what_came_of_it() {
    let (report, [stray, other, bad]) = log_in(async |sent| {
        let at = |target: &str| format!("http://{}{target}", sent.host);
        let stray = visit(&at("/favicon.ico")).await;
        let other = visit(&at(&format!("{}?code=c&state=other", sent.path))).await;
        [stray, other, visit(&at(&sent.good())).await]
    })
    .await;
    report.unwrap();
    for (answer, status, text) in [
        (stray, "404 Not Found", "There is nothing here."),
        (other, "400 Bad Request", "The gateway could not be authorized; its terminal says why."),
        (bad, "200 OK", "The gateway is authorized. You may close this page."),
    ] {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        assert!(answer.contains(text) && answer.contains("Cache-Control: no-store\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn one_that_says_nothing_keeps_nobody_waiting() {
    let (report, _) = log_in(async |sent| {
        let mut silent = Vec::new();
        for _ in 0..15 {
            silent.push(TcpStream::connect(&sent.host).await.unwrap());
        }
        let answer = visit(&format!("http://{}{}", sent.host, sent.good())).await;
        (silent, answer)
    })
    .await;
    report.unwrap();
}

#[tokio::test]
async fn a_request_counts_once_it_is_whole() {
    let (report, answers) = log_in(async |sent| {
        let begun = async |parts: &[&str]| {
            let mut connection = TcpStream::connect(&sent.host).await.unwrap();
            for part in parts {
                connection.write_all(part.as_bytes()).await.unwrap();
                // What comes apart is read apart.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            connection
        };
        let good = sent.good();
        let mut ended = begun(&[&format!("GET {good} HTTP/1.1\r\n")]).await;
        ended.shutdown().await.unwrap();
        let ended = whole(ended).await;
        let posted = whole(begun(&[&format!("POST {good} HTTP/1.1\r\n\r\n")]).await).await;
        let apart = whole(begun(&["GET /", &good[1..], " HTTP/1.1\r\n", "\r\n"]).await).await;
        [ended, posted, apart]
    })
    .await;
    report.unwrap();
    assert_eq!(answers[..2], ["", ""]);
    assert!(answers[2].starts_with("HTTP/1.1 200 OK\r\n"), "{answers:?}");
}

#[tokio::test]
async fn the_head_of_a_request_has_a_bound() {
    let (report, answers) = log_in(async |sent| {
        let of_length = async |length: usize, target: &str| {
            let (begin, end) = (format!("GET {target} HTTP/1.1\r\nX: "), "\r\n\r\n");
            let head = format!("{begin}{}{end}", "x".repeat(length - begin.len() - end.len()));
            let mut connection = TcpStream::connect(&sent.host).await.unwrap();
            connection.write_all(head.as_bytes()).await.unwrap();
            whole(connection).await
        };
        [of_length(16 * 1024 + 1, &sent.good()).await, of_length(16 * 1024, &sent.good()).await]
    })
    .await;
    report.unwrap();
    assert_eq!(answers[0], "");
    assert!(answers[1].starts_with("HTTP/1.1 200 OK\r\n"), "{answers:?}");
}
