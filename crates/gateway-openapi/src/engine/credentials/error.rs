/// Why credentials cannot be used as they are configured. For the operator; shows no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The API has no such scheme.
    #[error("the API has no security scheme {name:?}; {}", listed(.known))]
    UnknownScheme {
        /// What is configured.
        name: String,
        /// What the API has, sorted.
        known: Vec<String>,
    },
    /// The scheme needs something else.
    #[error("security scheme {scheme:?} is {kind}; it needs {needed}")]
    Mismatch {
        /// Which.
        scheme: String,
        /// What it is.
        kind: String,
        /// What can be configured for it.
        needed: &'static str,
    },
    /// What is configured, or what the scheme says, cannot be sent.
    #[error("security scheme {scheme:?}: {reason}")]
    Unusable {
        /// Which.
        scheme: String,
        /// Why, and what to do.
        reason: String,
    },
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "it has none".into(),
        names => format!("it has {}", names.join(", ")),
    }
}
