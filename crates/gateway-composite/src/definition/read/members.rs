use gateway_domain::RawObject;

use super::{
    super::{Draft, Flaws, hint, nearest, place::Place, shown},
    value::{Read, Value},
};

/// The members of one object, taken one by one. What is wrong with them is collected.
#[derive(Debug)]
pub(super) struct Members {
    object: RawObject,
    place: Place,
    flaws: Flaws,
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
        let mut flaws = Flaws::default();
        for (name, _) in object.iter().filter(|(name, _)| !known.contains(&name.as_ref())) {
            let message = explain(&name).unwrap_or_else(|| strange(&name, known));
            flaws.problems.push(place.member(&name).problem(message));
            // It is not missing if it is only misspelt.
            if let Some(meant) = nearest(&name, known).filter(|meant| !object.contains(meant)) {
                flaws.leave_out(&place.member(meant));
            }
        }
        Self { object, place, flaws }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.object.contains(name)
    }

    /// What a member holds; `None` if it is not there, or wrong, and then left out.
    pub(super) fn take<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Read<T>) -> Option<T> {
        let value = self.value(name)?;
        let place = value.place.clone();
        match read(value) {
            Ok(value) => Some(value),
            Err(problems) => {
                self.flaws.problems.extend(problems);
                self.flaws.leave_out(&place);
                None
            }
        }
    }

    /// What can be read of a member; `None` if it is not there.
    pub(super) fn draft<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Draft<T>) -> Option<T> {
        let draft = read(self.value(name)?);
        self.flaws.absorb(draft.flaws);
        Some(draft.value)
    }

    fn value(&self, name: &str) -> Option<Value> {
        Some(Value { raw: self.object.get(name)?, place: self.place.member(name) })
    }

    /// Takes note that a member has to be there, and is not.
    pub(super) fn demand(&mut self, name: &str) {
        if !self.has(name) {
            self.report(name, "is required");
            self.leave_out(name);
        }
    }

    /// Takes note that something is wrong with a member.
    pub(super) fn report(&mut self, name: &str, message: impl Into<String>) {
        self.flaws.problems.push(self.place.member(name).problem(message));
    }

    /// Takes note that nothing can be said of a member.
    pub(super) fn leave_out(&mut self, name: &str) {
        self.flaws.leave_out(&self.place.member(name));
    }

    /// What was built from the members, if nothing is wrong with them.
    pub(super) fn finish<T>(self, built: T) -> Read<T> {
        if self.flaws.problems.is_empty() { Ok(built) } else { Err(self.flaws.problems) }
    }

    /// What was built from the members that are right.
    pub(super) fn drafted<T>(self, value: T) -> Draft<T> {
        Draft { value, flaws: self.flaws }
    }
}

fn strange(name: &str, known: &[&str]) -> String {
    format!("is not known{}", hint(&shown(name), known))
}
