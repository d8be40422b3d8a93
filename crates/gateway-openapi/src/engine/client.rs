use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

/// What carries requests to the API: by default HTTP over the network, or the handlers of a router in the same process
/// (requirements 4c).
///
/// A client sends a request at most once, follows no redirect, takes no proxy from the environment and decodes nothing.
#[async_trait]
pub trait HttpClient: Send + Sync + fmt::Debug {
    /// Sends one request and returns the head of what comes back. Cancel-safe: dropping the future, or the body, gives
    /// the request up. The caller bounds the time.
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<ResponseBody>, ClientError>;

    /// Whether the API can be reached, without asking it anything: a connection is made and closed.
    async fn reach(&self) -> Result<(), ClientError> {
        Ok(())
    }
}

/// The body of an answer, as it arrives.
pub type ResponseBody = UnsyncBoxBody<Bytes, ClientError>;

/// Why no answer came, or not all of it. Says nothing of hosts, addresses and URLs: it is shown to models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ClientError {
    /// In a few words: "connection refused".
    pub reason: String,
    /// Whether the request provably was not sent.
    pub is_unsent: bool,
}
