//! What a token says, once it is known to be genuine. Pure: the time is an argument.
//!
//! A claim of the wrong type is a failure, never as good as absent: a check that is skipped where a string stands for
//! a number is no check.

mod date;
mod scopes;

use std::time::Duration;

use gateway_domain::{Caller, Grants, RawJson, RawObject};

pub(crate) use self::date::expiry;
use crate::{IssuerConfig, reason::Reason};

/// Bytes of a subject.
const SUBJECT_LIMIT: usize = 1024;
/// Audiences of one token.
const AUDIENCE_LIMIT: usize = 64;

/// Claims that only ID tokens have (OpenID Connect Core §2, §3.1.3.6, §3.3.2.11).
const ID_TOKEN_CLAIMS: [&str; 3] = ["nonce", "at_hash", "c_hash"];

/// Which claims a token must have; those that are there are checked all the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demands {
    pub(crate) expiry: bool,
    pub(crate) audience: bool,
}

/// A token that is good at one time, for those whom it names.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) caller: Caller,
    /// `jti`, if it has one.
    pub(crate) id: Option<String>,
    /// `None`: it names none, and need not.
    audiences: Option<Box<[String]>>,
    /// When it ends, skew included, since 1970.
    until: Option<Duration>,
}

impl Verified {
    /// Checks everything but whom the token is for, which is another question for each view.
    pub(crate) fn read(
        claims: RawObject,
        config: &IssuerConfig,
        demands: Demands,
        now: Duration,
    ) -> Result<Self, Reason> {
        check_issuer(&claims, config)?;
        if ID_TOKEN_CLAIMS.iter().any(|claim| claims.contains(claim)) {
            return Err(Reason::IdToken);
        }
        if claims.contains("cnf") {
            return Err(Reason::Bound);
        }
        let until = date::check(&claims, config, demands.expiry, now)?;
        let audiences = audiences(&claims)?;
        if audiences.is_none() && demands.audience {
            return Err(Reason::AudienceMissing);
        }
        let (subject, id) = (subject(&claims)?, text(&claims, "jti")?);
        let scopes = scopes::read(&claims, &config.roles)?;
        let caller = Caller::user(&config.issuer, &subject, Grants { scopes, claims }).proved_until(until);
        Ok(Self { caller, id, audiences, until })
    }

    /// Whether it is over.
    pub(crate) fn check_time(&self, now: Duration) -> Result<(), Reason> {
        if self.until.is_some_and(|until| now >= until) { Err(Reason::Expired) } else { Ok(()) }
    }

    /// Whether it is for one of these.
    pub(crate) fn check_audience(&self, resources: &[String]) -> Result<(), Reason> {
        let is_ours = |named: &[String]| named.iter().any(|audience| resources.contains(audience));
        if self.audiences.as_deref().is_none_or(is_ours) { Ok(()) } else { Err(Reason::Audience) }
    }
}

/// The `iss` of claims that nobody has vouched for yet: good for nothing but choosing who may.
pub(crate) fn unverified_issuer(claims: &RawObject) -> Result<String, Reason> {
    text(claims, "iss")?.ok_or(Reason::IssuerMissing)
}

/// An answer of introspection may leave `iss` out; by that of a JWT its issuer was found.
fn check_issuer(claims: &RawObject, config: &IssuerConfig) -> Result<(), Reason> {
    let is_ours = text(claims, "iss")?.is_none_or(|issuer| issuer == config.issuer);
    if is_ours { Ok(()) } else { Err(Reason::Issuer) }
}

/// `aud`: a string, or strings (RFC 7519 §4.1.3). None at all is as good as absent.
fn audiences(claims: &RawObject) -> Result<Option<Box<[String]>>, Reason> {
    let Some(value) = claims.get("aud") else { return Ok(None) };
    if let Some(single) = value.to_text() {
        return Ok(Some([single.into_owned()].into()));
    }
    let audiences = texts(&value, AUDIENCE_LIMIT).ok_or(Reason::Claim)?;
    Ok((!audiences.is_empty()).then(|| audiences.into()))
}

/// Who it is: `sub`, or `client_id` where a client speaks for itself and the issuer says no more.
fn subject(claims: &RawObject) -> Result<String, Reason> {
    let subject = match text(claims, "sub")? {
        Some(subject) => subject,
        None => text(claims, "client_id")?.ok_or(Reason::SubjectMissing)?,
    };
    // It stands in logs and records.
    let is_name =
        !subject.is_empty() && subject.len() <= SUBJECT_LIMIT && !subject.chars().any(char::is_control);
    if is_name { Ok(subject) } else { Err(Reason::Claim) }
}

fn text(claims: &RawObject, name: &str) -> Result<Option<String>, Reason> {
    let value = claims.get(name);
    value.map(|value| value.to_text().map(Into::into).ok_or(Reason::Claim)).transpose()
}

/// `None`: no array of strings, or of more than `limit`.
fn texts(value: &RawJson, limit: usize) -> Option<Vec<String>> {
    let elements = value.elements(limit)?;
    elements.iter().map(|element| element.to_text().map(Into::into)).collect()
}
