//! One client over loopback, server and client on one thread: wall time is CPU time of both ends.
//! `cargo bench -p gateway-server`

#![expect(clippy::expect_used, reason = "a bench has no input but its own")]

use std::{hint::black_box, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{
    Call, Caller, Directory, Dispatcher, DownstreamStatus, Error, Exchange, Generations, InternalError,
    ListKind, Offer, OfferedTool, Outcome, Page, RawJson, RawObject, SessionKey, Sessions, Subscription,
    Subscriptions, Target, Updates, View,
};
use gateway_protocol::Implementation;
use gateway_server::{Ports, Server, ServerConfig};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::{Builder, Runtime},
};

fn main() {
    divan::main();
}

/// A `tools/call` whose answer is as large as its argument.
#[divan::bench(args = [100, 65_536])]
fn call(bencher: divan::Bencher<'_, '_>, size: usize) {
    let arguments = format!(r#""name":"a__b","arguments":{{"text":"{}"}},"#, "x".repeat(size));
    run(bencher, size, "tools/call", "Mcp-Name: a__b\r\n", &arguments);
}

/// A whole list of 200 KB.
#[divan::bench]
fn list(bencher: divan::Bencher<'_, '_>) {
    run(bencher, 200_000, "tools/list", "", "");
}

fn run(bencher: divan::Bencher<'_, '_>, size: usize, method: &str, headers: &str, params: &str) {
    let mut client = Client::start(size, method, headers, params);
    bencher.bench_local(|| black_box(client.ask()));
}

struct Client {
    runtime: Runtime,
    stream: TcpStream,
    request: String,
    answer: Vec<u8>,
    length: usize,
}

impl Client {
    fn start(size: usize, method: &str, headers: &str, params: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let world = Arc::new(World::new(size));
        let ports = Ports::new(world.clone(), world.clone(), world.clone(), world);
        let config = ServerConfig::new(Implementation::new("gateway", "Gateway", "1"));
        let server = runtime.block_on(Server::bind(config, ports)).expect("a free port");
        let addr = server.local_addr();
        runtime.spawn(server.run(std::future::pending()));
        let stream = runtime.block_on(TcpStream::connect(addr)).expect("a connection");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {addr}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut client = Self { runtime, stream, request, answer: vec![0; 1 << 20], length: 0 };
        client.length = client.first();
        client
    }

    /// The length of an answer, which is the same for all.
    fn first(&mut self) -> usize {
        self.runtime.block_on(async {
            self.stream.write_all(self.request.as_bytes()).await.expect("sent");
            let mut filled = 0;
            loop {
                filled += self.stream.read(&mut self.answer[filled..]).await.expect("an answer");
                let text = String::from_utf8_lossy(&self.answer[..filled]);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                assert!(head.starts_with("HTTP/1.1 200 "), "{text}");
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if length.and_then(|length| length.parse().ok()) == Some(body.len()) {
                    return filled;
                }
            }
        })
    }

    fn ask(&mut self) -> u8 {
        self.runtime.block_on(async {
            self.stream.write_all(self.request.as_bytes()).await.expect("sent");
            self.stream.read_exact(&mut self.answer[..self.length]).await.expect("an answer");
        });
        self.answer[0]
    }
}

struct World {
    page: RawJson,
    result: RawObject,
}

impl World {
    fn new(size: usize) -> Self {
        let text = "x".repeat(size);
        let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
        Self {
            page: RawJson::parse(format!(r#"[{{"name":"{text}"}}]"#)).expect("JSON"),
            result: RawObject::parse(result).expect("an object"),
        }
    }
}

#[async_trait]
impl Directory for World {
    async fn list(
        &self,
        _: ListKind,
        _: &View,
        _: &Caller,
        _: &Exchange,
        _: Option<&str>,
    ) -> Result<Page, Error> {
        Ok(Page::new(self.page.clone(), None))
    }

    async fn offer(&self, _: &View) -> Offer {
        Offer::default()
    }

    fn generations(&self, _: &View) -> Generations {
        Generations::default()
    }

    fn tool(&self, _: &View, _: &Caller, _: &SessionKey, _: &str) -> Option<Arc<OfferedTool>> {
        None
    }

    fn has_view(&self, _: &View) -> bool {
        true
    }

    fn generation(&self, _: &View) -> u64 {
        1
    }

    async fn changed(&self, _: &View, _: u64) -> u64 {
        std::future::pending().await
    }

    fn downstreams(&self) -> Vec<DownstreamStatus> {
        Vec::new()
    }
}

#[async_trait]
impl Dispatcher for World {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        Ok(Outcome::Complete(self.result.clone()))
    }
}

#[async_trait]
impl Sessions for World {
    async fn end(&self, _: &SessionKey) {}
}

#[async_trait]
impl Subscriptions for World {
    async fn subscribe(
        &self,
        _: Target,
        _: &Caller,
        _: &Exchange,
        _: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        Err(InternalError { what: "nothing is watched here" }.into())
    }
}
