//! The fake Streamable HTTP MCP server, both eras, on a loopback port.
//!
//! It runs on a thread and runtime of its own, so a test may pause its clock or block. [`Faults`] are flipped
//! while it runs; [`HttpFake::requests`] shows what reached it.

mod answer;
mod body;
mod faults;
pub(crate) mod mirror;
mod service;

use std::{
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::{Arc, atomic::Ordering, mpsc as blocking},
    thread::JoinHandle,
    time::Duration,
};

use http::HeaderMap;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

pub use self::faults::{Faults, LineEnd, Shape};
use self::service::{Shared, serve};
use crate::{
    engine::{Engine, locked},
    profile::Profile,
    transcript::Line,
};

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `POST`, `GET`, `DELETE`.
    pub method: String,
    /// Path of the URL.
    pub path: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: String,
    /// The JSON-RPC method, if the body has one.
    pub rpc: Option<String>,
    /// Which connection it came on, counted from 1.
    pub connection: u64,
}

/// A running fake. Dropping it closes the port and every connection.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use gateway_testkit::{Profile, client::{HttpClient, Speaks}, http::HttpFake};
/// let fake = HttpFake::start(Profile::default());
/// let client = HttpClient::connect(&fake.url(), Speaks::modern()).await?;
/// fake.set(|faults| faults.status = Some(503));
/// assert_eq!(client.call("1", "echo", "{}").await?.status, 503);
/// fake.heal();
/// assert_eq!(client.call("2", "echo", "{}").await?.id().as_deref(), Some("2"));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct HttpFake {
    addr: SocketAddr,
    shared: Arc<Shared>,
    /// `None` once it is being dropped.
    control: Option<mpsc::Sender<Control>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Control {
    Close(blocking::Sender<()>),
    Open(StdListener),
    /// Drops the connections, not the port.
    Cut(blocking::Sender<()>),
}

