use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};

use crate::{EgressError, Named};

/// Makes one request and reads the whole answer. A port, so that whoever needs answers can be tested without a
/// network. Cancel-safe.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// The answer, whatever its status; a redirect is an answer.
    ///
    /// # Errors
    /// [`EgressError`].
    async fn fetch(
        &self,
        request: Request<Bytes>,
        named: Named,
        bounds: Bounds,
    ) -> Result<Answer, EgressError>;
}

/// How much an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of its body.
    pub bytes: usize,
    /// From the name's resolution to the last byte.
    pub time: Duration,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}
