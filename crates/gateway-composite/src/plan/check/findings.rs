use crate::definition::{Flaws, Problem};

/// The part of a definition that something stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All that stands above the steps.
    Head,
    /// The step of this place.
    Step(usize),
    Output,
}

/// Every rule that has been found to be broken.
#[derive(Debug)]
pub(super) struct Findings<'a> {
    flaws: &'a Flaws,
    problems: Vec<Problem>,
}

impl<'a> Findings<'a> {
    /// None as yet, of a definition whose form has these flaws.
    pub(super) fn new(flaws: &'a Flaws) -> Self {
        Self { flaws, problems: Vec::new() }
    }

    /// Takes note of a problem, unless it only follows from one of form.
    pub(super) fn add(&mut self, problem: Problem) {
        if !self.flaws.hide(&problem.place) {
            self.problems.push(problem);
        }
    }

    /// A value, or the problem that there is instead.
    pub(super) fn keep<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}
