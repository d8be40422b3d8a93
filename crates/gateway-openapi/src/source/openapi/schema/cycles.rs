//! Schemas that lead back to themselves without getting to a part of the value, or that take too long. A validator
//! would never come to an end with them (security.md T16).

use std::collections::{HashMap, HashSet};

use super::{DefinitionId, converter::Converted};

/// How many schemas may be about one value, along one chain of references.
const MOST_HEIGHT: u32 = 64;

/// How many in all, along all chains.
const MOST_WEIGHT: u64 = 20_000;

/// What has to be left out.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// By definition, what references in place in it may not lead to.
    pub(super) references: HashMap<DefinitionId, HashSet<DefinitionId>>,
    /// Whole definitions.
    pub(super) definitions: HashSet<DefinitionId>,
}

/// Walks depth first, without recursion: chains may be as long as the document.
pub(super) fn find<'a>(
    ids: impl Iterator<Item = DefinitionId>,
    of: impl Fn(DefinitionId) -> Option<&'a Converted>,
) -> Cuts {
    let mut walk = Walk::default();
    for id in ids {
        walk.from(id, &of);
    }
    walk.cuts
}

#[derive(Default)]
struct Walk {
    /// By number of the definition.
    states: Vec<State>,
    cuts: Cuts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Open,
    Done {
        height: u32,
        weight: u64,
    },
}

impl Walk {
    fn from<'a>(&mut self, start: DefinitionId, of: &impl Fn(DefinitionId) -> Option<&'a Converted>) {
        if self.state(start) != State::New {
            return;
        }
        self.set(start, State::Open);
        let mut path = vec![(start, 0)];
        while let Some((id, next)) = path.last_mut() {
            let id = *id;
            let references = of(id).map_or(&[][..], |converted| &converted.references);
            let Some(reference) = references.get(*next) else {
                self.close(id, references.iter().filter(|r| r.is_in_place).map(|r| r.target));
                path.pop();
                continue;
            };
            *next += 1;
            if !reference.is_in_place {
                continue;
            }
            match self.state(reference.target) {
                State::Done { .. } => {}
                State::Open => {
                    self.cuts.references.entry(id).or_default().insert(reference.target);
                }
                State::New => {
                    self.set(reference.target, State::Open);
                    path.push((reference.target, 0));
                }
            }
        }
    }

    fn close(&mut self, id: DefinitionId, targets: impl Iterator<Item = DefinitionId>) {
        let (mut height, mut weight) = (0, 1_u64);
        // What leads back is still open, and left out.
        for target in targets {
            if let State::Done { height: below, weight: more } = self.state(target) {
                height = height.max(below + 1);
                weight = weight.saturating_add(more);
            }
        }
        if height > MOST_HEIGHT || weight > MOST_WEIGHT || self.cuts.definitions.contains(&id) {
            self.cuts.definitions.insert(id);
            (height, weight) = (0, 1);
        }
        self.set(id, State::Done { height, weight });
    }

    fn state(&self, id: DefinitionId) -> State {
        self.states.get(id.index()).copied().unwrap_or_default()
    }

    fn set(&mut self, id: DefinitionId, state: State) {
        if self.states.len() <= id.index() {
            self.states.resize(id.index() + 1, State::New);
        }
        self.states[id.index()] = state;
    }
}
