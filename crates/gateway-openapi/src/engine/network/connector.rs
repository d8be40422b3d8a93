use std::{
    error::Error as StdError,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{
        HttpConnector,
        dns::{GaiAddrs, GaiResolver, Name},
    },
    rt::TokioIo,
};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use super::{ClientConfig, ClientConfigError, tls};

/// A quiet connection is asked for a sign of life this often, so that a dead peer is noticed.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

type Failed = Box<dyn StdError + Send + Sync>;
type Connecting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Makes connections within a time that counts name resolution, TCP and TLS. hyper's own limit ends with TCP.
#[derive(Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<HttpConnector<Resolver>>,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(config: &ClientConfig) -> Result<Self, ClientConfigError> {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEPALIVE));
        tcp.set_connect_timeout(Some(config.connect_timeout));
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls::client_config(config)?);
        let inner = builder.https_or_http().enable_http1().wrap_connector(tcp);
        Ok(Self { inner, limit: config.connect_timeout })
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Failed;
    type Future = Connecting<Self::Response, Failed>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, limit) = (self.inner.call(uri), self.limit);
        Box::pin(
            async move { timeout(limit, connecting).await.unwrap_or_else(|_| Err(Late { limit }.into())) },
        )
    }
}

/// No connection in time.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {limit:?}")]
pub(super) struct Late {
    limit: Duration,
}

/// The system's resolver, whose failures can be told from others.
#[derive(Clone)]
pub(super) struct Resolver(GaiResolver);

/// A name has no address, or nobody knows.
#[derive(Debug, thiserror::Error)]
#[error("the name cannot be resolved")]
pub(super) struct Unresolved;

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = Unresolved;
    type Future = Connecting<GaiAddrs, Unresolved>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        self.0.poll_ready(context).map_err(|_| Unresolved)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolving = self.0.call(name);
        Box::pin(async move { resolving.await.map_err(|_| Unresolved) })
    }
}
