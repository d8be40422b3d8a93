//! Which step waits for which (C-32).

use std::{collections::HashMap, sync::Arc};

use super::findings::Findings;
use crate::definition::{Flaws, Place, Step, hint, shown};

/// The steps of a workflow and their dependencies, by their places in the file. May be wrong: rules are looked at one
/// by one.
#[derive(Debug)]
pub(super) struct Graph {
    ids: Vec<Arc<str>>,
    places: HashMap<Arc<str>, usize>,
    /// For each step those that it names, itself left out, each once.
    needs: Vec<Vec<usize>>,
    /// For each step whether the other is done before it begins.
    before: Vec<Vec<bool>>,
    /// Whether there are no other steps than these.
    is_whole: bool,
    /// For each step whether it may wait for more than can be told.
    is_open: Vec<bool>,
}

impl Graph {
    /// Of these steps, if there are others, too; some may have lost their id or their dependencies to a flaw.
    pub(super) fn of(steps: &[Step], is_whole: bool, flaws: &Flaws) -> Self {
        let is_hidden = |at: usize, member| flaws.hide(&Place::step("", at).member(member));
        let all_steps = Place::default().member("steps");
        let is_whole = is_whole && !flaws.hide(&all_steps) && !(0..steps.len()).any(|at| is_hidden(at, "id"));

        let ids: Vec<_> = steps.iter().map(|step| step.id.clone()).collect();
        // Of two steps with one id the first is meant; that there are two is a problem of its own.
        let places = ids.iter().enumerate().rev().map(|(at, id)| (id.clone(), at)).collect();
        let needs: Vec<_> = steps.iter().enumerate().map(|(at, step)| needs(at, step, &places)).collect();
        let before: Vec<_> = (0..steps.len()).map(|at| ancestors(at, &needs)).collect();
        let is_open_itself = |at: usize| {
            let is_strange = |id: &Arc<str>| !places.contains_key(id);
            is_hidden(at, "dependsOn") || !is_whole && steps[at].depends_on.iter().any(is_strange)
        };
        let is_open: Vec<_> = (0..steps.len()).map(is_open_itself).collect();
        Self { ids, places, needs, before, is_whole, is_open }
    }

    /// The place of a step.
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// All ids, in the order of the file.
    pub(super) fn ids(&self) -> &[Arc<str>] {
        &self.ids
    }

    /// What a step waits for itself.
    pub(super) fn needs(&self, at: usize) -> &[usize] {
        &self.needs[at]
    }

    /// Whether step `earlier` is done before `later` begins.
    pub(super) fn is_before(&self, earlier: usize, later: usize) -> bool {
        self.before[later][earlier]
    }

    /// Whether step `earlier` may be done before `later` begins, as far as it can be told.
    pub(super) fn may_be_before(&self, earlier: usize, later: usize) -> bool {
        let before = &self.before[later];
        before[earlier]
            || self.is_open[later]
            || before.iter().zip(&self.is_open).any(|(is, open)| *is && *open)
    }

    /// Whether there are no other steps than are known.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// That there is no such step, and which may be meant.
    pub(super) fn unknown(&self, id: &str) -> String {
        let ids: Vec<&str> = self.ids.iter().map(|id| &**id).filter(|id| !id.is_empty()).collect();
        format!("there is no step `{}`{}", shown(id), hint(id, &ids))
    }

    /// Looks at `dependsOn` of every step.
    pub(super) fn check(&self, steps: &[Step], findings: &mut Findings<'_>) {
        for (at, step) in steps.iter().enumerate() {
            let place = Place::step(&step.id, at).member("dependsOn");
            for (index, id) in step.depends_on.iter().enumerate() {
                let message = match self.place(id) {
                    None if !self.is_whole => continue,
                    None => format!("must name a step of this workflow; {}", self.unknown(id)),
                    Some(named) if named == at => "names the step itself; remove it".to_owned(),
                    Some(_) => continue,
                };
                findings.add(place.element(index).problem(message));
            }
        }
        for circle in self.circles() {
            let at = circle[0];
            let way: Vec<_> =
                circle.iter().chain([&at]).map(|at| format!("`{}`", shown(&self.ids[*at]))).collect();
            let message = format!("goes in a circle, {}; remove one of these", way.join(" -> "));
            findings.add(Place::step(&self.ids[at], at).member("dependsOn").problem(message));
        }
    }

    /// Steps that wait for one another, each circle from its first step in the file on.
    fn circles(&self) -> Vec<Vec<usize>> {
        let mut circles = Vec::new();
        let mut is_told = vec![false; self.ids.len()];
        for start in 0..self.ids.len() {
            if is_told[start] || !self.is_before(start, start) {
                continue;
            }
            let circle = self.circle(start);
            circle.iter().for_each(|at| is_told[*at] = true);
            circles.push(circle);
        }
        circles
    }

    /// The shortest way from a step that waits for itself back to it.
    fn circle(&self, start: usize) -> Vec<usize> {
        let mut came_from: HashMap<usize, usize> = HashMap::new();
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            if self.needs[at].contains(&start) {
                let mut way: Vec<_> =
                    std::iter::successors(Some(at), |at| came_from.get(at).copied()).collect();
                way.reverse();
                return way;
            }
            for &need in &self.needs[at] {
                if need != start && !came_from.contains_key(&need) {
                    came_from.insert(need, at);
                    reached.push(need);
                }
            }
        }
        vec![start]
    }
}

fn needs(at: usize, step: &Step, places: &HashMap<Arc<str>, usize>) -> Vec<usize> {
    let mut needs = Vec::new();
    for need in step.depends_on.iter().filter_map(|id| places.get(id).copied()) {
        if need != at && !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

/// What is done before a step begins. In a circle that is the step itself, too.
fn ancestors(at: usize, needs: &[Vec<usize>]) -> Vec<bool> {
    let mut is_before = vec![false; needs.len()];
    let mut open = needs[at].clone();
    while let Some(next) = open.pop() {
        if !std::mem::replace(&mut is_before[next], true) {
            open.extend(&needs[next]);
        }
    }
    is_before
}
