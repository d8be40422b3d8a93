use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use gateway_domain::RawObject;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::time;

use super::{
    ClientAuthentication, ClientCredentials, Secret,
    supply::{bearer, secret_header},
};
use crate::engine::HttpClient;

/// The longest answer that is read. Tokens are shorter than what fits into a header.
const ANSWER_LIMIT: usize = 64 << 10;

/// How long it may take, from the connection to the last byte.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks for tokens (RFC 6749 §4.4).
#[derive(Debug)]
pub(super) struct Grant {
    config: ClientCredentials,
    url: Uri,
    client: Arc<dyn HttpClient>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Issued {
    /// `Authorization`.
    pub(super) header: http::HeaderValue,
    /// How long the token is good, if the server says so.
    pub(super) expires_in: Option<Duration>,
}

impl Grant {
    pub(super) fn new(config: ClientCredentials, url: Uri, client: Arc<dyn HttpClient>) -> Self {
        Self { config, url, client }
    }

    /// The scopes to ask for where an operation names these.
    pub(super) fn scope(&self, named: &[String]) -> String {
        let mut scopes = self.config.scopes.as_deref().unwrap_or(named).to_vec();
        scopes.sort_unstable();
        scopes.dedup();
        scopes.join(" ")
    }

    /// One token. Errors say what a model may read: no hosts, nothing that the server wrote.
    pub(super) async fn fetch(&self, scope: &str) -> Result<Issued, String> {
        let exchange = async {
            let response = self.client.send(self.request(scope)?).await.map_err(|error| error.reason)?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_LIMIT).collect().await;
            let body = body.map_err(|_| "the token server's answer broke off or is too long")?.to_bytes();
            if status == StatusCode::OK { issued(body) } else { Err(refusal(status, body)) }
        };
        time::timeout(TIMEOUT, exchange).await.unwrap_or_else(|_| {
            Err(format!("the token server gave no answer within {} s", TIMEOUT.as_secs()))
        })
    }

    fn request(&self, scope: &str) -> Result<Request<Bytes>, String> {
        let ClientCredentials { client_id, client_secret, authentication, resource, audience, .. } =
            &self.config;
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend([("scope", scope)].into_iter().filter(|_| !scope.is_empty()));
        form.extend(resource.as_deref().map(|resource| ("resource", resource)));
        form.extend(audience.as_deref().map(|audience| ("audience", audience)));
        let mut request = Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json");
        match authentication {
            ClientAuthentication::Basic => {
                let pair = format!("{}:{}", encode(client_id), encode(client_secret.expose()));
                request = request.header(
                    header::AUTHORIZATION,
                    secret_header(format!("Basic {}", STANDARD.encode(pair)))?,
                );
            }
            ClientAuthentication::Post => {
                form.extend([("client_id", client_id.as_str()), ("client_secret", client_secret.expose())]);
            }
        }
        let pairs: Vec<_> = form.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        request.body(pairs.join("&").into()).map_err(|_| "the token request cannot be built".into())
    }
}

/// `application/x-www-form-urlencoded` (RFC 6749 appendix B).
fn encode(text: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, KEPT).to_string()
}

/// A good answer (RFC 6749 §5.1).
fn issued(body: Bytes) -> Result<Issued, String> {
    let answer =
        RawObject::parse(body).map_err(|_| "the token server answered something else than a token")?;
    let kind = answer.get_text("token_type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err("the token server gave a token that is no bearer token".into());
    }
    let token = Secret::new(answer.get_text("access_token").unwrap_or_default());
    let header = bearer(&token).map_err(|_| "the token server gave a token that cannot be sent")?;
    Ok(Issued { header, expires_in: answer.get("expires_in").and_then(|value| seconds(value.as_str())) })
}

/// Some servers put the number into quotes.
fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.trim_matches('"').parse::<f64>().ok().filter(|seconds| *seconds >= 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A bad answer (RFC 6749 §5.2, RFC 8707 §2). Only words of the RFCs are passed on.
fn refusal(status: StatusCode, body: Bytes) -> String {
    const CODES: [&str; 7] = [
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "invalid_scope",
        "invalid_target",
        "unauthorized_client",
        "unsupported_grant_type",
    ];
    let code = RawObject::parse(body).ok().and_then(|answer| answer.get_text("error"));
    let known = CODES.into_iter().find(|known| code.as_deref() == Some(*known));
    let suffix = known.map(|known| format!(" ({known})")).unwrap_or_default();
    format!("the token server answered with status {}{suffix}", status.as_u16())
}
