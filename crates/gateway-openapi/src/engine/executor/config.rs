use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue};

use crate::engine::{BaseUrl, Credentials, HttpClient};

/// What all calls of one API have in common (E-15).
#[derive(Clone)]
pub struct ExecutorConfig {
    /// Where the API is.
    pub base: BaseUrl,
    /// What carries requests there.
    pub client: Arc<dyn HttpClient>,
    /// Sent with every request. No argument has their names (E-W11), and credentials go before them.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What its security schemes are fed from. Default none.
    pub credentials: Arc<Credentials>,
    /// What requests prove themselves with whatever the API's schemes are; its headers go before all others. A request
    /// that is refused with 401 or 403 is made once more if there are others then. Default none.
    pub outbound: Option<Arc<dyn gateway_egress::Credentials>>,
    /// How long a call may take, with its credentials and the whole answer. Default 30 s.
    pub timeout: Duration,
}

impl ExecutorConfig {
    /// Everything else as it is by default.
    pub fn new(base: BaseUrl, client: Arc<dyn HttpClient>) -> Self {
        Self {
            base,
            client,
            headers: Vec::new(),
            credentials: Arc::default(),
            outbound: None,
            timeout: Duration::from_secs(30),
        }
    }
}

/// Shows no values of headers: they may be secrets.
impl fmt::Debug for ExecutorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ExecutorConfig")
            .field("base", &self.base)
            .field("client", &self.client)
            .field("headers", &headers)
            .field("credentials", &self.credentials)
            .field("outbound", &self.outbound)
            .field("timeout", &self.timeout)
            .finish()
    }
}
