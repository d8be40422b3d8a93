use std::{
    collections::HashMap,
    convert::Infallible,
    fmt,
    future::Future,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    body::Serving,
    config::{BindError, ServerConfig},
    edge::{Edge, Phase, Ports},
    face::{Activity, Face, Serves, Watched},
    guard::Guard,
    listen::drained,
};

/// How long a listener rests when the operating system gives it no connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What hyper allocates for on the stack.
const DEFAULT_FIELDS: usize = 100;

/// The HTTP face: an endpoint for MCP clients, bound and ready to run.
pub struct Server {
    edge: Arc<Edge>,
    main: Listener,
    admin: Option<Listener>,
}

struct Listener {
    socket: TcpListener,
    addr: SocketAddr,
    face: Arc<Face>,
}

impl Server {
    /// Takes the addresses. Connections wait until [`Self::run`].
    ///
    /// # Errors
    /// [`BindError`].
    pub async fn bind(config: ServerConfig, ports: Ports) -> Result<Self, BindError> {
        let addr = config.listen;
        if !addr.ip().is_loopback() && config.clients.is_empty() && !config.allow_unauthenticated {
            return Err(BindError::Unauthenticated { addr });
        }
        let admin = config.admin_listen;
        let edge = Edge::new(config, ports);
        let serves = if admin.is_some() { Serves::Messages } else { Serves::Everything };
        let main = Listener::bind(&edge, addr, serves).await?;
        let admin = match admin {
            Some(addr) => Some(Listener::bind(&edge, addr, Serves::Admin).await?),
            None => None,
        };
        Ok(Self { edge, main, admin })
    }

    /// Where MCP clients connect.
    pub fn local_addr(&self) -> SocketAddr {
        self.main.addr
    }

    /// Where `/healthz`, `/readyz` and `/metrics` are, if not there.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|listener| listener.addr)
    }

    /// Serves until `shutdown` is ready, then stops accepting, ends streams with their results and lets
    /// requests in flight finish, at most for the drain time. Returns whether all of them did.
    ///
    /// Dropping the future closes everything at once.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> bool {
        let Self { edge, main, admin } = self;
        let accept = async {
            let admin = async {
                match admin {
                    Some(listener) => listener.run().await,
                    None => true,
                }
            };
            let (main, admin) = tokio::join!(main.run(), admin);
            main && admin
        };
        let mut accept = pin!(accept);
        let closed = tokio::select! {
            closed = &mut accept => Some(closed),
            () = edge.expire_sessions() => None,
            () = shutdown => None,
        };
        edge.phase.send_replace(Phase::Draining);
        let closed = match closed {
            Some(closed) => closed,
            None => accept.await,
        };
        let finished = closed && edge.load.count() == 0;
        edge.phase.send_replace(Phase::Closed);
        for session in edge.sessions.take_all() {
            session.end();
        }
        finished
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addr", &self.main.addr).finish_non_exhaustive()
    }
}

impl Listener {
    async fn bind(edge: &Arc<Edge>, addr: SocketAddr, serves: Serves) -> Result<Self, BindError> {
        let failed = |source| BindError::Listen { addr, source };
        let socket = TcpListener::bind(addr).await.map_err(failed)?;
        let addr = socket.local_addr().map_err(failed)?;
        let config = &edge.config;
        let guard = Guard::new(addr, &config.allowed_hosts, &config.allowed_origins)?;
        Ok(Self { socket, addr, face: Arc::new(Face { edge: edge.clone(), guard, serves }) })
    }

    /// Accepts until the gateway drains, then waits for what is open. Returns whether all of it ended.
    async fn run(self) -> bool {
        let Self { socket, face, .. } = self;
        let edge = face.edge.clone();
        let peers = Arc::new(Peers::default());
        let mut connections = JoinSet::new();
        let mut draining = pin!(drained(&edge));
        loop {
            let accepted = tokio::select! {
                () = &mut draining => break,
                Some(_) = connections.join_next() => continue,
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => match peers.admit(peer.ip(), &edge, connections.len()) {
                    Some(place) => {
                        connections.spawn(serve(face.clone(), stream, place));
                    }
                    None => edge.metrics.refused("too_many_connections"),
                },
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(socket);
        let end = async {
            while connections.join_next().await.is_some() {}
            // Calls of legacy clients that have gone are not on any connection.
            while edge.load.count() > 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(edge.config.limits.drain, end).await.is_ok()
    }
}

/// Serves one connection until it ends. A panic ends this one only.
async fn serve(face: Arc<Face>, stream: TcpStream, place: Place) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY is refused");
    }
    let edge = face.edge.clone();
    let limits = &edge.config.limits;
    let activity = Arc::new(Activity::default());
    let stream = TokioIo::new(Watched::new(stream, activity.clone(), limits.clone()));
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_buf_size(limits.header_bytes.max(8192));
    if limits.header_fields != DEFAULT_FIELDS {
        builder.max_headers(limits.header_fields);
    }
    let service = service_fn(|request| {
        let (face, serving) = (face.clone(), Serving::new(activity.clone()));
        async move { Ok::<_, Infallible>(face.answer(request).await.map(|body| body.during(serving))) }
    });
    let mut connection = pin!(builder.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drained(&edge) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection failed");
    }
    drop(place);
}

/// Open connections by address.
#[derive(Debug, Default)]
struct Peers(Mutex<HashMap<IpAddr, usize>>);

impl Peers {
    fn admit(self: &Arc<Self>, peer: IpAddr, edge: &Arc<Edge>, open: usize) -> Option<Place> {
        let limits = &edge.config.limits;
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open >= limits.connections || peers.get(&peer).is_some_and(|n| *n >= limits.connections_per_peer) {
            return None;
        }
        *peers.entry(peer).or_default() += 1;
        edge.metrics.connections.inc();
        Some(Place { peers: self.clone(), peer, edge: edge.clone() })
    }
}

/// A connection's place among those of its peer, free again when dropped.
struct Place {
    peers: Arc<Peers>,
    peer: IpAddr,
    edge: Arc<Edge>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.edge.metrics.connections.dec();
        let mut peers = self.peers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = peers.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                peers.remove(&self.peer);
            }
        }
    }
}
