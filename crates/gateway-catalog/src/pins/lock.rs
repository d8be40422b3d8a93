use std::collections::{BTreeMap, HashSet};

use gateway_domain::{DownstreamName, RawObject, Tool};

use super::canonical::{canonical, sha256};

/// A tool as it was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locked {
    downstream: String,
    original: String,
    definition: String,
    digest: String,
}

impl Locked {
    /// The tool as it is.
    pub fn new(downstream: &DownstreamName, tool: &Tool) -> Self {
        Self::of(downstream.to_string(), tool.original().to_string(), tool.definition())
    }

    pub(super) fn of(downstream: String, original: String, definition: &RawObject) -> Self {
        let definition = canonical(definition);
        Self { downstream, original, digest: sha256(&definition), definition }
    }

    /// The downstream that has it.
    pub fn downstream(&self) -> &str {
        &self.downstream
    }

    /// What it calls the tool.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// SHA-256 of [`Self::definition`], in hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The whole definition in its [`canonical`] form.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// Whether both are the same tool, unchanged.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.digest, &self.downstream, &self.original)
            == (&other.digest, &other.downstream, &other.original)
    }
}

/// What tools looked like when they were accepted, by the names they have on `/mcp`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    pub(super) tools: BTreeMap<Box<str>, Locked>,
}

impl Lock {
    /// A lock with all these tools: exposed names, and what they stand for. Of equal names the last counts.
    pub fn new(tools: impl IntoIterator<Item = (String, Locked)>) -> Self {
        Self { tools: tools.into_iter().map(|(name, tool)| (name.into(), tool)).collect() }
    }

    /// The tool of an exposed name.
    pub fn get(&self, name: &str) -> Option<&Locked> {
        self.tools.get(name)
    }

    /// All tools by their exposed names, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Locked)> {
        self.tools.iter().map(|(name, tool)| (&**name, tool))
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The exposed names: what wildcards of the policy may admit (P-50).
    pub fn names(&self) -> HashSet<Box<str>> {
        self.tools.keys().cloned().collect()
    }
}
