use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use gateway_domain::RawJson;

use super::{DefinitionError, shown};

/// Where something stands in a definition: the step, and the way from there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    step: Option<Arc<str>>,
    field: String,
}

impl Place {
    /// A step, by its id, or by its place in the file if it has none.
    pub(crate) fn step(id: &str, index: usize) -> Self {
        let step = if id.is_empty() { format!("#{}", index + 1) } else { shown(id) };
        Self { step: Some(step.into()), field: String::new() }
    }

    /// A member of what stands here.
    pub(crate) fn member(&self, name: &str) -> Self {
        let mut member = self.clone();
        let is_plain = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$'));
        let _ = match (is_plain, self.field.is_empty()) {
            (true, true) => write!(member.field, "{name}"),
            (true, false) => write!(member.field, ".{name}"),
            (false, _) => write!(member.field, "[{}]", RawJson::string(&shown(name))),
        };
        member
    }

    /// An element of what stands here.
    pub(crate) fn element(&self, index: usize) -> Self {
        Self { step: self.step.clone(), field: format!("{}[{index}]", self.field) }
    }

    /// What a way like `query[0]`, `[0].id` or nothing at all leads to from here.
    pub(crate) fn within(&self, way: &str) -> Self {
        let dot = if way.is_empty() || way.starts_with('[') || self.field.is_empty() { "" } else { "." };
        Self { step: self.step.clone(), field: format!("{}{dot}{way}", self.field) }
    }

    /// That something is wrong here; `message` goes on after the field.
    pub(crate) fn problem(&self, message: impl Into<String>) -> DefinitionError {
        DefinitionError {
            step: self.step.clone(),
            field: self.field.clone(),
            message: message.into(),
            cause: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "`{}` of step `{step}`", self.field),
            None => write!(f, "`{}`", self.field),
        }
    }
}
