use std::fmt;

/// Why an operation cannot be used, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault(Box<str>);

impl Fault {
    pub(super) fn new(reason: impl Into<Box<str>>) -> Self {
        Self(reason.into())
    }

    /// A reference that cannot be followed.
    pub(super) fn reference(reference: &str, why: impl fmt::Display) -> Self {
        let shown: String = reference.chars().take(MOST_SHOWN).collect();
        Self(format!("the reference {shown:?} {why}").into())
    }

    /// The same, within something that has a name.
    pub(super) fn within(&self, what: impl fmt::Display) -> Self {
        Self(format!("{what}: {}", self.0).into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Characters of a reference; what is longer is no help.
const MOST_SHOWN: usize = 200;
