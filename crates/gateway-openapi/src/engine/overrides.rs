use std::{collections::BTreeMap, fmt, time::Duration};

use gateway_domain::RawJson;

/// What the operator says of one operation, in place of what the source says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Override {
    /// The tool's name.
    pub name: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its description, to which "Calls METHOD path" is added (E-11).
    pub description: Option<String>,
    /// Changes of what follows from the method (E-14).
    pub annotations: AnnotationOverride,
    /// Inputs, by the name that the tool's schema has for them, that the caller does not give.
    pub arguments: BTreeMap<String, Argument>,
    /// The only members of a JSON answer that are passed on, as paths of names: `["items", "id"]`. Arrays are
    /// passed through, errors of the API stay whole, and a success that is not JSON is not shown. Empty: all.
    pub fields: Vec<Vec<String>>,
    /// Whether the tool has an output schema, if its operation has one.
    pub output_schema: Option<bool>,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// The most calls at once.
    pub max_concurrent: Option<usize>,
    /// How often it may be called.
    pub rate_limit: Option<super::RateLimit>,
    /// The longest text of an answer, in bytes.
    pub max_response_bytes: Option<usize>,
}

/// Hints that are set, whatever the method says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnnotationOverride {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`. True alone also takes back that the tool only reads (E-14).
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

/// An input that the caller does not see.
#[derive(Clone, PartialEq)]
pub enum Argument {
    /// It is never sent.
    Hidden,
    /// It always has this value.
    Fixed(RawJson),
}

/// Shows no value: it may be a secret.
impl fmt::Debug for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hidden => "Hidden",
            Self::Fixed(_) => "Fixed",
        })
    }
}
