use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::plan::Workflow;

/// Workflows by the names that they are shown and called by, in the order of these.
#[derive(Debug, Clone, Default)]
pub struct Definitions(BTreeMap<Arc<str>, Arc<Workflow>>);

/// Two workflows have one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateWorkflow {
    /// The name.
    pub name: Arc<str>,
}

impl fmt::Display for DuplicateWorkflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there are two workflows `{}`; give one of them another name", self.name)
    }
}

impl std::error::Error for DuplicateWorkflow {}

impl Definitions {
    /// All of these.
    ///
    /// # Errors
    /// Two of them have one name.
    pub fn of(workflows: impl IntoIterator<Item = Arc<Workflow>>) -> Result<Self, DuplicateWorkflow> {
        let mut definitions = Self::default();
        for workflow in workflows {
            definitions.add(workflow)?;
        }
        Ok(definitions)
    }

    /// One more.
    ///
    /// # Errors
    /// There is one of its name; then everything stays as it was.
    pub fn add(&mut self, workflow: Arc<Workflow>) -> Result<(), DuplicateWorkflow> {
        let name = workflow.definition().name.clone();
        if self.0.contains_key(&name) {
            return Err(DuplicateWorkflow { name });
        }
        self.0.insert(name, workflow);
        Ok(())
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Workflow>> {
        self.0.get(name)
    }

    /// Whether there is one of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Workflow>> {
        self.0.values()
    }

    /// Their names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.0.keys()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that are chosen.
    pub(super) fn filtered(&self, is_chosen: impl Fn(&Workflow) -> bool) -> Self {
        let chosen = self.0.iter().filter(|(_, workflow)| is_chosen(workflow));
        Self(chosen.map(|(name, workflow)| (name.clone(), workflow.clone())).collect())
    }
}
