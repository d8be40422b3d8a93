//! Credentials that do not depend on what the API describes.

use bytes::Bytes;
use gateway_egress::{Challenge, CredentialError, Reaction};
use http::{HeaderName, HeaderValue, Request, Response, header};

use super::Executor;
use crate::engine::{CallContext, CallError, ResponseBody};

type Headers = Vec<(HeaderName, HeaderValue)>;

impl Executor {
    /// Makes the request that `build` makes of the headers of the call and credentials; once more with others, if the API
    /// refuses those and there are. Nothing of a refused request has run (security.md §5.2).
    pub(super) async fn ask(
        &self,
        context: &CallContext,
        build: impl Fn(&[(HeaderName, HeaderValue)]) -> Result<Request<Bytes>, CallError> + Send,
    ) -> Result<Response<ResponseBody>, CallError> {
        let Some(credentials) = &self.config.outbound else {
            return self.send(build(context.headers())?).await;
        };
        let sent = credentials.headers(context.incoming()).await.map_err(lacking)?;
        let answer = self.send(build(&together(&sent, context))?).await?;
        let status = answer.status();
        if !matches!(status.as_u16(), 401 | 403) {
            return Ok(answer);
        }
        let authenticate: Vec<_> =
            answer.headers().get_all(header::WWW_AUTHENTICATE).iter().cloned().collect();
        let challenge = Challenge { status, authenticate: &authenticate, sent: &sent };
        let reaction = credentials.refused(context.incoming(), &challenge).await.map_err(lacking)?;
        if reaction == Reaction::GiveUp {
            return Ok(answer);
        }
        drop(answer);
        let others = credentials.headers(context.incoming()).await.map_err(lacking)?;
        self.send(build(&together(&others, context))?).await
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, CallError> {
        self.config.client.send(request).await.map_err(CallError::Upstream)
    }
}

/// The headers of a call, credentials in place of others of the same names.
fn together(credentials: &Headers, context: &CallContext) -> Headers {
    let is_free = |name: &HeaderName| !credentials.iter().any(|(taken, _)| taken == name);
    let others = context.headers().iter().filter(|(name, _)| is_free(name));
    credentials.iter().chain(others).cloned().collect()
}

fn lacking(error: CredentialError) -> CallError {
    CallError::Credentials { reason: error.to_string() }
}
