use std::sync::Arc;

use gateway_domain::{Caller, Secret};

use super::{
    OauthError,
    form::Form,
    grant::{ACCESS_TOKEN, TOKEN_EXCHANGE},
};
use crate::fixed::Source;

/// How a caller's token is exchanged (RFC 8693 §2.1). Types are URIs of RFC 8693 §3, or others that the token endpoint
/// knows.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What the caller's token is; an access token.
    pub subject_type: String,
    /// What is asked for; an access token. What is issued must be a bearer token all the same.
    pub requested_type: String,
    /// Who acts for the caller; `None`: the token endpoint is told nothing of it.
    pub actor: Option<Actor>,
}

/// A token of the gateway's own, which says who acts for the caller.
#[derive(Debug, Clone)]
pub struct Actor {
    /// Where it comes from.
    pub token: Arc<Source>,
    /// What it is.
    pub kind: String,
}

impl Default for Exchange {
    fn default() -> Self {
        Self { subject_type: ACCESS_TOKEN.to_owned(), requested_type: ACCESS_TOKEN.to_owned(), actor: None }
    }
}

impl Exchange {
    /// The form of an exchange, without what it is for. The actor's token is told to `confide` before it is sent.
    ///
    /// # Errors
    /// [`OauthError::NoActor`].
    pub(super) async fn form(
        &self,
        subject: &Secret,
        confide: impl FnOnce(&Secret),
    ) -> Result<Form, OauthError> {
        let form = Form::default()
            .with("grant_type", TOKEN_EXCHANGE)
            .with("subject_token", subject.expose())
            .with("subject_token_type", &self.subject_type)
            .with("requested_token_type", &self.requested_type);
        let Some(actor) = &self.actor else { return Ok(form) };
        let token = actor.token.word().await.map_err(|reason| OauthError::NoActor { reason })?;
        confide(&token);
        Ok(form.with("actor_token", token.expose()).with("actor_token_type", &actor.kind))
    }

    /// The token endpoint has refused: the actor's token may be why, and is asked for anew the next time.
    pub(super) async fn refused(&self) {
        if let Some(actor) = &self.actor {
            actor.token.forget().await;
        }
    }

    /// Whether each type is a URI.
    pub(super) fn has_types(&self) -> bool {
        let actor = self.actor.as_ref().map(|actor| &actor.kind);
        [&self.subject_type, &self.requested_type].into_iter().chain(actor).all(|kind| is_uri(kind))
    }
}

/// A caller's token, which is exchanged.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) token: Secret,
    /// When it ends, in seconds since 1970, if that is known.
    pub(super) ends: Option<u64>,
}

/// When what a caller has proved itself with ends: by its `exp`, or earlier where the gateway takes it no longer.
pub(super) fn end_of(caller: &Caller) -> Option<u64> {
    let claims = caller.grants().map(|grants| &grants.claims);
    let expiry = claims.and_then(|claims| claims.get("exp"));
    let expiry = expiry.and_then(|value| value.as_str().parse::<f64>().ok());
    let expiry = expiry.filter(|seconds| (0.0..1e15).contains(seconds)).map(|seconds| seconds as u64);
    let taken = caller.until().map(|until| until.as_secs());
    expiry.into_iter().chain(taken).min()
}

/// An absolute URI without fragment, as far as that tells a slip of the pen from one.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme && !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gateway_domain::{Grants, RawObject};

    use super::*;

    #[test]
    fn a_token_ends_by_its_claim_or_earlier() {
        let rows = [
            ("{}", None, None),
            ("{}", Some(130), Some(130)),
            (r#"{"exp":100}"#, Some(130), Some(100)),
            (r#"{"exp":100.9}"#, None, Some(100)),
            (r#"{"exp":100}"#, Some(90), Some(90)),
            (r#"{"exp":"100"}"#, Some(130), Some(130)),
            (r#"{"exp":-1}"#, None, None),
            (r#"{"exp":1e15}"#, None, None),
        ];
        for (claims, until, expected) in rows {
            let grants = Grants { claims: RawObject::parse(claims).unwrap(), ..Grants::default() };
            let caller = Caller::user("https://i", "s", grants).proved_until(until.map(Duration::from_secs));
            assert_eq!(end_of(&caller), expected, "{claims} {until:?}");
        }
        assert_eq!(end_of(&Caller::anonymous()), None);
    }

    #[test]
    fn a_uri_has_a_scheme_and_no_fragment() {
        for good in ["urn:x", "https://a.example/b?c", "api://a", "a+b-c.d:e"] {
            assert!(is_uri(good), "{good}");
        }
        for bad in ["", "x", ":x", "x:", "1x:y", "a b:c", "https://a/#b", "https://a/ b", "urn:\u{fc}"] {
            assert!(!is_uri(bad), "{bad}");
        }
    }
}
