use std::collections::HashMap;

use gateway_domain::{ToolRef, ToolRefError};

/// Takes a called name apart into the downstream and the tool it goes to.
///
/// `known` holds `true` for every downstream that can be called; a name that is missing or `false` is
/// unknown, and without a map all are. Whether the downstream has the tool is not looked at
/// where a catalogue is at hand, `Catalog::find` answers that without asking anyone (A-W9).
///
/// # Errors
/// [`ResolveError::Malformed`], looked at first, or [`ResolveError::UnknownDownstream`].
pub fn resolve(name: &str, known: Option<&HashMap<String, bool>>) -> Result<ToolRef, ResolveError> {
    let reference = ToolRef::parse(name)?;
    let is_known = known.and_then(|known| known.get(reference.downstream())).copied().unwrap_or(false);
    if is_known {
        Ok(reference)
    } else {
        Err(ResolveError::UnknownDownstream { downstream: reference.downstream().to_owned() })
    }
}

/// Why a called name leads nowhere. Both are the caller's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// It is not `downstream__tool` with exactly one separator.
    #[error(transparent)]
    Malformed(#[from] ToolRefError),
    /// There is no such downstream.
    #[error("unknown downstream {downstream:?}")]
    UnknownDownstream {
        /// The part before the separator.
        downstream: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_a_known_downstream_or_to_an_error() {
        let known = HashMap::from([("files".to_owned(), true), ("off".to_owned(), false)]);
        let malformed = |name: &str| Err(ResolveError::Malformed(ToolRefError { name: name.to_owned() }));
        let unknown = |name: &str| Err(ResolveError::UnknownDownstream { downstream: name.to_owned() });

        #[track_caller]
        fn check(name: &str, known: Option<&HashMap<String, bool>>, expected: Result<ToolRef, ResolveError>) {
            assert_eq!(resolve(name, known), expected, "for {name:?}");
        }

        check("files__read", Some(&known), Ok(ToolRef::new("files", "read")));
        check("files__never_listed", Some(&known), Ok(ToolRef::new("files", "never_listed")));
        check("off__read", Some(&known), unknown("off"));
        check("gone__read", Some(&known), unknown("gone"));
        check("files__read", None, unknown("files"));
        check("files__read", Some(&HashMap::new()), unknown("files"));
        // `__x`, `gone__a__b`: malformed, although the downstream would be unknown as well.
        for name in ["", "nosep", "a__b__c", "__x", "x__", "gone___x", "files__read__", "_", "___"] {
            check(name, Some(&known), malformed(name));
            check(name, None, malformed(name));
        }
    }

    #[test]
    fn errors_name_what_was_asked_for() {
        let texts = ["nosep", "gone__x"].map(|name| resolve(name, None).expect_err("no map").to_string());
        assert_eq!(
            texts,
            [
                "malformed tool name \"nosep\": it must be `downstream__tool` with exactly one `__`",
                "unknown downstream \"gone\""
            ]
        );
    }
}
