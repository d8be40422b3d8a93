use std::{
    collections::HashMap,
    fmt,
    future::Future,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use gateway_domain::DoorRefusal;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    bound::{Bound, Socket},
    config::{BindError, Limits, ServerConfig},
    connection,
    edge::{Edge, FAREWELL, Phase, Ports},
    face::{Face, Serves},
    settings::Settings,
    tls::{Peer, Tls},
};

/// How long a listener rests when the operating system gives it no connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The HTTP face: an endpoint for MCP clients, bound and ready to run.
pub struct Server {
    edge: Arc<Edge>,
    main: Listener,
    admin: Option<Listener>,
    tls: Option<Arc<Tls>>,
}

struct Listener {
    socket: TcpListener,
    addr: SocketAddr,
    face: Arc<Face>,
    tls: Option<Arc<Tls>>,
}

impl Server {
    /// Puts ports behind addresses.
    pub fn new(bound: Bound, ports: Ports) -> Self {
        let Bound { rules, main, admin, tls } = bound;
        let edge = Edge::new(rules, ports);
        let serves = if admin.is_some() { Serves::Messages } else { Serves::Everything };
        let main = Listener::new(&edge, main, serves, tls.clone());
        let admin = admin.map(|socket| Listener::new(&edge, socket, Serves::Admin, None));
        Self { edge, main, admin, tls }
    }

    /// [`Bound::bind`] and [`Self::new`] in one. Connections wait until [`Self::run`].
    ///
    /// # Errors
    /// [`BindError`].
    pub async fn bind(config: ServerConfig, ports: Ports) -> Result<Self, BindError> {
        Ok(Self::new(Bound::bind(config).await?, ports))
    }

    /// Where MCP clients connect.
    pub fn local_addr(&self) -> SocketAddr {
        self.main.addr
    }

    /// Where `/healthz`, `/readyz` and `/metrics` are, if not there.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|listener| listener.addr)
    }

    /// What replaces the configuration while the server runs.
    pub fn settings(&self) -> Settings {
        Settings::of(self.edge.clone())
    }

    /// Serves until `shutdown` is ready, then stops accepting, ends streams with their results and lets
    /// requests in flight finish, at most for the drain time. Those that do not are answered that the
    /// gateway shuts down, and connections end within a second. Returns whether all finished.
    ///
    /// Dropping the future closes everything at once.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> bool {
        let Self { edge, main, admin, tls } = self;
        let follow = async {
            match tls {
                Some(tls) => tls.follow().await,
                None => std::future::pending().await,
            }
        };
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
            () = follow => None,
            () = shutdown => None,
        };
        edge.advance(Phase::Draining);
        let closed = match closed {
            Some(closed) => closed,
            None => accept.await,
        };
        let finished = closed && edge.load.count() == 0;
        edge.advance(Phase::Closed);
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
    fn new(edge: &Arc<Edge>, socket: Socket, serves: Serves, tls: Option<Arc<Tls>>) -> Self {
        let Socket { listener, addr } = socket;
        let face = Arc::new(Face { edge: edge.clone(), bound: addr, serves });
        Self { socket: listener, addr, face, tls }
    }

    /// Accepts until the gateway drains, then waits for what is open. Returns whether all of it ended.
    async fn run(self) -> bool {
        let Self { socket, face, tls, .. } = self;
        let edge = face.edge.clone();
        let peers = Arc::new(Peers::default());
        let mut connections = JoinSet::new();
        let mut draining = pin!(edge.reaches(Phase::Draining));
        loop {
            let accepted = tokio::select! {
                () = &mut draining => break,
                Some(_) = connections.join_next() => continue,
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let rules = edge.rules();
                    match peers.admit(peer.ip(), &rules.config.limits, &edge, connections.len()) {
                        Some(place) => {
                            let (face, tls) = (face.clone(), tls.clone());
                            connections.spawn(async move {
                                serve(face, tls, stream, peer.ip()).await;
                                drop(place);
                            });
                        }
                        None => turned_away(&edge, peer.ip(), "too_many_connections"),
                    }
                }
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
        let mut end = pin!(end);
        if timeout(edge.rules().config.limits.drain, &mut end).await.is_ok() {
            return true;
        }
        edge.advance(Phase::Ending);
        let _ = timeout(FAREWELL, end).await;
        false
    }
}

/// Serves one connection, behind a handshake where there has to be one.
async fn serve(face: Arc<Face>, tls: Option<Arc<Tls>>, stream: TcpStream, addr: IpAddr) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY is refused");
    }
    let Some(tls) = tls else {
        return connection::serve(face, stream, Peer { addr, certificate: None }).await;
    };
    let http2 = face.edge.rules().config.http2;
    let accepted = tokio::select! {
        accepted = tls.accept(stream, http2) => accepted,
        () = face.edge.reaches(Phase::Draining) => return,
    };
    match accepted {
        Ok((stream, certificate)) => connection::serve(face, stream, Peer { addr, certificate }).await,
        Err(error) => {
            tracing::debug!(%error, "a TLS handshake failed");
            turned_away(&face.edge, addr, "tls_handshake");
        }
    }
}

/// A connection that is closed before it has said anything.
fn turned_away(edge: &Edge, peer: IpAddr, reason: &'static str) {
    edge.metrics.refused(reason);
    let refusal = DoorRefusal { caller: None, peer: Some(peer), method: None, name: None, reason };
    edge.ports.audit.refused(&refusal);
}

/// Open connections by address.
#[derive(Debug, Default)]
struct Peers(Mutex<HashMap<IpAddr, usize>>);

impl Peers {
    fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        limits: &Limits,
        edge: &Arc<Edge>,
        open: usize,
    ) -> Option<Place> {
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
