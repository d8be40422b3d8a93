use crate::ir::{Method, Skipped};

/// What became of each operation of a source, for the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The operations that are offered, in the source's order.
    pub taken: Vec<Taken>,
    /// Those that are not: those that the source could not use, then those that were left out by the curation, then
    /// those for which arguments are configured that they do not have.
    pub skipped: Vec<Skipped>,
    /// What is to be known beyond single operations: that there are none, overrides and rules without an operation.
    pub notes: Vec<String>,
}

/// An operation that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its id.
    pub id: String,
    /// How it is asked.
    pub method: Method,
    /// The path below the base URL, placeholders and all.
    pub path: String,
    /// The name of its tool, without a downstream in front.
    pub tool: String,
    /// Inputs that were renamed or left out, schemas that were widened, credentials that it lacks.
    pub notes: Vec<String>,
}
