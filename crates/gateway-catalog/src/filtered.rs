//! Lists as those are shown them who may not see everything, worked out once for all callers of a class.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_aggregate::Ownership;
use gateway_domain::{Caller, ListKind, View};

use crate::{
    item_view::ItemView,
    shared::Shared,
    view::{ListView, Views},
    visibility::Who,
};

/// Filtered lists by class, the class that was used last at the end.
pub(crate) struct Filtered {
    limit: usize,
    classes: Mutex<VecDeque<(u64, Lists)>>,
}

type Lists = HashMap<(View, ListKind), Entry>;

/// A list and what it was filtered from; as long as that is the list of everybody, this is the one of the class. What
/// a resource is called on `/mcp`, which rules go by, depends on whose the others are.
#[derive(Clone)]
enum Entry {
    Tools { of: Arc<ListView>, shown: Arc<ListView> },
    Items { of: Arc<ItemView>, among: Arc<Ownership>, shown: Arc<ItemView> },
}

impl Filtered {
    /// Keeps the lists of so many classes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, classes: Mutex::default() }
    }

    fn get(&self, class: u64, view: &View, list: ListKind) -> Option<Entry> {
        let mut classes = self.classes();
        let at = classes.iter().position(|(known, _)| *known == class)?;
        let known = classes.remove(at)?;
        let entry = known.1.get(&(view.clone(), list)).cloned();
        classes.push_back(known);
        entry
    }

    fn put(&self, class: u64, view: &View, list: ListKind, entry: Entry) {
        if self.limit == 0 {
            return;
        }
        let mut classes = self.classes();
        if !classes.iter().any(|(known, _)| *known == class) {
            while classes.len() >= self.limit {
                classes.pop_front();
            }
            classes.push_back((class, Lists::default()));
        }
        if let Some((_, lists)) = classes.iter_mut().find(|(known, _)| *known == class) {
            lists.insert((view.clone(), list), entry);
        }
    }

    /// Forgets what was filtered from lists that are shown no more.
    pub(crate) fn retain(&self, current: impl Fn(&View) -> Option<Arc<Views>>) {
        let is_current = |(view, list): &(View, ListKind), entry: &Entry| {
            current(view).is_some_and(|views| match entry {
                Entry::Tools { of, .. } => Arc::ptr_eq(of, &views.tools),
                Entry::Items { of, .. } => Arc::ptr_eq(of, views.items(*list)),
            })
        };
        self.classes().iter_mut().for_each(|(_, lists)| lists.retain(|key, entry| is_current(key, entry)));
    }

    fn classes(&self) -> MutexGuard<'_, VecDeque<(u64, Lists)>> {
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
