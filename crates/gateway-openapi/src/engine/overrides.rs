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

impl Override {
    /// This, and where it says nothing of something what the other says of it.
    pub(crate) fn or(&self, other: &Self) -> Self {
        let (mine, others) = (self.clone(), other.clone());
        let mut arguments = others.arguments;
        arguments.extend(mine.arguments);
        Self {
            name: mine.name.or(others.name),
            title: mine.title.or(others.title),
            description: mine.description.or(others.description),
            annotations: mine.annotations.or(others.annotations),
            arguments,
            fields: if mine.fields.is_empty() { others.fields } else { mine.fields },
            output_schema: mine.output_schema.or(others.output_schema),
            timeout: mine.timeout.or(others.timeout),
            max_concurrent: mine.max_concurrent.or(others.max_concurrent),
            rate_limit: mine.rate_limit.or(others.rate_limit),
            max_response_bytes: mine.max_response_bytes.or(others.max_response_bytes),
        }
    }
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

impl AnnotationOverride {
    fn or(self, other: Self) -> Self {
        Self {
            read_only: self.read_only.or(other.read_only),
            destructive: self.destructive.or(other.destructive),
            idempotent: self.idempotent.or(other.idempotent),
            open_world: self.open_world.or(other.open_world),
        }
    }
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
