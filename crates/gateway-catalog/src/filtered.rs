//! Lists as those are shown them who may not see everything, worked out once for all callers of a class.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_aggregate::Ownership;
use gateway_domain::{Caller, Generations, ListKind, View};

use crate::{
    item_view::ItemView,
    shared::Shared,
    view::{ListView, Views},
    visibility::Who,
};

/// Filtered lists by class, the class that was used last at the end.
pub(crate) struct Filtered {
    limit: usize,
    classes: Mutex<VecDeque<(u64, Class)>>,
    hasher: RandomState,
}

#[derive(Default)]
struct Class {
    lists: Lists,
    /// What each list showed last, of views that there are.
    shown: HashMap<(View, ListKind), Seen>,
}

/// The digest of a list, and how often it has become another since it was first shown.
#[derive(Clone, Copy, Hash)]
struct Seen {
    digest: u64,
    changes: u64,
}

type Lists = HashMap<(View, ListKind), Entry>;

/// A list and what it was filtered from; as long as that is the list of everybody, this is the one of the class. What
/// a resource is called on `/mcp`, which rules go by, depends on whose the others are.
#[derive(Clone)]
enum Entry {
    Tools { of: Arc<ListView>, shown: Arc<ListView> },
    Items { of: Arc<ItemView>, among: Arc<Ownership>, shown: Arc<ItemView> },
}

impl Entry {
    fn digest(&self, hasher: &RandomState) -> u64 {
        match self {
            Self::Tools { shown, .. } => shown.digest(hasher),
            Self::Items { shown, .. } => shown.digest(hasher),
        }
    }
}

impl Filtered {
    /// Keeps the lists of so many classes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, classes: Mutex::default(), hasher: RandomState::new() }
    }

    fn get(&self, class: u64, view: &View, list: ListKind) -> Option<Entry> {
        let mut classes = self.classes();
        let at = classes.iter().position(|(known, _)| *known == class)?;
        let known = classes.remove(at)?;
        let entry = known.1.lists.get(&(view.clone(), list)).cloned();
        classes.push_back(known);
        entry
    }

    fn put(&self, class: u64, view: &View, list: ListKind, entry: Entry) {
        if self.limit == 0 {
            return;
        }
        let digest = entry.digest(&self.hasher);
        let mut classes = self.classes();
        if !classes.iter().any(|(known, _)| *known == class) {
            while classes.len() >= self.limit {
                classes.pop_front();
            }
            classes.push_back((class, Class::default()));
        }
        if let Some((_, known)) = classes.iter_mut().find(|(known, _)| *known == class) {
            let key = (view.clone(), list);
            let seen = known.shown.entry(key.clone()).or_insert(Seen { digest, changes: 0 });
            if seen.digest != digest {
                // Counted, since a list that is as it was before may have been seen when it was not.
                *seen = Seen { digest, changes: seen.changes + 1 };
            }
            known.lists.insert(key, entry);
        }
    }

    /// A number for what a class was shown last; `None`: that is not known any more.
    fn number(&self, class: u64, view: &View, list: ListKind) -> Option<u64> {
        let classes = self.classes();
        let (_, known) = classes.iter().find(|(known, _)| *known == class)?;
        Some(self.hasher.hash_one(known.shown.get(&(view.clone(), list))?))
    }

    /// Forgets what was filtered from lists that are shown no more.
    pub(crate) fn retain(&self, current: impl Fn(&View) -> Option<Arc<Views>>) {
        let is_current = |(view, list): &(View, ListKind), entry: &Entry| {
            current(view).is_some_and(|views| match entry {
                Entry::Tools { of, .. } => Arc::ptr_eq(of, &views.tools),
                Entry::Items { of, .. } => Arc::ptr_eq(of, views.items(*list)),
            })
        };
        for (_, class) in self.classes().iter_mut() {
            class.lists.retain(|key, entry| is_current(key, entry));
            class.shown.retain(|(view, _), _| current(view).is_some());
        }
    }

    fn classes(&self) -> MutexGuard<'_, VecDeque<(u64, Class)>> {
        // Every critical section leaves it consistent.
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// The tools of a view that a caller is shown, and whether others may be shown more.
    pub(crate) fn tools_for(
        &self,
        view: &View,
        of: &Arc<ListView>,
        caller: &Caller,
    ) -> (Arc<ListView>, bool) {
        let Some(class) = self.rules.class(caller) else { return (of.clone(), false) };
        let known = self.filtered.get(class, view, ListKind::Tools);
        if let Some(Entry::Tools { of: known, shown }) = known
            && Arc::ptr_eq(&known, of)
        {
            return (shown, true);
        }
        let who = Who::client(caller);
        let shown = Arc::new(of.filtered(|offered| self.rules.judge_tool(who, offered).is_allowed()));
        let entry = Entry::Tools { of: of.clone(), shown: shown.clone() };
        self.filtered.put(class, view, ListKind::Tools, entry);
        (shown, true)
    }

    /// Numbers for what a caller of this class is shown, which are the same for lists that are.
    pub(crate) fn numbers_for(&self, class: u64, view: &View, views: &Views, caller: &Caller) -> Generations {
        self.tools_for(view, &views.tools, caller);
        let number = |list, generation| self.filtered.number(class, view, list).unwrap_or(generation);
        let of_items = |list| {
            self.items_for(list, view, views.items(list), caller);
            number(list, views.items(list).generation)
        };
        Generations {
            tools: number(ListKind::Tools, views.tools.generation),
            prompts: of_items(ListKind::Prompts),
            resources: of_items(ListKind::Resources).wrapping_add(of_items(ListKind::ResourceTemplates)),
        }
    }

    /// The same of another list.
    pub(crate) fn items_for(
        &self,
        list: ListKind,
        view: &View,
        of: &Arc<ItemView>,
        caller: &Caller,
    ) -> (Arc<ItemView>, bool) {
        let Some(class) = self.rules.class(caller) else { return (of.clone(), false) };
        let ownership = self.ownership();
        if let Some(Entry::Items { of: known, among, shown }) = self.filtered.get(class, view, list)
            && Arc::ptr_eq(&known, of)
            && Arc::ptr_eq(&among, &ownership)
        {
            return (shown, true);
        }
        let shown = of.filtered(|shown| {
            self.rules.judge_item(list, caller, &ownership, &shown.downstream, &shown.item)
        });
        let shown = Arc::new(shown);
        let entry = Entry::Items { of: of.clone(), among: ownership, shown: shown.clone() };
        self.filtered.put(class, view, list, entry);
        (shown, true)
    }
}
