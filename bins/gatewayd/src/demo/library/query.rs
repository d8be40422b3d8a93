use std::str::FromStr;

use percent_encoding::percent_decode_str;

/// The members of a query, in order.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        let decode =
            |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
        let member = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        };
        Self(text.split('&').filter(|pair| !pair.is_empty()).map(member).collect())
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(member, _)| member == name).map(|(_, value)| value.as_str())
    }

    /// In lower case; empty if it is not there.
    pub(super) fn folded(&self, name: &str) -> String {
        self.all(name).next().unwrap_or_default().to_lowercase()
    }

    /// What is wrong with it is the error.
    pub(super) fn number<T: FromStr + PartialOrd>(
        &self,
        name: &str,
        default: T,
        least: T,
        most: T,
    ) -> Result<T, String> {
        let Some(text) = self.all(name).next() else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("{name} is no number that can be used"))
    }
}
