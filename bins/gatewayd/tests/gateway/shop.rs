//! An HTTP API with a description, in this process.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

/// What the API says of itself.
pub(crate) const DESCRIPTION: &str = r#"
openapi: 3.0.3
info: {title: Shop, version: "2.0"}
security: [{key: []}]
paths:
  /pets:
    get:
      operationId: listPets
      tags: [pets]
      parameters: [{name: limit, in: query, schema: {type: integer}}]
      responses: {"200": {description: ok}}
    post:
      operationId: addPet
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {"201": {description: ok}}
  /pets/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {operationId: getPet, summary: One pet, responses: {"200": {description: ok}}}
    delete: {operationId: deletePet, responses: {"204": {description: gone}}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
"#;

/// The API, until it is dropped. It answers every request with the same pet and keeps what it was sent.
pub(crate) struct Shop {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    is_closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Shop {
    pub(crate) fn open() -> Self {
        Self::open_at("127.0.0.1:0".parse().unwrap())
    }

    pub(crate) fn open_at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, is_closed) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicBool>::default());
        let (kept, ends) = (requests.clone(), is_closed.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                if let Some(request) = stream.ok().and_then(serve) {
                    kept.lock().unwrap().push(request);
                }
            }
        });
        Self { address, requests, is_closed, thread: Some(thread) }
    }

    /// Lines of a configuration that has this API as `shop`, described by `shop.yaml`.
    pub(crate) fn config(&self, more: &str) -> String {
        config(self.address, more)
    }

    /// What it was sent, heads and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

pub(crate) fn config(address: SocketAddr, more: &str) -> String {
    format!("[downstreams.shop]\nopenapi = \"shop.yaml\"\nbase_url = \"http://{address}/v2\"\n{more}\n")
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // Whatever it waits for, it sees that it is closed.
        drop(TcpStream::connect(self.address));
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Answers one request; `None` for a connection that is only made.
fn serve(stream: TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let answer = r#"{"id":7,"name":"Rex","weight":1.0,"chip":9007199254740993}"#;
    let fields =
        format!("content-type: application/json\r\ncontent-length: {}\r\nconnection: close", answer.len());
    (&stream).write_all(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{answer}").as_bytes()).ok()?;
    Some(head + &String::from_utf8_lossy(&body))
}
