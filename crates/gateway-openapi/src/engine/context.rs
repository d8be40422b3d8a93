use std::sync::Arc;

use gateway_domain::Incoming;
use http::{HeaderName, HeaderValue};

/// What belongs to one call and is no argument (E-24).
#[derive(Clone, Default)]
pub struct CallContext {
    headers: Vec<(HeaderName, HeaderValue)>,
    incoming: Option<Arc<Incoming>>,
}

impl CallContext {
    /// A call with headers of its own, which go before static ones and before what arguments say (E-21, E-50):
    /// whoever hands them in has chosen which headers of a client go on.
    pub fn with_headers(headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        Self { headers: headers.into_iter().collect(), incoming: None }
    }

    /// The same call, made for a client's request with which this came:
    /// [`ExecutorConfig::outbound`](super::ExecutorConfig::outbound) may need it.
    #[must_use]
    pub fn with_incoming(mut self, incoming: Option<Arc<Incoming>>) -> Self {
        self.incoming = incoming;
        self
    }

    pub(crate) fn incoming(&self) -> Option<&Incoming> {
        self.incoming.as_deref()
    }

    /// The headers of this call.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }
}

/// Shows no values: they may be secrets.
impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.headers.iter().map(|(name, _)| name)).finish()
    }
}
