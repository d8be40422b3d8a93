use std::{
    error::Error as StdError,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use crate::{HttpConfig, tls};

/// A quiet connection is asked for a sign of life this often, so that a dead peer is noticed.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

type Failed = Box<dyn StdError + Send + Sync>;

/// Makes connections within a time that counts name resolution, TCP and TLS. hyper's own limit ends with TCP.
#[derive(Clone)]
pub(crate) struct Connector {
    inner: HttpsConnector<HttpConnector>,
    limit: Duration,
}

impl Connector {
    /// For an `https` endpoint if `secure`.
    ///
    /// # Errors
    /// A sentence for the operator about certificates.
    pub(crate) fn new(config: &HttpConfig, secure: bool) -> Result<Self, String> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEPALIVE));
        tcp.set_connect_timeout(Some(config.connect_timeout));
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls::client_config(config, secure)?);
        let schemes = if secure { builder.https_only() } else { builder.https_or_http() };
        Ok(Self { inner: schemes.enable_http1().wrap_connector(tcp), limit: config.connect_timeout })
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Failed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failed>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, limit) = (self.inner.call(uri), self.limit);
        Box::pin(async move {
            match timeout(limit, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(format!("no connection within {limit:?}").into()),
            }
        })
    }
}