impl HttpFake {
    /// Starts a fake without faults on a free loopback port.
    ///
    /// # Panics
    /// If the machine gives no port or no thread.
    pub fn start(profile: Profile) -> Self {
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .unwrap_or_else(|why| panic!("no loopback port: {why}"));
        let addr = listener.local_addr().unwrap_or_else(|why| panic!("no address: {why}"));
        let shared = Arc::new(Shared::new(Engine::new(profile)));
        let (control, commands) = mpsc::channel(ORDERS);
        let thread = std::thread::Builder::new().name("fake-http".into()).spawn({
            let shared = Arc::clone(&shared);
            move || run(listener, shared, commands)
        });
        let thread = thread.unwrap_or_else(|why| panic!("no thread: {why}"));
        Self { addr, shared, control: Some(control), thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT/mcp`; other paths are served the same.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.addr)
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Flips switches, from the next request on.
    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut locked(&self.shared.faults));
    }

    /// Takes all faults back.
    pub fn heal(&self) {
        self.set(|faults| *faults = Faults::default());
    }

    /// What arrived, oldest first; the last 100,000.
    pub fn requests(&self) -> Vec<Recorded> {
        locked(&self.shared.requests).iter().cloned().collect()
    }

    /// The requests of one JSON-RPC method.
    pub fn requests_of(&self, rpc: &str) -> Vec<Recorded> {
        self.requests().into_iter().filter(|r| r.rpc.as_deref() == Some(rpc)).collect()
    }

    /// How many requests arrived since the start.
    pub fn request_count(&self) -> u64 {
        self.shared.served.load(Ordering::Relaxed)
    }

    /// How many connections were accepted since the start.
    pub fn connection_count(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Ids of the living sessions.
    pub fn sessions(&self) -> Vec<String> {
        locked(&self.shared.sessions).keys().cloned().collect()
    }

    /// Every session is unknown from now on: 404.
    pub fn forget_sessions(&self) {
        locked(&self.shared.sessions).clear();
    }

    /// Raw ids of cancelled requests: named by `notifications/cancelled`, or modern and left by their client.
    /// A legacy call that was cancelled is answered all the same, as servers may.
    pub fn cancelled(&self) -> Vec<String> {
        self.shared.engine.cancelled()
    }

    /// What it took and asked, if its profile has it kept.
    pub fn transcript(&self) -> Vec<Line> {
        self.shared.engine.transcript.lines()
    }

    /// Lists this raw definition too, and tells every open stream.
    pub fn add_tool(&self, definition: &str) {
        self.shared.engine.add_tool(definition);
    }

    /// Lists exactly these raw definitions, and tells every open stream.
    pub fn set_tools(&self, definitions: &[String]) {
        self.shared.engine.set_tools(definitions);
    }

    /// Sends this raw message on every legacy GET stream; `false` if there is none.
    pub fn push(&self, message: &str) -> bool {
        self.shared.pushes.send(message.to_owned()).is_ok()
    }

    /// Refuses connections and drops those there are, until [`open`](Self::open). Sessions are kept.
    pub fn close(&self) {
        self.obey(Control::Close);
    }

    /// Drops all connections; new ones are accepted.
    pub fn cut(&self) {
        self.obey(Control::Cut);
    }

    /// Listens again, on the same port.
    ///
    /// # Panics
    /// If another process has taken the port meanwhile.
    pub fn open(&self) {
        let mut tries = 0;
        let listener = loop {
            match bind(self.addr) {
                Ok(listener) => break listener,
                Err(why) if tries == 50 => panic!("port {} is lost: {why}", self.addr.port()),
                Err(_) => std::thread::park_timeout(Duration::from_millis(20)),
            }
            tries += 1;
        };
        self.order(Control::Open(listener));
    }

    fn obey(&self, order: impl FnOnce(blocking::Sender<()>) -> Control) {
        let (done, wait) = blocking::channel();
        self.order(order(done));
        wait.recv().unwrap_or_else(|_| panic!("the fake's thread has ended"));
    }

    fn order(&self, order: Control) {
        let sent = self.control.as_ref().map(|control| control.try_send(order));
        assert!(matches!(sent, Some(Ok(()))), "the fake's thread does not listen");
    }
}

impl Drop for HttpFake {
    fn drop(&mut self) {
        // The thread ends when its last order is done and nobody can give more.
        self.control = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn bind(addr: SocketAddr) -> io::Result<StdListener> {
    let listener = StdListener::bind(addr)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn run(listener: StdListener, shared: Arc<Shared>, commands: mpsc::Receiver<Control>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|why| panic!("no runtime: {why}"));
    runtime.block_on(accept(listener, shared, commands));
    runtime.shutdown_background();
}

async fn accept(listener: StdListener, shared: Arc<Shared>, mut commands: mpsc::Receiver<Control>) {
    let mut listener = TcpListener::from_std(listener).ok();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                None => return,
                Some(Control::Open(new)) => listener = TcpListener::from_std(new).ok(),
                Some(Control::Cut(done)) => {
                    connections.shutdown().await;
                    done.send(()).ok();
                }
                Some(Control::Close(done)) => {
                    listener = None;
                    connections.shutdown().await;
                    done.send(()).ok();
                }
            },
            Some(Ok(stream)) = next(listener.as_ref()) => {
                let number = shared.connections.fetch_add(1, Ordering::Relaxed) + 1;
                connections.spawn(connection(Arc::clone(&shared), number, stream));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Waits for ever while there is no listener.
async fn next(listener: Option<&TcpListener>) -> Option<io::Result<TcpStream>> {
    match listener {
        Some(listener) => Some(listener.accept().await.map(|(stream, _)| stream)),
        None => std::future::pending().await,
    }
}

async fn connection(shared: Arc<Shared>, number: u64, stream: TcpStream) {
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| serve(Arc::clone(&shared), number, request));
    let mut server = http1::Builder::new();
    server.header_read_timeout(None).max_headers(1000);
    // How a connection ends is what tests are about; it is no error of ours.
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}

/// Orders that may wait for the fake's thread.
const ORDERS: usize = 16;
