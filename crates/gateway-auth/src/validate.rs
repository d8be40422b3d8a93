use std::{collections::HashSet, time::Duration};

use crate::{
    Check, ConfigError, IntrospectionConfig, IssuerConfig, JwtConfig, KeySource, VerifierConfig,
    introspection::authorization, keys::is_url,
};

/// No clock is allowed to differ more (security.md §5.1).
const SKEW_LIMIT: Duration = Duration::from_secs(60);

/// Whether a configuration can work.
pub(crate) fn check(config: &VerifierConfig) -> Result<(), ConfigError> {
    let (mut names, mut asked) = (HashSet::new(), false);
    for issuer in &config.issuers {
        let name = || issuer.issuer.clone();
        if issuer.issuer.is_empty() || !names.insert(&issuer.issuer) {
            return Err(ConfigError::Issuer { issuer: name() });
        }
        check_issuer(issuer)?;
        match &issuer.check {
            Check::Keys(jwt) => check_keys(&issuer.issuer, jwt)?,
            Check::Introspection(introspection) => {
                if asked {
                    return Err(ConfigError::SecondIntrospection { issuer: name() });
                }
                asked = true;
                check_introspection(&issuer.issuer, introspection)?;
            }
        }
    }
    Ok(())
}

fn check_issuer(config: &IssuerConfig) -> Result<(), ConfigError> {
    let issuer = config.issuer.clone();
    if config.audiences.is_empty() || config.audiences.all().any(String::is_empty) {
        return Err(ConfigError::Audience { issuer });
    }
    if config.skew > SKEW_LIMIT {
        return Err(ConfigError::Skew { issuer, skew: config.skew });
    }
    if config.max_age.is_some_and(|age| age.is_zero()) {
        return Err(ConfigError::Zero { issuer, setting: "the maximum age" });
    }
    Ok(())
}

fn check_keys(issuer: &str, config: &JwtConfig) -> Result<(), ConfigError> {
    let issuer = issuer.to_owned();
    if config.algorithms.is_empty() {
        return Err(ConfigError::Algorithms { issuer });
    }
    if config.keep.is_zero() {
        return Err(ConfigError::Zero { issuer, setting: "the time that keys are kept" });
    }
    let (url, what) = match &config.keys {
        KeySource::File(_) => return Ok(()),
        KeySource::Url(url) => (url, "key set"),
        KeySource::Discovery { metadata: Some(url) } => (url, "metadata"),
        KeySource::Discovery { metadata: None } => (&issuer, "metadata, which is looked for at the issuer's"),
    };
    if is_url(url) { Ok(()) } else { Err(ConfigError::Url { issuer, what }) }
}

fn check_introspection(issuer: &str, config: &IntrospectionConfig) -> Result<(), ConfigError> {
    let issuer = issuer.to_owned();
    if !is_url(&config.endpoint) {
        return Err(ConfigError::Url { issuer, what: "introspection endpoint" });
    }
    if config.concurrency == 0 {
        return Err(ConfigError::Zero { issuer, setting: "the questions at once" });
    }
    if config.timeout.is_zero() {
        return Err(ConfigError::Zero { issuer, setting: "the time for an answer" });
    }
    if authorization(&config.auth).is_none() {
        return Err(ConfigError::Credentials { issuer });
    }
    Ok(())
}
