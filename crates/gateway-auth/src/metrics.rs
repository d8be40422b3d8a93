use gateway_domain::TokenError;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode_registry},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use crate::issuer::Issuer;

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct IssuerLabels {
    issuer: String,
}

/// What has been verified, and how.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    verifications: Family<ResultLabels, Counter>,
}

impl Metrics {
    /// Counts a verdict: `ok`, `unavailable`, or the code of the reason.
    pub(crate) fn verified<T>(&self, outcome: &Result<T, TokenError>) {
        let result = match outcome {
            Ok(_) => "ok",
            Err(TokenError::Invalid { reason }) => *reason,
            Err(TokenError::Unavailable { .. }) => "unavailable",
        };
        self.verifications.get_or_create(&ResultLabels { result }).inc();
    }

    /// Appends all families.
    pub(crate) fn write(&self, issuers: &[Issuer], page: &mut String) {
        let mut registry = Registry::with_prefix("gateway");
        registry.register("token_verifications", "Tokens checked, by result", self.verifications.clone());
        register_keys(&mut registry, issuers);
        register_introspection(&mut registry, issuers);
        // Writing to a string cannot fail.
        let _ = encode_registry(page, &registry);
    }
}

fn register_keys(registry: &mut Registry, issuers: &[Issuer]) {
    let age = Family::<IssuerLabels, Gauge>::default();
    let fetches = Family::<IssuerLabels, Counter>::default();
    let failures = Family::<IssuerLabels, Counter>::default();
    let checks = Family::<IssuerLabels, Counter>::default();
    for (labels, store) in issuers.iter().filter_map(|issuer| Some((labels(issuer), issuer.store()?))) {
        let figures = store.figures();
        if let Some(held) = figures.age {
            age.get_or_create(&labels).set(held.as_secs().try_into().unwrap_or(i64::MAX));
        }
        fetches.get_or_create(&labels).inc_by(figures.fetches);
        checks.get_or_create(&labels).inc_by(figures.checks);
        failures.get_or_create(&labels).inc_by(figures.failures);
    }
    registry.register_with_unit("key_set_age", "Time since an issuer's keys were read", Unit::Seconds, age);
    registry.register("key_set_fetches", "Readings of an issuer's keys", fetches);
    registry.register("key_set_fetch_failures", "Readings of an issuer's keys that failed", failures);
    registry.register(
        "token_signature_checks",
        "Signatures of tokens checked, which is what they cost",
        checks,
    );
}

fn register_introspection(registry: &mut Registry, issuers: &[Issuer]) {
    let asked = Family::<IssuerLabels, Counter>::default();
    let failed = Family::<IssuerLabels, Counter>::default();
    for (labels, endpoint) in
        issuers.iter().filter_map(|issuer| Some((labels(issuer), issuer.introspection()?)))
    {
        let figures = endpoint.figures();
        asked.get_or_create(&labels).inc_by(figures.asked);
        failed.get_or_create(&labels).inc_by(figures.failed);
    }
    registry.register("introspections", "Tokens that an issuer was asked about", asked);
    registry.register("introspection_failures", "Questions about tokens without an answer", failed);
}

fn labels(issuer: &Issuer) -> IssuerLabels {
    IssuerLabels { issuer: issuer.config.issuer.clone() }
}
