mod building;
mod finding;
mod laws;
mod living;
mod passing;

use gateway_domain::RawJson;

use super::{NamedSecret, PatternConfig, Redactor, RedactorConfig};

/// A redactor of secrets, each named after its place, and patterns.
fn redactor(secrets: &[&str], patterns: &[(&str, Option<&str>)]) -> Redactor {
    Redactor::new(RedactorConfig {
        secrets: named(secrets),
        patterns: patterns.iter().map(|(regex, anchor)| PatternConfig::new("p", regex, *anchor)).collect(),
        min_secret_bytes: 3,
    })
    .unwrap()
}

fn named(secrets: &[&str]) -> Vec<NamedSecret> {
    let named = secrets.iter().enumerate();
    named.map(|(n, value)| NamedSecret { name: format!("secret {n}"), value: (*value).into() }).collect()
}

fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}
