//! What servers write for people, made fit for a log.

use std::collections::BTreeMap;

use gateway_domain::printable;

use crate::{EnvValue, StdioConfig};

/// At most this much of a line is logged, in characters.
pub(crate) const LINE: usize = 2048;

/// At most this much of a line is quoted, in characters.
pub(crate) const SAMPLE: usize = 200;

/// The shortest value that is hidden, in bytes. Shorter ones are no secrets and would hide half the text.
const SECRET: usize = 8;

/// Knows what must not be shown: the values of the configuration, which a server may print (R-W9).
#[derive(Debug)]
pub(crate) struct Censor {
    secrets: Vec<EnvValue>,
    longest: usize,
}

impl Censor {
    pub(crate) fn new(config: &StdioConfig) -> Self {
        Self::hiding(&config.env)
    }

    fn hiding(env: &BTreeMap<String, EnvValue>) -> Self {
        let secrets: Vec<_> = env.values().filter(|value| value.expose().len() >= SECRET).cloned().collect();
        let longest = secrets.iter().map(|value| value.expose().len()).max().unwrap_or_default();
        Self { secrets, longest }
    }

    /// The text without secrets and without what could steer a terminal or forge a line of the log, cut to
    /// `limit` characters. Secrets go first, so that the cut leaves no part of one.
    pub(crate) fn shown(&self, text: &[u8], limit: usize) -> String {
        let window = limit.saturating_mul(4).saturating_add(self.longest).min(text.len());
        let text = String::from_utf8_lossy(&text[..window]);
        if !self.secrets.iter().any(|secret| text.contains(secret.expose())) {
            return printable(&text, limit);
        }
        let hide = |text: String, secret: &EnvValue| text.replace(secret.expose(), "[hidden]");
        printable(&self.secrets.iter().fold(text.into_owned(), hide), limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_secrets_nor_control_bytes_nor_overlong_text_reach_the_log() {
        let env = [("A", "s3cret-token"), ("B", "1"), ("C", "two\nlines")];
        let env = env.map(|(name, value)| (name.to_owned(), value.into())).into();
        let censor = Censor::hiding(&env);
        for (bytes, limit, expected) in [
            (&b"key s3cret-token 1"[..], 99, "key [hidden] 1"),
            (b"a two\nlines b", 99, "a [hidden] b"),
            (b"key s3cret-token", 8, "key [hid…"),
            (b"\x1b[31mred\x07", 99, " [31mred "),
            (b"a\r\nb", 99, "a  b"),
            ("é\u{202e}\u{200b}".as_bytes(), 99, "é  "),
            (b"\xff", 99, "\u{fffd}"),
            (b"123456", 3, "123…"),
        ] {
            assert_eq!(censor.shown(bytes, limit), expected);
        }
    }
}
