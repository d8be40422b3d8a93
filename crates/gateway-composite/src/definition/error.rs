use std::{fmt, sync::Arc};

/// What is wrong with a definition (C-41).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionError {
    /// The step it is in, by its id, or by its place (`#3`) if it has none.
    pub step: Option<Arc<str>>,
    /// The member, from the step or the definition on: `onError.retryCount`, `arguments.query[0]`.
    pub field: String,
    /// Which rule is broken and what to do, as the rest of a sentence that begins with the field.
    pub message: String,
    /// What a library said about it.
    pub cause: Option<String>,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = &self.step {
            write!(f, "step `{step}`: ")?;
        }
        write!(f, "`{}` {}", self.field, self.message)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DefinitionError {}

/// Everything that is wrong with a definition, in the order of the file (C-29). Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionErrors(Vec<DefinitionError>);

impl DefinitionErrors {
    /// `None`: nothing is wrong.
    pub(crate) fn of(errors: impl IntoIterator<Item = impl Into<DefinitionError>>) -> Option<Self> {
        let errors: Vec<_> = errors.into_iter().map(Into::into).collect();
        (!errors.is_empty()).then_some(Self(errors))
    }

    /// A workflow that cannot be compiled, and nobody says why.
    pub(crate) fn internal() -> Self {
        let message = "cannot be compiled, and it is not known why; please report it".to_owned();
        Self(vec![DefinitionError { step: None, field: "steps".to_owned(), message, cause: None }])
    }

    /// Each by itself.
    pub fn iter(&self) -> std::slice::Iter<'_, DefinitionError> {
        self.0.iter()
    }
}

impl IntoIterator for DefinitionErrors {
    type Item = DefinitionError;
    type IntoIter = std::vec::IntoIter<DefinitionError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a DefinitionErrors {
    type Item = &'a DefinitionError;
    type IntoIter = std::slice::Iter<'a, DefinitionError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for DefinitionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in self {
            write!(f, "{separator}{error}")?;
            separator = "; ";
        }
        Ok(())
    }
}

impl std::error::Error for DefinitionErrors {}
