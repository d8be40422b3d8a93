use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use gateway_domain::RawObject;
use gateway_egress::{Bounds, Fetch, Named};
use http::{HeaderValue, Request, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::{sync::Semaphore, time::timeout};

use crate::{EndpointAuth, IntrospectionConfig};

/// How much an answer may be.
const ANSWER_LIMIT: usize = 64 * 1024;

/// What a form leaves as it is (RFC 6749 appendix B).
const FORM: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// The introspection endpoint of one issuer.
pub(crate) struct Endpoint {
    issuer: String,
    url: String,
    authorization: HeaderValue,
    fetch: Arc<dyn Fetch>,
    time: Duration,
    places: Semaphore,
    asked: AtomicU64,
    failed: AtomicU64,
    /// So that an outage is told once, and its end.
    is_failing: AtomicBool,
}

/// For the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointFigures {
    pub(crate) asked: u64,
    pub(crate) failed: u64,
}

impl Endpoint {
    /// `None`: no header can hold the credentials.
    pub(crate) fn new(issuer: &str, config: &IntrospectionConfig, fetch: Arc<dyn Fetch>) -> Option<Self> {
        Some(Self {
            issuer: issuer.to_owned(),
            url: config.endpoint.clone(),
            authorization: authorization(&config.auth)?,
            fetch,
            time: config.timeout,
            places: Semaphore::new(config.concurrency.min(Semaphore::MAX_PERMITS)),
            asked: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
        })
    }

    /// The members of the answer about a token; or why there is none, for the operator. Cancel-safe; bounded in time.
    pub(super) async fn ask(&self, token: &str) -> Result<RawObject, String> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = timeout(self.time, self.answer(token)).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {:?}", self.time)));
        let issuer = &self.issuer;
        match &answer {
            Ok(_) if self.is_failing.swap(false, Ordering::Relaxed) => {
                tracing::info!(%issuer, "introspection works again");
            }
            Ok(_) => {}
            Err(reason) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%issuer, %reason, "introspection fails: tokens cannot be checked");
                }
            }
        }
        answer.map_err(|reason| format!("introspection at {issuer} fails: {reason}"))
    }

    pub(super) fn figures(&self) -> EndpointFigures {
        EndpointFigures {
            asked: self.asked.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }

    async fn answer(&self, token: &str) -> Result<RawObject, String> {
        // Never closed, so there is always a place some time.
        let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
        let bounds = Bounds { bytes: ANSWER_LIMIT, time: self.time };
        let answer = self.fetch.fetch(self.request(token)?, Named::ByOperator, bounds).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status != StatusCode::OK {
            return Err(format!("status {}", answer.status.as_u16()));
        }
        RawObject::parse(answer.body).map_err(|_| "the answer is not a JSON object".into())
    }

    fn request(&self, token: &str) -> Result<Request<Bytes>, String> {
        let body = format!("token={}&token_type_hint=access_token", encoded(token));
        Request::post(&self.url)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::AUTHORIZATION, &self.authorization)
            .body(body.into())
            .map_err(|_| "the URL of the endpoint is none".into())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// `None`: no header can hold them.
pub(crate) fn authorization(auth: &EndpointAuth) -> Option<HeaderValue> {
    let value = match auth {
        EndpointAuth::Basic { id, secret } => {
            let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
            format!("Basic {}", STANDARD.encode(pair))
        }
        EndpointAuth::Bearer(token) => format!("Bearer {}", token.expose()),
    };
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, &FORM).to_string()
}
