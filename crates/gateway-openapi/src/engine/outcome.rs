use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;

use super::ClientError;

/// What the API answered (E-22).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: StatusCode,
    /// `Content-Type` as it was sent, unless the body is encoded (`Content-Encoding`): it is not decoded.
    pub content_type: Option<String>,
    /// The body, or as much of it as may be read.
    pub body: Bytes,
    /// How long the whole body is, if it was read whole or says so.
    pub total: Option<u64>,
    /// How long the API wants to be left alone (`Retry-After`, E-W19).
    pub retry_after: Option<Duration>,
}

impl Response {
    /// Whether all of the body is there.
    pub fn is_whole(&self) -> bool {
        self.total == Some(self.body.len() as u64)
    }
}

/// Why a call has no answer (E-23). Texts are for a model: they name no hosts and no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The arguments do not fit the tool. Nothing was sent.
    #[error("invalid arguments: {reason}")]
    Arguments {
        /// What is wrong with which of them.
        reason: String,
    },
    /// The body cannot be written. Nothing was sent.
    #[error("the body cannot be encoded: {reason}")]
    Encoding {
        /// Why.
        reason: String,
    },
    /// The request would not go where the operation says (security.md T16). Nothing was sent.
    #[error("the request cannot be built: {reason}")]
    Request {
        /// Why.
        reason: String,
    },
    /// There are no credentials to send. Nothing was sent.
    #[error("no credentials could be obtained: {reason}")]
    Credentials {
        /// Why.
        reason: String,
    },
    /// The tool is called too often (E-27), or the API wants to be left alone. Nothing was sent.
    #[error("rate limited; try again in {} s", retry_after.as_secs_f64().ceil())]
    RateLimited {
        /// When it is worth to try again.
        retry_after: Duration,
    },
    /// The tool is in use too often at once (E-W19). Nothing was sent.
    #[error("too many calls of this tool at once; the limit is {limit}")]
    Busy {
        /// The limit in force.
        limit: usize,
    },
    /// No answer came (E-29).
    #[error("upstream call failed: {0}")]
    Upstream(ClientError),
    /// No answer came in time; the API may have done what it was asked.
    #[error("upstream call failed: no answer within {after:?}")]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// Whoever made the call does not want the answer any more; the API may have done what it was asked. Only in
    /// [`super::AuditEvent`]s.
    #[error("the call was given up")]
    Cancelled,
    /// The answer broke off (E-23).
    #[error("upstream call failed: the answer broke off: {0}")]
    Body(ClientError),
}
