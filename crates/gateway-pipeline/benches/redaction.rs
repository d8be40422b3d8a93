//! What redacting a result costs in which there is nothing to redact, as is nearly always so: by size, number of secrets,
//! and whether its text has escapes. The number of secrets must not matter (P-39).

#![expect(clippy::expect_used, reason = "a bench has no input but its own")]

use divan::{Bencher, black_box, counter::BytesCount};
use gateway_domain::RawJson;
use gateway_pipeline::redaction::{Direction, NamedSecret, PatternConfig, Redactor, RedactorConfig};

fn main() {
    divan::main();
}

const SIZES: [usize; 2] = [1024, 64 * 1024];

fn redactor(secrets: usize) -> Redactor {
    let secret = |n: usize| NamedSecret {
        name: format!("secret {n}"),
        value: format!("{:x}-secret-{n}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).as_str().into(),
    };
    let patterns = vec![
        PatternConfig::new("github", "ghp_[A-Za-z0-9]{36}", Some("ghp_")),
        PatternConfig::new("aws", "AKIA[A-Z0-9]{16}", Some("AKIA")),
    ];
    let config =
        RedactorConfig { secrets: (0..secrets).map(secret).collect(), patterns, ..RedactorConfig::default() };
    Redactor::new(config).expect("good secrets")
}

/// A tool's result of about this size, with `ending` behind each of its lines.
fn result(size: usize, ending: &str) -> RawJson {
    let line = format!("the quick brown fox jumps over the lazy dog, again{ending}");
    let text = line.repeat(size / line.len());
    RawJson::parse(format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}"#))
        .expect("JSON")
}

fn bench(bencher: Bencher<'_, '_>, secrets: usize, result: &RawJson) {
    let redactor = redactor(secrets);
    bencher
        .counter(BytesCount::new(result.as_bytes().len()))
        .bench(|| redactor.redact_raw(black_box(result), Direction::Results));
}

#[divan::bench(args = SIZES, consts = [1, 10, 1000])]
fn plain<const SECRETS: usize>(bencher: Bencher<'_, '_>, size: usize) {
    bench(bencher, SECRETS, &result(size, ". "));
}

#[divan::bench(args = SIZES, consts = [1, 10, 1000])]
fn with_escapes<const SECRETS: usize>(bencher: Bencher<'_, '_>, size: usize) {
    bench(bencher, SECRETS, &result(size, "\\n"));
}
