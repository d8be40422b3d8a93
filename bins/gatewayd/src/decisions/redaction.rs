use std::sync::Arc;

use gateway_domain::Secret;
use gateway_pipeline::{
    pipeline::Layer,
    redaction::{NamedSecret, PatternConfig, RedactSettings, Redactor, RedactorConfig, RedactorError},
};

use super::redacting;
use crate::config::{self, Config};

/// The stage; `None`: there is nothing to redact, and no bound on results.
pub(super) fn layer(config: &Config, redactor: &Arc<Redactor>) -> Option<Layer> {
    let settings = settings(&config.security.redaction);
    let has_work = !redactor.is_empty() || settings.max_result_bytes.is_some();
    has_work.then(|| redacting(redactor.clone(), settings))
}

/// What finds secrets. Those of the configuration that are too short to be looked for are left
/// out.
pub(super) fn redactor(config: &Config) -> Result<Redactor, RedactorError> {
    let redaction = &config.security.redaction;
    let own = config.secrets.iter().filter(|(_, value)| redaction.secrets && is_long_enough(value));
    let named = |(name, value): &(String, Secret)| NamedSecret { name: name.clone(), value: value.clone() };
    let pattern = |pattern: &config::RedactionPattern| {
        PatternConfig::new(&pattern.name, &pattern.regex, pattern.anchor.as_deref())
    };
    Redactor::new(RedactorConfig {
        secrets: own.chain(&redaction.values).map(named).collect(),
        patterns: redaction.patterns.iter().map(pattern).collect(),
        ..RedactorConfig::default()
    })
}

fn is_long_enough(value: &Secret) -> bool {
    value.expose().len() >= RedactorConfig::MIN_SECRET_BYTES
}

fn settings(redaction: &config::Redaction) -> RedactSettings {
    RedactSettings {
        arguments: redaction.arguments,
        results: redaction.results,
        max_result_bytes: redaction.max_result_bytes,
        keep: redaction.preview_bytes,
    }
}
