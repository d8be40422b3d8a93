use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use gateway_egress::{Answer, Bounds, Fetch, Named};
use http::{HeaderMap, HeaderValue, Method, Request, header};
use serde::de::DeserializeOwned;

use super::{OauthError, address::Address, form::Form};

/// The requests of an OAuth client: small documents, each bounded.
#[derive(Clone)]
pub(crate) struct Wire {
    fetch: Arc<dyn Fetch>,
    bounds: Bounds,
}

/// Whom a request is to: the address, by whom it was named, and what it is called in an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) address: &'a Address,
    pub(crate) named: Named,
    pub(crate) part: &'static str,
}

impl Wire {
    /// Answers may have 64 KiB and 10 seconds (security.md §3.3).
    pub(crate) fn new(fetch: Arc<dyn Fetch>) -> Self {
        Self { fetch, bounds: Bounds { bytes: 64 * 1024, time: Duration::from_secs(10) } }
    }

    /// A document of JSON; `None` if there is none at this address. Cancel-safe.
    pub(crate) async fn document<T: DeserializeOwned>(
        &self,
        place: Place<'_>,
    ) -> Result<Option<T>, OauthError> {
        let answer = self.send(place, Method::GET, HeaderMap::new(), Bytes::new()).await?;
        if !answer.status.is_success() {
            return Ok(None);
        }
        let read = serde_json::from_slice(&answer.body);
        read.map(Some).map_err(|_| OauthError::Malformed(place.part))
    }

    /// The answer to a form, whatever its status. Not cancel-safe in effect: the form may have been received.
    pub(crate) async fn form(
        &self,
        place: Place<'_>,
        authorization: Option<HeaderValue>,
        form: &Form,
    ) -> Result<Answer, OauthError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(value) = authorization {
            headers.insert(header::AUTHORIZATION, value);
        }
        let body = Bytes::copy_from_slice(form.encoded().as_bytes());
        self.send(place, Method::POST, headers, body).await
    }

    /// The answer to JSON that is posted, whatever its status.
    pub(crate) async fn json(&self, place: Place<'_>, body: Bytes) -> Result<Answer, OauthError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(place, Method::POST, headers, body).await
    }

    /// Makes one request; `Accept` is JSON where `headers` does not say otherwise.
    pub(crate) async fn send(
        &self,
        place: Place<'_>,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, OauthError> {
        let unusable = |_| OauthError::Malformed("URL");
        let mut request =
            Request::builder().method(method).uri(place.address.as_str()).body(body).map_err(unusable)?;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        request.headers_mut().extend(headers);
        let answered = self.fetch.fetch(request, place.named, self.bounds).await;
        answered.map_err(|cause| OauthError::Unreachable { part: place.part, cause })
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}
