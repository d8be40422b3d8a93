use std::{
    error::Error as StdError,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use crate::{
    Authorities, EgressError, Named, Trust,
    dialler::Dialler,
    resolver::{Resolver, System},
    tls::Roots,
};

pub(crate) type Failed = Box<dyn StdError + Send + Sync>;
pub(crate) type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, Failed>> + Send>>;

/// Which schemes a connector serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schemes {
    /// `http` only; no certificates are read.
    Http,
    /// `https` only; without any trusted certificate there is no connector.
    Https,
    /// Both.
    Any,
}

/// How connections are made.
#[derive(Debug, Clone)]
pub struct ConnectorConfig {
    /// Whom to trust.
    pub trust: Trust,
    /// The most that resolving a name, TCP and TLS may take together. Default 10 s.
    pub connect_timeout: Duration,
    /// What is connected to. Default: any.
    pub schemes: Schemes,
    /// By whom the addresses are named. Default: the operator.
    pub named: Named,
    /// What the operator names besides; only [`Named::ByDocument`] asks. Default: nothing.
    pub authorities: Authorities,
}

impl Default for ConnectorConfig {
    fn default() -> Self {
        Self {
            trust: Trust::default(),
            connect_timeout: Duration::from_secs(10),
            schemes: Schemes::Any,
            named: Named::ByOperator,
            authorities: Authorities::default(),
        }
    }
}

/// Makes connections to addresses that may be reached (security.md §5.3), within a time that counts name resolution,
/// TCP and TLS. Cheap to clone. Failures that are its own are [`ConnectError`]s; others are those of TCP and TLS.
#[derive(Clone)]
pub struct Connector {
    inner: HttpsConnector<Dialler>,
    dialler: Dialler,
    limit: Duration,
}

impl Connector {
    /// A connector with the system's resolver. Reads the certificates to trust, blocking.
    ///
    /// # Errors
    /// A sentence for the operator about certificates.
    pub fn new(config: &ConnectorConfig) -> Result<Self, String> {
        Self::with_resolver(config, Arc::new(System))
    }

    /// The same with another resolver.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_resolver(config: &ConnectorConfig, resolver: Arc<dyn Resolver>) -> Result<Self, String> {
        let roots = match config.schemes {
            Schemes::Http => Roots::None,
            Schemes::Https => Roots::Needed,
            Schemes::Any => Roots::Found,
        };
        let tls = config.trust.client_config(roots)?;
        Ok(Self::assemble(config, resolver, tls))
    }

    pub(crate) fn assemble(
        config: &ConnectorConfig,
        resolver: Arc<dyn Resolver>,
        tls: rustls::ClientConfig,
    ) -> Self {
        let limit = config.connect_timeout;
        let dialler = Dialler::new(config.named, config.authorities.clone(), resolver, limit);
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls);
        let builder = match config.schemes {
            Schemes::Https => builder.https_only(),
            Schemes::Http | Schemes::Any => builder.https_or_http(),
        };
        Self { inner: builder.enable_http1().wrap_connector(dialler.clone()), dialler, limit }
    }

    /// Whether a request there is refused whatever its host resolves to.
    ///
    /// # Errors
    /// [`EgressError::Refused`].
    pub fn check(&self, uri: &Uri) -> Result<(), EgressError> {
        self.dialler.check(uri)
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Failed;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, limit) = (self.inner.call(uri), self.limit);
        Box::pin(async move {
            timeout(limit, connecting).await.unwrap_or_else(|_| Err(ConnectError::Late { limit }.into()))
        })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Why a [`Connector`] made no connection, where it is not TCP or TLS that failed. Names no host and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// No connection in time.
    #[error("no connection within {limit:?}")]
    Late {
        /// The time.
        limit: Duration,
    },
    /// The name has no address, or nobody knows.
    #[error("the name cannot be resolved")]
    Unresolved,
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] EgressError),
}
