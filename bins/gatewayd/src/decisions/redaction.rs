use std::sync::Arc;

use gateway_domain::Secret;
use gateway_pipeline::{
    pipeline::Layer,
    redaction::{LiveRedactor, NamedSecret, PatternConfig, RedactSettings, RedactorConfig, RedactorError},
};

use super::redacting;
use crate::config::{self, Config};

/// The stage. What there is to be redacted may change, so it is always there.
pub(super) fn layer(redactor: &Arc<LiveRedactor>) -> Layer {
    redacting(redactor.clone())
}

/// What finds secrets.
pub(super) fn redactor(config: &Config) -> Result<LiveRedactor, RedactorError> {
    LiveRedactor::new(self::config(config), settings(&config.security.redaction))
}

/// Has it find those of another configuration too.
pub(super) fn replace(redactor: &LiveRedactor, config: &Config) -> Result<(), RedactorError> {
    redactor.replace(self::config(config), settings(&config.security.redaction))
}

/// Secrets of the configuration that are too short to be looked for are left out.
fn config(config: &Config) -> RedactorConfig {
    let redaction = &config.security.redaction;
    let own = config.secrets.iter().filter(|(_, value)| redaction.secrets && is_long_enough(value));
    let named = |(name, value): &(String, Secret)| NamedSecret { name: name.clone(), value: value.clone() };
    let pattern = |pattern: &config::RedactionPattern| {
        PatternConfig::new(&pattern.name, &pattern.regex, pattern.anchor.as_deref())
    };
    RedactorConfig {
        secrets: own.chain(&redaction.values).map(named).collect(),
        patterns: redaction.patterns.iter().map(pattern).collect(),
        ..RedactorConfig::default()
    }
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
