//! Headers of the client that the operator passes on to a downstream.

use async_trait::async_trait;
use gateway_domain::Incoming;
use gateway_egress::{CredentialError, Credentials};
use http::{HeaderName, HeaderValue};

use crate::names::stays;

/// The most names that are passed on to one downstream.
const MOST_NAMES: usize = 32;

/// Passes on what the client says in some headers; what it does not say is not sent. For requests of the gateway's own
/// there is nothing. Depends on the caller, so that no session is shared.
#[derive(Debug, Clone)]
pub struct Forward {
    names: Vec<HeaderName>,
}

/// Why headers cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// It is no header.
    #[error("{name:?} is not a header name")]
    Invalid {
        /// What was configured.
        name: String,
    },
    /// It is one that no downstream is told (security.md §2.3).
    #[error("the header `{name}` is never passed on to a downstream")]
    Forbidden {
        /// The header.
        name: HeaderName,
    },
    /// There are more than 32.
    #[error("more than {MOST_NAMES} headers are to be passed on")]
    TooMany,
}

impl Forward {
    /// Passes on these. `own` are headers that clients prove themselves to the gateway with, besides `Authorization`.
    ///
    /// # Errors
    /// [`ForwardError`]: a header of the connection, of the protocol, of traces, of proxies, or one that is for the
    /// gateway: `Authorization`, cookies, those of `own`.
    pub fn new<'a>(
        names: impl IntoIterator<Item = &'a str>,
        own: &[HeaderName],
    ) -> Result<Self, ForwardError> {
        let mut kept: Vec<HeaderName> = Vec::new();
        for name in names {
            let invalid = |_| ForwardError::Invalid { name: name.to_owned() };
            let name: HeaderName = name.parse().map_err(invalid)?;
            if stays(&name) || own.contains(&name) {
                return Err(ForwardError::Forbidden { name });
            }
            if !kept.contains(&name) {
                kept.push(name);
            }
        }
        if kept.len() > MOST_NAMES {
            return Err(ForwardError::TooMany);
        }
        Ok(Self { names: kept })
    }

    /// The headers, for whoever keeps them of a client's request.
    pub fn names(&self) -> &[HeaderName] {
        &self.names
    }
}

#[async_trait]
impl Credentials for Forward {
    async fn headers(
        &self,
        incoming: Option<&Incoming>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        let mut headers = Vec::new();
        for (given, value) in incoming.iter().flat_map(|incoming| &incoming.headers) {
            let Some(name) = self.names.iter().find(|name| name.as_str().eq_ignore_ascii_case(given)) else {
                continue;
            };
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| {
                let reason = format!("the client's header `{name}` has characters that no header may have");
                CredentialError::Unavailable { reason }
            })?;
            value.set_sensitive(true);
            headers.push((name.clone(), value));
        }
        Ok(headers)
    }

    fn is_per_caller(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
