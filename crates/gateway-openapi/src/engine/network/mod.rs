//! The API over TCP and TLS.

mod config;

use async_trait::async_trait;
use bytes::Bytes;

pub use config::{ClientConfig, ClientConfigError};

use super::{ClientError, HttpClient, ResponseBody};

/// HTTP/1.1 over connections that are kept for the next request. Cheap to clone; clones share the connections.
#[derive(Debug, Clone)]
pub struct NetworkClient {}

impl NetworkClient {
    /// Makes a client; connections are made when they are needed.
    ///
    /// # Errors
    /// The certificates to trust cannot be read.
    pub fn new(_config: ClientConfig) -> Result<Self, ClientConfigError> {
        Ok(Self {})
    }
}

#[async_trait]
impl HttpClient for NetworkClient {
    async fn send(
        &self,
        _request: http::Request<Bytes>,
    ) -> Result<http::Response<ResponseBody>, ClientError> {
        Err(ClientError { reason: "nothing is connected".into(), is_unsent: true })
    }
}
