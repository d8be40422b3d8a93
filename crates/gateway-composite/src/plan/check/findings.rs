use crate::definition::{DefinitionError, DefinitionErrors};

/// The part of a definition that something is wrong with, in the order in which problems are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// All that stands above the steps.
    Head,
    /// The step of this place.
    Step(usize),
    Output,
}

/// Everything that has been found to be wrong.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<(Part, DefinitionError)>);

impl Findings {
    pub(super) fn add(&mut self, part: Part, problem: DefinitionError) {
        self.0.push((part, problem));
    }

    /// A value, or the problem that there is instead.
    pub(super) fn keep<T>(&mut self, part: Part, result: Result<T, DefinitionError>) -> Option<T> {
        result.map_err(|problem| self.add(part, problem)).ok()
    }

    /// What was made, if nothing is wrong. It may only be missing if something is.
    pub(super) fn unless_any<T>(mut self, made: Option<T>) -> Result<T, DefinitionErrors> {
        match made {
            Some(made) if self.0.is_empty() => Ok(made),
            _ => {
                debug_assert!(!self.0.is_empty(), "nothing is missing without a problem");
                self.0.sort_by_key(|(part, _)| *part);
                // One template may say the same twice.
                self.0.dedup();
                Err(DefinitionErrors(self.0.into_iter().map(|(_, problem)| problem).collect()))
            }
        }
    }
}
