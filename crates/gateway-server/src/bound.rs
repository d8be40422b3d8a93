use std::{net::SocketAddr, sync::Arc};

use tokio::net::TcpListener;

use crate::{
    config::{BindError, ServerConfig},
    rules::Rules,
    tls::Tls,
};

/// The addresses of an HTTP face, taken before there is anything to serve: a port that is not to be had is
/// found out before downstreams are started. Connections wait until the server that is made of it runs.
#[derive(Debug)]
pub struct Bound {
    pub(crate) rules: Rules,
    pub(crate) main: Socket,
    pub(crate) admin: Option<Socket>,
    pub(crate) tls: Option<Arc<Tls>>,
}

/// One address.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: TcpListener,
    pub(crate) addr: SocketAddr,
}

impl Bound {
    /// Checks the configuration, reads certificates and takes its addresses.
    ///
    /// # Errors
    /// [`BindError`].
    pub async fn bind(config: ServerConfig) -> Result<Self, BindError> {
        let (listen, admin) = (config.listen, config.admin_listen);
        let rules = Rules::new(config)?;
        let tls = rules.config.tls.as_ref().map(Tls::new).transpose();
        let tls = tls.map_err(|reason| BindError::Tls { reason })?.map(Arc::new);
        let main = Socket::bind(listen).await?;
        let admin = match admin {
            Some(addr) => Some(Socket::bind(addr).await?),
            None => None,
        };
        Ok(Self { rules, main, admin, tls })
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
    async fn bind(addr: SocketAddr) -> Result<Self, BindError> {
        let failed = |source| BindError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, addr })
    }
}
