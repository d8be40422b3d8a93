use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use gateway_domain::RawJson;

use super::{problem::Problem, shown};

/// Where something stands in a definition: the step, and the way from there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) step: Option<Arc<str>>,
    pub(super) field: String,
    /// The same from the definition on, as far as it is known part by part.
    way: Vec<Hop>,
}

/// One part of a way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Hop {
    Member(String),
    Element(usize),
}

impl Place {
    /// A step, by its id, or by its place in the file if it has none.
    pub(crate) fn step(id: &str, index: usize) -> Self {
        let step = if id.is_empty() { format!("#{}", index + 1) } else { shown(id) };
        let way = vec![Hop::Member("steps".to_owned()), Hop::Element(index)];
        Self { step: Some(step.into()), field: String::new(), way }
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
        member.way.push(Hop::Member(name.to_owned()));
        member
    }

    /// An element of what stands here.
    pub(crate) fn element(&self, index: usize) -> Self {
        let mut element = self.within(&format!("[{index}]"));
        element.way.push(Hop::Element(index));
        element
    }

    /// What a way like `query[0]`, `[0].id` or nothing at all leads to from here.
    pub(crate) fn within(&self, way: &str) -> Self {
        let dot = if way.is_empty() || way.starts_with('[') || self.field.is_empty() { "" } else { "." };
        Self { field: format!("{}{dot}{way}", self.field), ..self.clone() }
    }

    /// The way from the definition on.
    pub(crate) fn way(&self) -> &[Hop] {
        &self.way
    }

    /// That something is wrong here; `message` goes on after the field.
    pub(crate) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { place: self.clone(), message: message.into(), cause: None }
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
