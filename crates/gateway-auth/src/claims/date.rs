use std::time::Duration;

use gateway_domain::{JsonKind, RawObject};

use crate::{IssuerConfig, reason::Reason};

/// The end of the year 9999. What is later is no date.
const LATEST: f64 = 253_402_300_799.0;

/// Checks when a token is good, and tells until when it is.
pub(super) fn check(
    claims: &RawObject,
    config: &IssuerConfig,
    must_expire: bool,
    now: Duration,
) -> Result<Option<Duration>, Reason> {
    let (expiry, issued) = (expiry(claims)?, date(claims, "iat")?);
    if expiry.is_none() && must_expire {
        return Err(Reason::ExpiryMissing);
    }
    let until = expiry.map(|expiry| expiry + config.skew);
    if until.is_some_and(|until| now >= until) {
        return Err(Reason::Expired);
    }
    let is_to_come = |date: Duration| date > now + config.skew;
    if date(claims, "nbf")?.is_some_and(is_to_come) {
        return Err(Reason::NotYetValid);
    }
    if issued.is_some_and(is_to_come) {
        return Err(Reason::IssuedLater);
    }
    let Some(max_age) = config.max_age else { return Ok(until) };
    let old_at = issued.ok_or(Reason::IssuedMissing)?.saturating_add(max_age).saturating_add(config.skew);
    if now >= old_at {
        return Err(Reason::TooOld);
    }
    Ok(until.map_or(Some(old_at), |until| Some(until.min(old_at))))
}

/// The `exp` of a token, if it has one.
pub(crate) fn expiry(claims: &RawObject) -> Result<Option<Duration>, Reason> {
    date(claims, "exp")
}

/// A NumericDate (RFC 7519 §2), fractions included, since 1970.
fn date(claims: &RawObject, name: &str) -> Result<Option<Duration>, Reason> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    if value.kind() != JsonKind::Number {
        return Err(Reason::Claim);
    }
    let seconds: f64 = value.as_str().parse().map_err(|_| Reason::Claim)?;
    if !(0.0..=LATEST).contains(&seconds) {
        return Err(Reason::Claim);
    }
    Ok(Some(Duration::from_secs_f64(seconds)))
}
