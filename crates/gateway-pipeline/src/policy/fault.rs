use std::fmt;

/// Everything that is wrong with the rules (P-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFaults {
    /// In the order of the configuration; at least one.
    pub errors: Vec<PolicyError>,
}

impl fmt::Display for PolicyFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.errors.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyFaults {}

/// What is wrong with one place of the rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct PolicyError {
    /// Where, as `clients.desk.allow[0]` or `policy.rules[2].names[1]`.
    pub place: String,
    /// What.
    pub fault: PolicyFault,
}

/// A fault of the rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFault {
    /// A text is empty.
    #[error("is empty")]
    Empty,
    /// A list is there and has nothing in it.
    #[error("is an empty list, which nothing ever matches; leave it out, or name something")]
    EmptyList,
    /// A pattern is longer than any name.
    #[error("is longer than {limit} bytes")]
    TooLong {
        /// The most bytes.
        limit: usize,
    },
    /// There is too much of something.
    #[error("has more than {limit} entries")]
    TooMany {
        /// The most there may be.
        limit: usize,
    },
    /// A pattern has a character that no name has.
    #[error("has the control character U+{character:04X}")]
    Control {
        /// Its code point.
        character: u32,
    },
    /// Two clients have the same name.
    #[error("is the name of another client too")]
    DuplicateClient,
    /// A pattern over methods matches none.
    #[error("{pattern:?} matches none of the methods {known}")]
    UnknownMethod {
        /// The pattern.
        pattern: String,
        /// Those there are.
        known: String,
    },
    /// A rule asks for a configured client and for a token.
    #[error("asks for a configured client and for a token at once; no caller has both")]
    ClientAndToken,
    /// A rule allows something to a subject of any issuer.
    #[error("allows something to subjects of any issuer; name the `issuers`")]
    SubjectOfAnyIssuer,
    /// The name of a claim is no JSON Pointer although it begins like one.
    #[error("is no JSON Pointer: `~` is followed by neither 0 nor 1")]
    Pointer,
}
