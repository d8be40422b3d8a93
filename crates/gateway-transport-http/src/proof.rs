//! What requests prove themselves with.

use gateway_domain::{DownstreamFault, Incoming, Visit};
use gateway_egress::{Challenge, CredentialError, Credentials, Reaction};
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};

use crate::{failure::Failure, headers::is_reserved_header};

/// Credentials for one request, and for whom they are.
pub(crate) struct Proof<'a> {
    credentials: &'a dyn Credentials,
    incoming: Option<&'a Incoming>,
    sent: Vec<(HeaderName, HeaderValue)>,
}

impl<'a> Proof<'a> {
    /// Those that there are now.
    pub(crate) async fn obtain(
        credentials: &'a dyn Credentials,
        incoming: Option<&'a Incoming>,
    ) -> Result<Self, Failure> {
        let sent = credentials.headers(incoming).await.map_err(lacking)?;
        if let Some((name, _)) = sent.iter().find(|(name, _)| is_reserved_header(name)) {
            let reason = format!("they are to be sent in the header `{name}`, which the gateway sets itself");
            return Err(Failure::before(DownstreamFault::Credentials { reason, visit: None }));
        }
        Ok(Self { credentials, incoming, sent })
    }

    /// The headers with them, in place of others of the same names.
    pub(crate) fn added_to(&self, mut headers: HeaderMap) -> HeaderMap {
        for (name, _) in &self.sent {
            headers.remove(name);
        }
        for (name, value) in &self.sent {
            let mut value = value.clone();
            value.set_sensitive(true);
            headers.append(name, value);
        }
        headers
    }

    /// Those to try once more with, if this answer says that it did not want these. Nothing of the request has run
    /// then (security.md §5.2).
    pub(crate) async fn after<B>(&self, answer: &Response<B>) -> Result<Option<Self>, Failure> {
        let status = answer.status();
        if !matches!(status.as_u16(), 401 | 403) {
            return Ok(None);
        }
        let authenticate: Vec<_> =
            answer.headers().get_all(header::WWW_AUTHENTICATE).iter().cloned().collect();
        let challenge = Challenge { status, authenticate: &authenticate, sent: &self.sent };
        match self.credentials.refused(self.incoming, &challenge).await.map_err(lacking)? {
            Reaction::Retry => Self::obtain(self.credentials, self.incoming).await.map(Some),
            Reaction::GiveUp => Ok(None),
        }
    }
}

/// The request was not made, or nothing of it has run.
fn lacking(error: CredentialError) -> Failure {
    let reason = error.to_string();
    Failure::before(match error {
        CredentialError::Unavailable { .. } => DownstreamFault::Credentials { reason, visit: None },
        CredentialError::OfCaller { what } => DownstreamFault::CallerCredentials { what },
        CredentialError::Visit { url, id, message } => {
            let visit = Some(Box::new(Visit { url, id, message }));
            DownstreamFault::Credentials { reason, visit }
        }
    })
}
