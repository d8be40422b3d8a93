use std::collections::BTreeSet;

use crate::plan::PlannedStep;

/// Which steps may begin: those whose own needs are done, in the order of the file, so many at once (C-W3). Knows
/// neither time nor what steps do.
#[derive(Debug)]
pub(super) struct Agenda {
    /// How many of its needs each step still waits for.
    waits_for: Vec<usize>,
    /// The steps that need each step, each once.
    dependants: Vec<Vec<usize>>,
    ready: BTreeSet<usize>,
    begun: Vec<bool>,
    running: usize,
    limit: usize,
}

impl Agenda {
    /// Nothing has begun; at most `limit` steps will run at once, but one in any case.
    pub(super) fn new<'a>(steps: impl IntoIterator<Item = &'a PlannedStep>, limit: usize) -> Self {
        Self::of(steps.into_iter().map(|step| step.needs.as_slice()), limit)
    }

    fn of<'a>(needs: impl IntoIterator<Item = &'a [usize]>, limit: usize) -> Self {
        let needs: Vec<BTreeSet<usize>> =
            needs.into_iter().map(|needs| needs.iter().copied().collect()).collect();
        let mut dependants = vec![Vec::new(); needs.len()];
        for (step, needs) in needs.iter().enumerate() {
            for need in needs {
                // A need that there is none of is never done: its step is among those that are left over.
                if let Some(dependants) = dependants.get_mut(*need) {
                    dependants.push(step);
                }
            }
        }
        let waits_for: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
        let ready = (0..needs.len()).filter(|step| waits_for[*step] == 0).collect();
        let begun = vec![false; needs.len()];
        Self { waits_for, dependants, ready, begun, running: 0, limit: limit.max(1) }
    }

    /// The next step that is to begin now. It runs from here on.
    pub(super) fn begin(&mut self) -> Option<usize> {
        if self.running == self.limit {
            return None;
        }
        let step = self.ready.pop_first()?;
        self.begun[step] = true;
        self.running += 1;
        Some(step)
    }

    /// A step that runs is done, however it ended.
    pub(super) fn done(&mut self, step: usize) {
        self.running -= 1;
        for dependant in &self.dependants[step] {
            self.waits_for[*dependant] -= 1;
            if self.waits_for[*dependant] == 0 && !self.begun[*dependant] {
                self.ready.insert(*dependant);
            }
        }
    }

    /// No step begins any more. Those that never did, in the order of the file.
    pub(super) fn drop_rest(&mut self) -> Vec<usize> {
        self.ready.clear();
        let rest = (0..self.begun.len()).filter(|step| !self.begun[*step]).collect();
        self.begun.fill(true);
        rest
    }

    /// Steps that have not begun though nothing runs: they wait for one another.
    pub(super) fn left_over(&self) -> Vec<usize> {
        match self.running {
            0 => (0..self.begun.len()).filter(|step| !self.begun[*step]).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
