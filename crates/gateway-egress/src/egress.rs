use std::{error::Error as StdError, fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, Version, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, Client},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::timeout;

use crate::{
    Answer, Authorities, Bounds, ConnectError, Connector, ConnectorConfig, EgressError, Fetch, Identity,
    Named, Resolver, Schemes, Trust, resolver::System,
};

/// How long a connection is kept without use: less than the 5 s after which widespread servers close one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// The most connections to one host that are kept without use.
const MAX_IDLE: usize = 8;

/// How requests are made.
#[derive(Debug, Clone)]
pub struct EgressConfig {
    /// A PEM file with certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The same, as bytes.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate to show to servers that ask for one. Only what the operator names sees it.
    pub identity: Option<Identity>,
    /// The most that resolving a name, TCP and TLS may take together. Default 10 s.
    pub connect_timeout: Duration,
    /// What the operator names somewhere in the configuration. Default: nothing.
    pub authorities: Authorities,
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self {
            ca_file: None,
            ca_pem: None,
            identity: None,
            connect_timeout: Duration::from_secs(10),
            authorities: Authorities::default(),
        }
    }
}

type Requests = Client<Connector, Full<Bytes>>;

/// Requests to servers of others: to addresses that may be reached, over connections that are kept for the next one
/// under the same rules and with the same TLS. Follows no redirect and knows no proxy. Cheap to clone; clones share the
/// connections. Needs a tokio runtime with time and I/O enabled.
#[derive(Clone)]
pub struct Egress {
    operators: Way,
    documents: Way,
}

/// The connections to what one side names; those of the other are never used here.
#[derive(Clone)]
struct Way {
    connector: Connector,
    requests: Requests,
}

impl Egress {
    /// Requests by the system's resolver. Reads the certificates to trust, blocking.
    ///
    /// # Errors
    /// A sentence for the operator about certificates.
    pub fn new(config: &EgressConfig) -> Result<Self, String> {
        Self::with_resolver(config, Arc::new(System))
    }

    /// The same with another resolver.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_resolver(config: &EgressConfig, resolver: Arc<dyn Resolver>) -> Result<Self, String> {
        let way = |named, identity| {
            let trust = Trust { ca_file: config.ca_file.clone(), ca_pem: config.ca_pem.clone(), identity };
            let config = ConnectorConfig {
                trust,
                connect_timeout: config.connect_timeout,
                schemes: Schemes::Any,
                named,
                authorities: config.authorities.clone(),
            };
            Connector::with_resolver(&config, Arc::clone(&resolver)).map(Way::new)
        };
        Ok(Self {
            operators: way(Named::ByOperator, config.identity.clone())?,
            documents: way(Named::ByDocument, None)?,
        })
    }
}

impl Way {
    fn new(connector: Connector) -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE);
        Self { requests: builder.build(connector.clone()), connector }
    }

    async fn fetch(&self, request: Request<Bytes>, limit: usize) -> Result<Answer, EgressError> {
        self.connector.check(request.uri())?;
        let mut request = request.map(Full::new);
        *request.version_mut() = Version::HTTP_11;
        // It says what was looked at.
        request.headers_mut().remove(header::HOST);
        let response = self.requests.request(request).await.map_err(|error| failure(&error))?;
        read(response, limit).await
    }
}

#[async_trait]
impl Fetch for Egress {
    async fn fetch(
        &self,
        request: Request<Bytes>,
        named: Named,
        bounds: Bounds,
    ) -> Result<Answer, EgressError> {
        let way = match named {
            Named::ByOperator => &self.operators,
            Named::ByDocument => &self.documents,
        };
        let late = || EgressError::TimedOut { after: bounds.time };
        timeout(bounds.time, way.fetch(request, bounds.bytes)).await.unwrap_or_else(|_| Err(late()))
    }
}

async fn read(response: Response<Incoming>, limit: usize) -> Result<Answer, EgressError> {
    let (head, body) = response.into_parts();
    let body =
        Limited::new(body, limit).collect().await.map_err(|error| match error.is::<LengthLimitError>() {
            true => EgressError::TooLarge { limit },
            false => EgressError::Unreachable,
        })?;
    Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() })
}

/// What is told of it; the rest is for who looks for it.
fn failure(error: &legacy::Error) -> EgressError {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    let mut reason = String::new();
    while let Some(error) = next {
        if let Some(ConnectError::Refused(refused)) = error.downcast_ref() {
            return refused.clone();
        }
        reason = error.to_string();
        next = error.source();
    }
    tracing::debug!(reason, "a request was not answered");
    EgressError::Unreachable
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").finish_non_exhaustive()
    }
}
