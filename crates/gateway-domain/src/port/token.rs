use async_trait::async_trait;

use crate::{Caller, View};

/// Tells whose a token is (security.md §5.1). Implemented by whoever knows the authorization servers.
#[async_trait]
pub trait TokenVerifier: Send + Sync {
    /// Checks everything about a token that came with a request for `view`: that it is good, now, and for this
    /// gateway. Cancel-safe; bounded in time.
    ///
    /// # Errors
    /// [`TokenError`]; there is no identity to fall back to.
    async fn verify(&self, token: &str, view: &View) -> Result<Caller, TokenError>;
}

/// Why a token names nobody. Clients are told no more than which variant it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is not good: 401.
    #[error("the token is not valid: {reason}")]
    Invalid {
        /// A code for the log and the records, without anything of the token.
        reason: &'static str,
    },
    /// It cannot be told at the moment: 503.
    #[error("tokens cannot be checked: {reason}")]
    Unavailable {
        /// Why, for the operator.
        reason: String,
    },
}
