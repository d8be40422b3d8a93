use std::fmt;

use async_trait::async_trait;
use gateway_domain::Incoming;
use http::{HeaderName, HeaderValue, StatusCode};

/// What requests to one server prove themselves with (security.md §5.2). Implementations keep tokens, renew them one
/// flight at a time, and send them nowhere but to where they are for.
#[async_trait]
pub trait Credentials: Send + Sync + fmt::Debug {
    /// The headers of one request, each marked as sensitive. `incoming` is what came with the client's request that it
    /// is made for; `None`: it is the gateway's own. Cancel-safe.
    ///
    /// # Errors
    /// [`CredentialError`]: the request must not be made.
    async fn headers(
        &self,
        incoming: Option<&Incoming>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError>;

    /// The server has refused a request that carried these headers, and nothing of it has run. Cancel-safe.
    ///
    /// # Errors
    /// [`CredentialError`]: nothing can be done about it.
    async fn refused(
        &self,
        incoming: Option<&Incoming>,
        challenge: &Challenge<'_>,
    ) -> Result<Reaction, CredentialError> {
        let _ = (incoming, challenge);
        Ok(Reaction::GiveUp)
    }

    /// Whether two callers may send different headers: then no session is shared between them.
    fn is_per_caller(&self) -> bool {
        false
    }
}

/// How a server refused a request.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// 401 or 403.
    pub status: StatusCode,
    /// The values of `WWW-Authenticate`, as they came.
    pub authenticate: &'a [HeaderValue],
    /// What was sent, as [`Credentials::headers`] gave it.
    pub sent: &'a [(HeaderName, HeaderValue)],
}

/// What is to be done about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// There are other credentials now: make the request once more.
    Retry,
    /// The refusal is the answer.
    GiveUp,
}

/// There is nothing to send.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// None can be had; the sentence is for the operator and says what to do.
    #[error("{reason}")]
    Unavailable {
        /// Why.
        reason: String,
    },
    /// Whoever calls has not come with what it takes.
    #[error("the call needs {what}")]
    OfCaller {
        /// That, in words for whoever calls, such as "an access token of yours".
        what: &'static str,
    },
    /// The person behind the client has to visit a page first (protocol.md §18.3 no. 11).
    #[error("the user has to authorize the gateway first")]
    Visit {
        /// The page, which is ours.
        url: String,
        /// Names the visit, for the notice that it is over.
        id: String,
        /// What the user is told.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nothing;

    #[async_trait]
    impl Credentials for Nothing {
        async fn headers(
            &self,
            _: Option<&Incoming>,
        ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
            Ok(Vec::new())
        }
    }

    #[tokio::test]
    async fn credentials_are_shared_and_a_refusal_stands_unless_they_say_otherwise() {
        assert!(!Nothing.is_per_caller());
        let challenge = Challenge { status: StatusCode::UNAUTHORIZED, authenticate: &[], sent: &[] };
        assert_eq!(Nothing.refused(None, &challenge).await.unwrap(), Reaction::GiveUp);
    }
}
