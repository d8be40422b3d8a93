//! One call of the API: credentials, request, answer.

mod config;
mod outbound;
mod reading;
mod retry_after;

use std::time::{Duration, SystemTime};

use gateway_domain::RawObject;
use http::{HeaderMap, HeaderName, StatusCode, header};
use hyper::body::Body;
use tokio::time::{Instant, timeout_at};

pub use self::config::ExecutorConfig;
pub(crate) use self::reading::MAX_BODY_BYTES;
use self::reading::{Broken, Wanted};
use super::{
    CallContext, CallError, ClientError, Extras, Inputs, MAX_SCHEMA_BYTES, Reserved, Response, ResponseBody,
    request, response::MediaType,
};
use crate::ir::{Location, Operation};

/// As good as never, and still a time that can be computed with.
const AGES: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// Makes a request of an operation and arguments, and sends it once. The only part that talks to the API (E-16).
#[derive(Debug)]
pub struct Executor {
    config: ExecutorConfig,
}

/// What a caller allows a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) timeout: Duration,
    /// The most bytes of the answer's body to keep; at most [`MAX_BODY_BYTES`] are.
    pub(crate) keep: usize,
}

/// A call without an answer, or with no more than the head of one.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) status: Option<StatusCode>,
    pub(crate) error: CallError,
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Self { status: None, error }
    }
}

impl Executor {
    /// An executor for one API.
    pub fn new(config: ExecutorConfig) -> Self {
        Self { config }
    }

    /// Names that no argument may have: those of the static headers and the cookies in them, and those of the API's
    /// credentials (E-W11).
    pub fn reserved(&self) -> Reserved {
        let mut reserved = self.config.credentials.reserved().clone();
        for (name, line) in &self.config.headers {
            reserved.headers.insert(name.clone());
            reserved.unset.remove(&(Location::Header, name.as_str().to_owned()));
            if name == header::COOKIE {
                for cookie in request::cookie_names(line) {
                    reserved.unset.remove(&(Location::Cookie, cookie.clone()));
                    reserved.cookies.insert(cookie);
                }
            }
        }
        reserved
    }

    /// Asks the API once, and keeps at most 16 MiB of what it answers. Cancel-safe: dropping the future gives the
    /// request up. Reads the operation's schemas each time; [`super::Tool`] does that once.
    ///
    /// # Errors
    /// There is no answer, or it broke off. An answer of any status is none.
    pub async fn call(
        &self,
        operation: &Operation,
        arguments: &RawObject,
        context: &CallContext,
    ) -> Result<Response, CallError> {
        let inputs = Inputs::new(operation, &self.reserved(), &Default::default(), MAX_SCHEMA_BYTES);
        let terms = Terms { timeout: self.config.timeout, keep: MAX_BODY_BYTES };
        let called = self.execute(operation, &inputs, arguments, context, terms).await;
        called.map_err(|failed| failed.error)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.config.timeout
    }

    pub(crate) async fn execute(
        &self,
        operation: &Operation,
        inputs: &Inputs,
        arguments: &RawObject,
        context: &CallContext,
        terms: Terms,
    ) -> Result<Response, Failed> {
        let now = Instant::now();
        let until = now.checked_add(terms.timeout).unwrap_or(now + AGES);
        inputs.check(arguments)?;
        let extras = self.extras(operation, until, terms.timeout).await?;
        let base = &self.config.base;
        let late = CallError::TimedOut { after: terms.timeout };
        let asking =
            self.ask(context, |headers| request::build(base, operation, inputs, arguments, &extras, headers));
        let response = timeout_at(until, asking).await.unwrap_or_else(|_| Err(late.clone()))?;
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            self.config.credentials.reject(&extras);
        }
        if status.is_success() && is_encoded(response.headers()) && !response.body().is_end_stream() {
            let reason = "the answer is compressed, which was not asked for".into();
            let error = CallError::Upstream(ClientError { reason, is_unsent: false });
            return Err(Failed { status: Some(status), error });
        }
        receive(response, until, terms.keep).await.map_err(|broken| {
            let error = match broken {
                Broken::Late => late,
                Broken::Off(error) => CallError::Body(error),
            };
            Failed { status: Some(status), error }
        })
    }

    /// The operator's part of a request. A credential goes before a static header of the same name.
    async fn extras(
        &self,
        operation: &Operation,
        until: Instant,
        limit: Duration,
    ) -> Result<Extras, CallError> {
        let obtaining = self.config.credentials.obtain(&operation.security);
        let mut extras = timeout_at(until, obtaining).await.unwrap_or_else(|_| {
            Err(CallError::Credentials { reason: format!("there were none within {limit:?}") })
        })?;
        let is_free = |name: &HeaderName| !extras.headers.iter().any(|(taken, _)| taken == name);
        let fixed: Vec<_> = self.config.headers.iter().filter(|(name, _)| is_free(name)).cloned().collect();
        extras.headers.extend(fixed);
        Ok(extras)
    }
}

async fn receive(
    response: http::Response<ResponseBody>,
    until: Instant,
    keep: usize,
) -> Result<Response, Broken> {
    let (head, body) = response.into_parts();
    let content_type = content_type(&head.headers);
    let is_stream = content_type.as_deref().and_then(MediaType::parse).is_some_and(|media| media.is_stream());
    let taken = Wanted { keep, until, is_stream }.read(body).await?;
    Ok(Response {
        status: head.status,
        content_type,
        body: taken.body,
        total: taken.total,
        retry_after: retry_after::read(&head.headers, SystemTime::now()),
    })
}

/// Whether a body is not what it would be without `Content-Encoding` and `Transfer-Encoding`. Chunks are taken off.
fn is_encoded(headers: &HeaderMap) -> bool {
    let lines = [header::CONTENT_ENCODING, header::TRANSFER_ENCODING].map(|name| headers.get_all(name));
    let mut codings = lines.iter().flatten().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    codings.any(|coding| {
        let coding = coding.trim_ascii().to_ascii_lowercase();
        !matches!(&coding[..], b"" | b"identity" | b"chunked")
    })
}

/// A body that is encoded, though nobody asked for that, is not what its type says.
fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE).filter(|_| !is_encoded(headers))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
