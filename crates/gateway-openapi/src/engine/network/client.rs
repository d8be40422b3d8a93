use std::{fmt, future::poll_fn};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_egress::{Connector, ConnectorConfig, Trust};
use http::{HeaderMap, Request, Response, Uri, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use tower_service::Service;

use super::{ClientConfig, ClientConfigError, failure};
use crate::engine::{ClientError, HttpClient, ResponseBody};

/// The number of fields that hyper allows without being told.
const USUAL_HEADER_FIELDS: usize = 100;
/// The smallest read buffer that hyper takes.
const MIN_BUFFER: usize = 8192;

/// HTTP/1.1 over connections that are kept for the next request. Cheap to clone; clones share the connections.
///
/// Needs a tokio runtime with time and I/O enabled. A request that is handed back unwritten, because the server had
/// closed the kept connection meanwhile, goes out on another one; no other is sent again.
#[derive(Clone)]
pub struct NetworkClient {
    client: Client<Connector, Full<Bytes>>,
    connector: Connector,
    address: Option<Uri>,
    max_header_bytes: usize,
}

impl NetworkClient {
    /// Makes a client; connections are made when they are needed. Reads the certificates to trust, blocking.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn new(config: ClientConfig) -> Result<Self, ClientConfigError> {
        let connector = Connector::new(&ConnectorConfig {
            trust: Trust { ca_file: config.ca_file, ca_pem: config.ca_pem, identity: config.identity },
            connect_timeout: config.connect_timeout,
            ..ConnectorConfig::default()
        })
        .map_err(|reason| ClientConfigError { reason })?;
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(config.idle_timeout)
            .pool_max_idle_per_host(config.max_idle)
            .http1_max_buf_size(config.max_header_bytes.max(MIN_BUFFER));
        if config.max_header_fields != USUAL_HEADER_FIELDS {
            // Any other number costs an allocation per answer.
            builder.http1_max_headers(config.max_header_fields);
        }
        Ok(Self {
            client: builder.build(connector.clone()),
            connector,
            address: config.address,
            max_header_bytes: config.max_header_bytes,
        })
    }
}

#[async_trait]
impl HttpClient for NetworkClient {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        let mut request = request.map(Full::new);
        *request.version_mut() = Version::HTTP_11;
        let response = self.client.request(request).await.map_err(|error| failure::before(&error))?;
        // The buffer that hyper parses in is limited too, but to about twice that.
        if size(response.headers()) > self.max_header_bytes {
            return Err(failure::large_head());
        }
        Ok(response.map(|body| body.map_err(|error| failure::during(&error)).boxed_unsync()))
    }

    async fn reach(&self) -> Result<(), ClientError> {
        let Some(address) = &self.address else { return Ok(()) };
        let mut connector = self.connector.clone();
        let ready = poll_fn(|context| connector.poll_ready(context)).await;
        let connected = match ready {
            Ok(()) => connector.call(address.clone()).await.map(drop),
            Err(error) => Err(error),
        };
        connected.map_err(|error| failure::connecting(error.as_ref()))
    }
}

impl fmt::Debug for NetworkClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkClient").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What fields take on the wire: name, colon, space, value, line break.
fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}
