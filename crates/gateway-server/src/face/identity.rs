use std::sync::Arc;

use gateway_domain::{Caller, Incoming as CameAlong, Secret, TokenError, TraceContext, View};
use http::HeaderMap;

use super::{Denied, Face};
use crate::{
    auth::{Evidence, Finding, Full, Principal, is_in_query},
    endpoint::trace,
    rescue::Refusal,
    rules::Rules,
    tls::Peer,
};

/// Who sends a request.
pub(super) struct Identified {
    pub(super) principal: Arc<Principal>,
    pub(super) caller: Caller,
    pub(super) incoming: Option<Arc<CameAlong>>,
}

/// What there is of a request to tell whose it is by.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) query: Option<&'a str>,
    pub(super) peer: Peer,
}

impl Face {
    /// Who sends a request for a path.
    pub(super) async fn identify(
        &self,
        rules: &Rules,
        view: &View,
        head: Head<'_>,
    ) -> Result<Identified, Denied> {
        let (principal, caller, token) = match finding(rules, head)? {
            Finding::Known(principal) => {
                let caller = principal.caller.clone();
                (principal, caller, None)
            }
            Finding::Token(token) => {
                let caller = verified(rules, view, token).await?;
                let principal = rules.authority.user(&caller).map_err(full)?;
                (principal, caller, Some(token))
            }
            Finding::Unknown => return Err(unknown(head, rules)),
        };
        tracing::Span::current().record("client", tracing::field::display(&caller));
        let incoming = came_along(rules, &caller, head.headers, token);
        Ok(Identified { principal, caller, incoming })
    }

    /// Whether somebody sends a request who may read the metrics. To those who are known and may not, there are none.
    pub(super) fn check_metrics(&self, rules: &Rules, head: Head<'_>) -> Result<(), Denied> {
        match finding(rules, head)? {
            Finding::Known(principal) if rules.authority.may_read_metrics(&principal) => Ok(()),
            Finding::Known(principal) => {
                Err(Denied { caller: Some(Box::new(principal.caller.clone())), ..Refusal::NoSuchPath.into() })
            }
            Finding::Token(_) | Finding::Unknown => Err(Refusal::Unauthorized.into()),
        }
    }
}

/// Who a request has proved to be, if it has; whatever else it says counts for nothing.
pub(super) async fn proven_by(rules: &Rules, head: Head<'_>) -> Option<Caller> {
    proof(rules, finding(rules, head).ok()?).await
}

/// Whose key or token this is. Nobody's where nobody has one.
pub(crate) async fn proven(rules: &Rules, typed: &Secret) -> Option<Caller> {
    let evidence = Evidence::Bearer(typed.expose().as_bytes());
    proof(rules, rules.authority.identify(evidence, None).ok()?).await
}

async fn proof(rules: &Rules, finding: Finding<'_>) -> Option<Caller> {
    match finding {
        Finding::Known(principal) => rules.authority.is_closed().then(|| principal.caller.clone()),
        Finding::Token(token) => verified(rules, &View::All, token).await.ok(),
        Finding::Unknown => None,
    }
}

fn finding<'a>(rules: &Rules, head: Head<'a>) -> Result<Finding<'a>, Denied> {
    if is_in_query(head.query) {
        return Err(Refusal::MisplacedCredentials.into());
    }
    let authority = &rules.authority;
    let evidence = match Evidence::read(head.headers, authority.key_header()) {
        Ok(evidence) => evidence,
        // Whatever is said there means nothing where nobody is asked who he is.
        Err(_) if !authority.is_closed() => Evidence::None,
        Err(_) => return Err(Refusal::MisplacedCredentials.into()),
    };
    authority.identify(evidence, head.peer.certificate.as_ref()).map_err(full)
}

/// What somebody is told who is nobody. That it was a bad token is said only to who sent one.
fn unknown(head: Head<'_>, rules: &Rules) -> Denied {
    let evidence = Evidence::read(head.headers, None).unwrap_or(Evidence::None);
    match (evidence, &rules.protected) {
        (Evidence::Bearer(_), Some(_)) => {
            Denied { code: Some("token_malformed"), ..Refusal::InvalidToken.into() }
        }
        _ => Refusal::Unauthorized.into(),
    }
}

fn full(_: Full) -> Denied {
    Refusal::Busy.into()
}

async fn verified(rules: &Rules, view: &View, token: &str) -> Result<Caller, Denied> {
    let Some(protected) = &rules.protected else { return Err(Refusal::Unauthorized.into()) };
    match protected.verifier.verify(token, view).await {
        // What has no issuer among those that are configured is nobody's word.
        Ok(caller) if caller.issuer_and_subject().is_some_and(|(issuer, _)| protected.takes(issuer)) => {
            Ok(caller)
        }
        Ok(_) => Err(Denied { code: Some("token_issuer"), ..Refusal::InvalidToken.into() }),
        Err(TokenError::Invalid { reason }) => {
            Err(Denied { code: Some(reason), ..Refusal::InvalidToken.into() })
        }
        Err(TokenError::Unavailable { reason }) => {
            tracing::warn!(reason, "tokens cannot be checked");
            Err(Refusal::TokensUnchecked.into())
        }
    }
}

/// What downstreams may be given of a request, if any of them is.
fn came_along(
    rules: &Rules,
    caller: &Caller,
    headers: &HeaderMap,
    token: Option<&str>,
) -> Option<Arc<CameAlong>> {
    let config = &rules.config;
    let keeps_token = rules.protected.as_ref().is_some_and(|protected| protected.keeps_tokens);
    if !config.passes_incoming && !keeps_token && config.forward_headers.is_empty() {
        return None;
    }
    let named = config.forward_headers.iter().flat_map(|name| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.map(move |value| (Box::from(name.as_str()), Secret::from(value)))
    });
    Some(Arc::new(CameAlong {
        caller: caller.clone(),
        token: token.filter(|_| keeps_token).map(Secret::from),
        headers: named.collect(),
    }))
}

/// The trace that the headers name.
pub(super) fn traced(headers: &HeaderMap) -> Option<TraceContext> {
    let only = |name| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none())?.to_str().ok()
    };
    // Several headers of `tracestate` are one list (RFC 9110 §5.3).
    let state = || {
        let parts: Vec<_> =
            headers.get_all("tracestate").iter().filter_map(|value| value.to_str().ok()).collect();
        Some(parts.join(","))
    };
    trace(only("traceparent")?, state)
}
