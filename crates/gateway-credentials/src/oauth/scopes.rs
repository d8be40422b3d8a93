use std::collections::BTreeSet;

/// A set of scopes, as they are written: separated by spaces, in the order of the alphabet, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Scopes(BTreeSet<String>);

impl Scopes {
    /// Reads a `scope` parameter; words that no scope can be (RFC 6749 §3.3) are left out, as are those beyond 64.
    pub(crate) fn read(text: &str) -> Self {
        text.split(' ').collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.0.is_superset(&other.0)
    }

    pub(crate) fn joined(&self, other: &Self) -> Self {
        self.0.union(&other.0).map(String::as_str).collect()
    }

    pub(crate) fn with(&self, scope: &str) -> Self {
        self.joined(&Self::read(scope))
    }

    pub(crate) fn without(mut self, scope: &str) -> Self {
        self.0.remove(scope);
        self
    }

    /// The `scope` parameter; empty if there are none.
    pub(crate) fn parameter(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<I: IntoIterator<Item = &'a str>>(scopes: I) -> Self {
        let good = scopes.into_iter().filter(|scope| is_scope(scope)).take(MOST_SCOPES);
        Self(good.map(str::to_owned).collect())
    }
}

/// What a first authorization asks for (protocol.md §18.3 no. 8 and 9).
pub(crate) struct Choice<'a> {
    /// What the server's challenge asked for.
    pub(crate) challenged: Option<&'a Scopes>,
    /// What the operator has configured; takes the place of what the server supports.
    pub(crate) configured: Option<&'a Scopes>,
    /// What the protected resource metadata lists.
    pub(crate) supported: Option<&'a Scopes>,
    /// What was asked for before, and what challenges wanted since then.
    pub(crate) before: &'a Scopes,
    /// What the authorization server lists.
    pub(crate) of_issuer: Option<&'a Scopes>,
}

impl Choice<'_> {
    /// The scopes to ask for: the challenge's, else the configured ones, else all that the server supports, else none;
    /// with those from before; `offline_access` exactly where the authorization server lists it.
    pub(crate) fn scopes(&self) -> Scopes {
        let none = Scopes::default();
        let chosen = match (self.challenged, self.configured) {
            (Some(challenged), Some(configured)) => challenged.joined(configured),
            (Some(only), None) | (None, Some(only)) => only.clone(),
            (None, None) => self.supported.unwrap_or(&none).clone(),
        };
        let all = chosen.joined(self.before);
        if self.of_issuer.is_some_and(|listed| listed.has(OFFLINE)) {
            all.with(OFFLINE)
        } else {
            all.without(OFFLINE)
        }
    }
}

const OFFLINE: &str = "offline_access";
const MOST_SCOPES: usize = 64;

fn is_scope(word: &str) -> bool {
    let letter = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    !word.is_empty() && word.len() <= 256 && word.bytes().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_words_of_their_alphabet() {
        let rows = [
            ("", ""),
            ("b a b", "a b"),
            ("  a  ", "a"),
            ("a\"b c\\d e", "e"),
            ("a\u{7f} ü mcp:read", "mcp:read"),
            ("! # [ ] ~", "! # [ ] ~"),
        ];
        for (text, expected) in rows {
            assert_eq!(Scopes::read(text).parameter(), expected, "{text}");
        }
        assert!(Scopes::read(&"x".repeat(257)).is_empty() && !Scopes::read(&"x".repeat(256)).is_empty());
        let many: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        assert_eq!(Scopes::read(&many.join(" ")).0.len(), MOST_SCOPES);
    }

    #[test]
    fn what_is_asked_for_is_chosen_in_order() {
        /// Challenge, configuration, resource metadata, before, authorization server; what is asked for.
        type Row<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, &'a str, Option<&'a str>, &'a str);
        let rows: &[Row<'_>] = &[
            (None, None, None, "", None, ""),
            (None, None, Some("a b"), "", None, "a b"),
            (Some("c"), None, Some("a b"), "", None, "c"),
            (Some("c"), Some("d"), Some("a b"), "", None, "c d"),
            (None, Some("d"), Some("a b"), "", None, "d"),
            (Some("w"), None, Some("p"), "b", None, "b w"),
            (None, None, Some("a"), "", Some("a offline_access"), "a offline_access"),
            (None, None, Some("a offline_access"), "", Some("a"), "a"),
            (Some("a offline_access"), None, None, "", None, "a"),
            (None, None, None, "offline_access", Some("a"), ""),
        ];
        for (challenged, configured, supported, before, of_issuer, expected) in rows {
            let [challenged, configured, supported, of_issuer] =
                [challenged, configured, supported, of_issuer].map(|text| text.map(Scopes::read));
            let choice = Choice {
                challenged: challenged.as_ref(),
                configured: configured.as_ref(),
                supported: supported.as_ref(),
                before: &Scopes::read(before),
                of_issuer: of_issuer.as_ref(),
            };
            assert_eq!(choice.scopes().parameter(), *expected, "{challenged:?} {configured:?} {supported:?}");
        }
    }

    #[test]
    fn a_set_covers_its_parts() {
        let both = Scopes::read("a b");
        assert!(both.covers(&Scopes::read("a")) && both.covers(&Scopes::default()));
        assert!(!both.covers(&Scopes::read("a c")));
    }
}
