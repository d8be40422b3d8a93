use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::{
    config::{BindError, ServerConfig},
    guard::Guard,
};

/// The addresses of an HTTP face, taken before there is anything to serve: a port that is not to be had is
/// found out before downstreams are started. Connections wait until the server that is made of it runs.
#[derive(Debug)]
pub struct Bound {
    pub(crate) config: ServerConfig,
    pub(crate) main: Socket,
    pub(crate) admin: Option<Socket>,
}

/// One address, and who may call there.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: TcpListener,
    pub(crate) addr: SocketAddr,
    pub(crate) guard: Guard,
}

impl Bound {
    /// Checks the configuration and takes its addresses.
    ///
    /// # Errors
    /// [`BindError`].
    pub async fn bind(config: ServerConfig) -> Result<Self, BindError> {
        config.check()?;
        let main = Socket::bind(config.listen, &config).await?;
        let admin = match config.admin_listen {
            Some(addr) => Some(Socket::bind(addr, &config).await?),
            None => None,
        };
        Ok(Self { config, main, admin })
    }

    /// Where MCP clients connect.
    pub fn local_addr(&self) -> SocketAddr {
        self.main.addr
    }

    /// Where `/healthz`, `/readyz` and `/metrics` are, if not there.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|socket| socket.addr)
    }
}

impl Socket {
    async fn bind(addr: SocketAddr, config: &ServerConfig) -> Result<Self, BindError> {
        let failed = |source| BindError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let guard = Guard::new(addr, &config.allowed_hosts, &config.allowed_origins)?;
        Ok(Self { listener, addr, guard })
    }
}
