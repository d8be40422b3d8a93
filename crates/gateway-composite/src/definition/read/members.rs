use gateway_domain::RawObject;

use super::{
    super::{DefinitionError, listed, nearest, place::Place, shown},
    value::{Read, Value},
};

/// The members of one object, taken one by one. What is wrong with them is collected in the order of the file.
#[derive(Debug)]
pub(super) struct Members {
    object: RawObject,
    place: Place,
    /// Each with the place of its member.
    problems: Vec<(usize, DefinitionError)>,
}

impl Members {
    /// Those of `object`, which may have no others than `known`.
    pub(super) fn new(object: RawObject, place: Place, known: &[&str]) -> Self {
        Self::explained(object, place, known, |_| None)
    }

    /// The same; `explain` knows more about some names that are unknown here.
    pub(super) fn explained(
        object: RawObject,
        place: Place,
        known: &[&str],
        explain: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let unknown = |name: &str| explain(name).unwrap_or_else(|| strange(name, known));
        let problems = object
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| !known.contains(&name.as_ref()))
            .map(|(at, (name, _))| (at, place.member(&name).problem(unknown(&name))))
            .collect();
        Self { object, place, problems }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.object.contains(name)
    }

    /// What a member holds; `None` if it is not there, or wrong.
    pub(super) fn take<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Read<T>) -> Option<T> {
        let (at, (_, raw)) = self.object.iter().enumerate().find(|(_, (member, _))| member == name)?;
        match read(Value { raw, place: self.place.member(name) }) {
            Ok(value) => Some(value),
            Err(problems) => {
                self.problems.extend(problems.into_iter().map(|problem| (at, problem)));
                None
            }
        }
    }

    /// The same of a member that must be there.
    pub(super) fn demand<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Read<T>) -> Option<T> {
        if !self.has(name) {
            self.report(name, "is required");
        }
        self.take(name, read)
    }

    /// Takes note that something is wrong with a member.
    pub(super) fn report(&mut self, name: &str, message: impl Into<String>) {
        let at = self.object.iter().position(|(member, _)| member == name).unwrap_or(usize::MAX);
        self.problems.push((at, self.place.member(name).problem(message)));
    }

    /// What was built from the members, if nothing is wrong with them. It may only be missing if something is.
    pub(super) fn finish<T>(mut self, built: Option<T>) -> Read<T> {
        match built {
            Some(built) if self.problems.is_empty() => Ok(built),
            _ => {
                self.problems.sort_by_key(|(at, _)| *at);
                Err(self.problems.into_iter().map(|(_, problem)| problem).collect())
            }
        }
    }
}

fn strange(name: &str, known: &[&str]) -> String {
    match nearest(&shown(name), known) {
        Some(word) => format!("is not known; did you mean `{word}`?"),
        None => format!("is not known; there are {}", listed(known)),
    }
}
