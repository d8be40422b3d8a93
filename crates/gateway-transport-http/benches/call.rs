//! What a call costs over a bare hyper client that sends the same bytes and reads the answer.
//! `cargo bench -p gateway-transport-http`

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has to stop")]

use std::sync::Arc;

use bytes::Bytes;
use divan::Bencher;
use gateway_domain::{
    Caller, ClientCapabilities, DownstreamName, DownstreamObserver, DownstreamSession, Era, Exchange,
    ListKind, Params, RawObject, SessionKey, SessionProfile,
};
use gateway_protocol::Implementation;
use gateway_transport_http::{HttpConfig, HttpFactory};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

const SIZES: [usize; 2] = [100, 65_536];

fn main() {
    divan::main();
}

struct Nobody;

impl DownstreamObserver for Nobody {
    fn list_changed(&self, _: ListKind) {}
    fn session_lost(&self, _: &str) {}
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A server on a thread of its own that answers everything at once.
fn server(size: usize) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, size));
            }
        });
    });
    url
}

async fn serve(mut stream: TcpStream, size: usize) {
    stream.set_nodelay(true).unwrap();
    let padding = "x".repeat(size);
    let mut buffer = vec![0; 256 << 10];
    let mut filled = 0;
    while let Ok(count @ 1..) = stream.read(&mut buffer[filled..]).await {
        filled += count;
        let text = std::str::from_utf8(&buffer[..filled]).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if body.len() < length.map_or(0, |length| length.parse().unwrap()) {
            continue;
        }
        let id = body.split(r#""id":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
        let result = if body.contains("server/discover") {
            r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#.to_owned()
        } else {
            format!(r#"{{"content":[{{"type":"text","text":"{padding}"}}]}}"#)
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
        filled = 0;
    }
}

fn arguments(size: usize) -> String {
    format!(r#"{{"name":"d__echo","arguments":{{"text":"{}"}}}}"#, "x".repeat(size))
}

#[divan::bench(args = SIZES)]
fn bare(bencher: Bencher<'_, '_>, size: usize) {
    let (runtime, url) = (runtime(), server(size));
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let params = arguments(size);
    let body = Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
    bencher.bench_local(|| {
        runtime.block_on(async {
            let request = http::Request::post(&url)
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "2026-07-28")
                .body(Full::new(body.clone()))
                .unwrap();
            client.request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes()
        })
    });
}

#[divan::bench(args = SIZES)]
fn call(bencher: Bencher<'_, '_>, size: usize) {
    let (runtime, url) = (runtime(), server(size));
    let name = DownstreamName::parse("bench").unwrap();
    let factory = HttpFactory::new(
        name,
        HttpConfig::new(url, Implementation::new("bench", "Bench", "1")),
        Arc::new(Nobody),
    )
    .unwrap();
    let capabilities = ClientCapabilities::none();
    let profile =
        SessionProfile { era: Era::Modern, capabilities: capabilities.clone(), ..SessionProfile::default() };
    let session = runtime.block_on(factory.open(&profile)).unwrap();
    let params = Params { object: RawObject::parse(arguments(size)).unwrap(), meta: None };
    let key = SessionKey::Modern { caller: Caller::anonymous(), capabilities: capabilities.clone() };
    let exchange = Exchange::quiet(Era::Modern, key, capabilities);
    bencher.bench_local(|| runtime.block_on(session.call_tool("echo", &[], &params, &exchange)).unwrap());
}
