//! Which process belongs to which tree.

use std::collections::{BTreeMap, HashMap};

use crate::{lifeline, processes::Seen};

/// Who is looking.
#[derive(Debug, Clone, Copy)]
pub(super) struct Us {
    pub(super) id: u32,
    pub(super) session: u32,
    /// Orphans of the trees come to us, so that every process of them descends from us.
    pub(super) adopts: bool,
}

/// A tree as it is known before the look.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) leader: u32,
    pub(super) started: u64,
    pub(super) marker: Option<String>,
    /// Its leader has ended, or is being ended.
    pub(super) ending: bool,
}

/// What a process carries with it: what it has in [`lifeline::VARIABLE`], and its [`lifeline::tag`].
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    pub(super) variable: Option<Vec<u8>>,
    pub(super) tag: Option<u64>,
}

impl Marks {
    fn are_of(&self, tree: &Known) -> bool {
        let Some(marker) = &tree.marker else { return false };
        self.variable.as_deref() == Some(marker.as_bytes())
            || self.tag.is_some() && self.tag == lifeline::tag(marker)
    }
}

/// What was seen of the trees.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// The members of each tree but its leader and those that are about to be reaped.
    pub(super) members: BTreeMap<u32, Vec<Seen>>,
    /// Members of trees that are gone.
    pub(super) strays: Vec<Seen>,
    /// Orphans that have ended and are ours to reap.
    pub(super) ended: Vec<u32>,
    /// There are orphans that belong to one of several trees.
    pub(super) unclaimed: bool,
}

/// Whose a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Tree(u32),
    /// One of the trees that were there when it was started; nobody knows which.
    Unclaimed,
    /// No tree's.
    Foreign,
}

/// Remembers whose each process is, since some can be known only while their parents live.
#[derive(Debug, Default)]
pub(super) struct Census {
    owners: HashMap<(u32, u64), Owner>,
}

impl Census {
    /// Finds the owner of each process. In this order: the session it is in; what was known before; its parent's
    /// owner; and for an orphan what it carries, which `marks` reads, or if that is nothing, the tree whose leader
    /// has just gone. What is left belongs to one of the trees that were there when it was
    /// started, and is a stray once none of them is.
    pub(super) fn take(
        &mut self,
        us: &Us,
        trees: &[Known],
        seen: &[Seen],
        marks: impl Fn(u32) -> Marks,
    ) -> Count {
        let look = Look {
            us,
            trees,
            before: &self.owners,
            leaders: trees.iter().map(|tree| (tree.leader, tree)).collect(),
            seen: seen.iter().map(|process| (process.id, process)).collect(),
            marks,
        };
        let mut owners = HashMap::new();
        let mut count = Count::default();
        for process in seen {
            let owner = look.owner(process, &mut owners);
            count.add(&look, process, owner);
        }
        owners.retain(|_, owner| *owner != Owner::Foreign);
        self.owners = owners;
        count
    }
}

impl Count {
    fn add<F>(&mut self, look: &Look<'_, F>, process: &Seen, owner: Owner) {
        if look.leaders.contains_key(&process.id) {
            return;
        }
        if process.ended && process.parent == look.us.id && process.session != look.us.session {
            self.ended.push(process.id);
            return;
        }
        match owner {
            Owner::Foreign => {}
            Owner::Tree(leader) if look.leaders.contains_key(&leader) => {
                self.members.entry(leader).or_default().push(*process);
            }
            Owner::Unclaimed if look.may_be_claimed(process) => self.unclaimed = true,
            Owner::Tree(_) | Owner::Unclaimed => self.strays.push(*process),
        }
    }
}

struct Look<'a, F> {
    us: &'a Us,
    trees: &'a [Known],
    before: &'a HashMap<(u32, u64), Owner>,
    leaders: HashMap<u32, &'a Known>,
    seen: HashMap<u32, &'a Seen>,
    marks: F,
}

impl<F> Look<'_, F> {
    fn may_be_claimed(&self, process: &Seen) -> bool {
        self.trees.iter().any(|tree| tree.started <= process.started)
    }
}

impl<F: Fn(u32) -> Marks> Look<'_, F> {
    /// Goes up from parent to parent to the first whose owner is known, and remembers the answer for all.
    fn owner(&self, process: &Seen, owners: &mut HashMap<(u32, u64), Owner>) -> Owner {
        let (mut current, mut path) = (process, Vec::new());
        let owner = loop {
            let id = (current.id, current.started);
            if let Some(owner) = owners.get(&id).copied().or_else(|| self.known(current)) {
                path.push(id);
                break owner;
            }
            path.push(id);
            match self.seen.get(&current.parent) {
                // What was seen at different moments could make a circle.
                Some(parent) if parent.id != self.us.id && path.len() < self.seen.len() => current = parent,
                _ => break self.orphan(current),
            }
        };
        owners.extend(path.into_iter().map(|id| (id, owner)));
        owner
    }

    fn known(&self, process: &Seen) -> Option<Owner> {
        if process.id == self.us.id || process.session == self.us.session {
            return Some(Owner::Foreign);
        }
        if self.leaders.contains_key(&process.session) {
            return Some(Owner::Tree(process.session));
        }
        self.before.get(&(process.id, process.started)).copied()
    }

    fn orphan(&self, orphan: &Seen) -> Owner {
        let ours = orphan.parent == self.us.id;
        // One that has ended has no environment left, and only has to be reaped.
        if orphan.ended || self.us.adopts && !ours {
            return Owner::Foreign;
        }
        let marks = (self.marks)(orphan.id);
        if let Some(tree) = self.trees.iter().find(|tree| marks.are_of(tree)) {
            return Owner::Tree(tree.leader);
        }
        // The first process of a container also gets the orphans of those that were put into it from outside.
        if !ours || self.us.id == 1 {
            return Owner::Foreign;
        }
        let suspect = self.trees.iter().find(|tree| tree.ending && tree.started <= orphan.started);
        suspect.map_or(Owner::Unclaimed, |tree| Owner::Tree(tree.leader))
    }
}

#[cfg(test)]
mod tests;
