//! Servers that are not there: answers by URL, and what was asked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_auth::{Audiences, Check, IssuerConfig, JwtConfig, KeySource, Verifier, VerifierConfig};
use gateway_domain::{Caller, MetricsSource as _, TokenError, TokenVerifier as _, View};
use gateway_egress::{Answer, Bounds, EgressError, Fetch, Named};
use http::{HeaderMap, Request, StatusCode};

use crate::forge::clock;

pub(crate) const RESOURCE: &str = "https://gw/mcp";

#[derive(Clone)]
pub(crate) enum Reply {
    Answer { status: u16, headers: HeaderMap, body: String },
    Fail(EgressError),
    After(Duration, Box<Self>),
}

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self::status(200, body)
    }

    pub(crate) fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Answer { status, headers: HeaderMap::new(), body: body.into() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.insert(name, value.parse().unwrap());
        }
        self
    }

    pub(crate) fn after(self, seconds: u64) -> Self {
        Self::After(Duration::from_secs(seconds), Box::new(self))
    }
}

pub(crate) struct Asked {
    pub(crate) request: Request<Bytes>,
    pub(crate) named: Named,
    pub(crate) bounds: Bounds,
}

#[derive(Default)]
pub(crate) struct Servers {
    replies: Mutex<HashMap<String, Reply>>,
    asked: Mutex<Vec<Asked>>,
    /// On their way now, and at most so far.
    busy: Mutex<(usize, usize)>,
}

impl Servers {
    pub(crate) fn new(replies: impl IntoIterator<Item = (&'static str, Reply)>) -> Arc<Self> {
        let servers = Self::default();
        replies.into_iter().for_each(|(url, reply)| servers.set(url, reply));
        Arc::new(servers)
    }

    pub(crate) fn set(&self, url: &str, reply: Reply) {
        self.replies.lock().unwrap().insert(url.to_owned(), reply);
    }

    /// How often a URL was asked for.
    pub(crate) fn count(&self, url: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.request.uri() == url).count()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.busy.lock().unwrap().1
    }

    pub(crate) fn start(self: &Arc<Self>, config: VerifierConfig) -> Verifier {
        let fetch: Arc<dyn Fetch> = self.clone();
        Verifier::start(config, &fetch).unwrap()
    }
}

/// Takes one off when a request ends, be it cancelled.
struct Busy<'a>(&'a Servers);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.lock().unwrap().0 -= 1;
    }
}

#[async_trait]
impl Fetch for Servers {
    async fn fetch(
        &self,
        request: Request<Bytes>,
        named: Named,
        bounds: Bounds,
    ) -> Result<Answer, EgressError> {
        let url = request.uri().to_string();
        let _busy = {
            let mut busy = self.busy.lock().unwrap();
            busy.0 += 1;
            busy.1 = busy.1.max(busy.0);
            Busy(self)
        };
        self.asked.lock().unwrap().push(Asked { request, named, bounds });
        let mut reply =
            self.replies.lock().unwrap().get(&url).cloned().unwrap_or_else(|| Reply::status(404, ""));
        loop {
            match reply {
                Reply::After(time, next) => {
                    tokio::time::sleep(time).await;
                    reply = *next;
                }
                Reply::Fail(error) => return Err(error),
                Reply::Answer { body, .. } if body.len() > bounds.bytes => {
                    return Err(EgressError::TooLarge { limit: bounds.bytes });
                }
                Reply::Answer { status, headers, body } => {
                    let status = StatusCode::from_u16(status).unwrap();
                    return Ok(Answer { status, headers, body: body.into() });
                }
            }
        }
    }
}

/// An issuer whose keys are at a URL, for [`RESOURCE`].
pub(crate) fn at_url(issuer: &str, url: &str) -> IssuerConfig {
    by_keys(issuer, JwtConfig::new(KeySource::Url(url.into())))
}

pub(crate) fn by_keys(issuer: &str, keys: JwtConfig) -> IssuerConfig {
    IssuerConfig::new(issuer, Audiences::general([RESOURCE]), Check::Keys(keys))
}

/// These issuers, on the paused clock.
pub(crate) fn config(issuers: impl IntoIterator<Item = IssuerConfig>) -> VerifierConfig {
    VerifierConfig { issuers: issuers.into_iter().collect(), clock: clock().0, ..VerifierConfig::default() }
}

/// What becomes of a token at `/mcp`.
pub(crate) async fn verify(verifier: &Verifier, token: &str) -> Result<Caller, TokenError> {
    verifier.verify(token, &View::All).await
}

/// `ok`, the code of a refusal, or `unavailable`.
pub(crate) async fn code(verifier: &Verifier, token: &str) -> &'static str {
    match verify(verifier, token).await {
        Ok(_) => "ok",
        Err(TokenError::Invalid { reason }) => reason,
        Err(TokenError::Unavailable { .. }) => "unavailable",
    }
}

/// The page of metrics.
pub(crate) fn page(verifier: &Verifier) -> String {
    let mut page = String::new();
    verifier.write(&mut page);
    page
}

/// Waits for keys, a minute at most.
pub(crate) async fn ready(verifier: &Verifier) {
    tokio::time::timeout(Duration::from_secs(60), verifier.ready()).await.unwrap();
}
