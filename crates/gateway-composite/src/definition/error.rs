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
pub struct DefinitionErrors(pub Vec<DefinitionError>);

impl fmt::Display for DefinitionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in &self.0 {
            write!(f, "{separator}{error}")?;
            separator = "; ";
        }
        Ok(())
    }
}

impl std::error::Error for DefinitionErrors {}
