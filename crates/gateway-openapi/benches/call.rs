//! What a call costs over a bare hyper client that sends the same request and reads the answer, over one connection.
//! `in_process` is the same call without sockets: what the engine itself takes.
//! `cargo bench -p gateway-openapi --bench call`

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has to stop")]

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use divan::Bencher;
use gateway_domain::{RawJson, RawObject};
use gateway_openapi::{
    engine::{
        BaseUrl, BuildConfig, CallContext, ClientConfig, ClientError, Executor, ExecutorConfig, HttpClient,
        NetworkClient, ResponseBody, Tool, build,
    },
    ir::{Location, Method, Operation, Param},
};
use http::{Request, Response};
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

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn answer(size: usize) -> String {
    format!(r#"{{"id":7,"name":"{}"}}"#, "x".repeat(size))
}

/// A server on a thread of its own that answers everything at once.
fn server(size: usize) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer(size)));
            }
        });
    });
    url
}

async fn serve(mut stream: TcpStream, body: String) {
    stream.set_nodelay(true).unwrap();
    let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
    let (mut buffer, mut filled) = (vec![0; 64 << 10], 0);
    while let Ok(count @ 1..) = stream.read(&mut buffer[filled..]).await {
        filled += count;
        if buffer[..filled].ends_with(b"\r\n\r\n") {
            stream.write_all(answer.as_bytes()).await.unwrap();
            filled = 0;
        }
    }
}

/// `GET /pets/{id}?limit=`, with a description of what comes back if `is_described`.
fn tool(base: &str, client: Arc<dyn HttpClient>, is_described: bool) -> Tool {
    let schema = |text: &str| RawJson::parse(text.to_owned()).ok();
    let mut operation = Operation::new("read_pet", Method::Get, "/pets/{id}");
    for (name, location) in [("id", Location::Path), ("limit", Location::Query)] {
        operation
            .params
            .push(Param { schema: schema(r#"{"type":"integer"}"#), ..Param::new(name, location) });
    }
    if is_described {
        operation.output = schema(
            r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"name":{"type":"string"}}}"#,
        );
    }
    let executor = Executor::new(ExecutorConfig::new(BaseUrl::parse(base).unwrap(), client));
    build([operation], &BuildConfig::new(Arc::new(executor))).unwrap().remove(0)
}

fn measure(bencher: Bencher<'_, '_>, runtime: &Runtime, tool: &Tool) {
    let arguments = RawObject::parse(r#"{"id":7,"limit":10}"#).unwrap();
    let context = CallContext::default();
    let result = runtime.block_on(tool.call(&arguments, &context));
    assert!(!result.contains("isError"), "{result:?}");
    bencher.bench_local(|| runtime.block_on(tool.call(&arguments, &context)));
}

fn network() -> Arc<dyn HttpClient> {
    Arc::new(NetworkClient::new(ClientConfig::default()).unwrap())
}

#[divan::bench(args = SIZES)]
fn bare(bencher: Bencher<'_, '_>, size: usize) {
    let (runtime, url) = (runtime(), format!("{}/pets/7?limit=10", server(size)));
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    bencher.bench_local(|| {
        runtime.block_on(async {
            let request = Request::get(&url).header("accept", "*/*").body(Full::new(Bytes::new())).unwrap();
            client.request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes()
        })
    });
}

#[divan::bench(args = SIZES)]
fn call(bencher: Bencher<'_, '_>, size: usize) {
    measure(bencher, &runtime(), &tool(&server(size), network(), false));
}

#[divan::bench(args = SIZES)]
fn call_with_output_schema(bencher: Bencher<'_, '_>, size: usize) {
    measure(bencher, &runtime(), &tool(&server(size), network(), true));
}

#[derive(Debug)]
struct Handler(Bytes);

#[async_trait]
impl HttpClient for Handler {
    async fn send(&self, _: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        let body = Full::new(self.0.clone()).map_err(|never| match never {}).boxed_unsync();
        let response = Response::builder().header("content-type", "application/json");
        Ok(response.body(body).unwrap())
    }
}

#[divan::bench(args = SIZES)]
fn in_process(bencher: Bencher<'_, '_>, size: usize) {
    let handler = Arc::new(Handler(answer(size).into()));
    measure(bencher, &runtime(), &tool("http://in.process/v1", handler, false));
}
