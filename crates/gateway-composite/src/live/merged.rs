use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{Era, Page, RawJson, RawObject};

use crate::{
    plan::Workflow,
    tools::{Floor, tool_of},
};

/// How many pages are remembered, of those that have workflows on them: each once for each era and each set that
/// somebody can use. Beyond that they are merged anew.
const PAGES: usize = 16;

/// A workflow that somebody can use, and what its tools allow to be said of it.
pub(super) type Shown = (Arc<Workflow>, Option<Floor>);

/// Pages of tools with workflows among them, so that what many ask for is merged once.
#[derive(Default)]
pub(super) struct Merged {
    /// The latest last.
    pages: Mutex<VecDeque<Entry>>,
}

struct Entry {
    /// The page without workflows. It is kept, so that no other one can be where it is in memory.
    inner: RawJson,
    era: Era,
    shown: Vec<Shown>,
    merged: RawJson,
}

impl Merged {
    /// The tools of a page with these workflows among them, both in the order of their names. What is not for
    /// everybody is not kept.
    pub(super) fn items(&self, page: &Page, era: Era, shown: Vec<Shown>) -> RawJson {
        let inner = &page.items;
        if shown.is_empty() {
            return inner.clone();
        }
        if page.is_private {
            return merge(inner, era, &shown);
        }
        let known = self.pages().iter().find(|entry| entry.is(inner, era, &shown)).map(|e| e.merged.clone());
        known.unwrap_or_else(|| {
            let merged = merge(inner, era, &shown);
            self.keep(Entry { inner: inner.clone(), era, shown, merged: merged.clone() });
            merged
        })
    }

    fn keep(&self, entry: Entry) {
        let mut pages = self.pages();
        if pages.len() == PAGES {
            pages.pop_front();
        }
        pages.push_back(entry);
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        // Every critical section leaves it consistent.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Whether this is the page, told without comparing its text.
    fn is(&self, inner: &RawJson, era: Era, shown: &[Shown]) -> bool {
        std::ptr::eq(self.inner.as_bytes(), inner.as_bytes())
            && self.era == era
            && self.shown.len() == shown.len()
            && self.shown.iter().zip(shown).all(|(a, b)| Arc::ptr_eq(&a.0, &b.0) && a.1 == b.1)
    }
}

/// The page with the workflows put where their names belong. Where a tool has come meanwhile that has the name of a
/// workflow, the tool keeps it.
pub(super) fn merge(inner: &RawJson, era: Era, shown: &[Shown]) -> RawJson {
    let mut workflows = shown.iter().peekable();
    let name = |(workflow, _): &Shown| workflow.definition().name.clone();
    let mut items = Vec::new();
    for item in inner.elements(usize::MAX).unwrap_or_default() {
        if let Some(tool) = RawObject::try_from(item.clone()).ok().and_then(|tool| tool.get_text("name")) {
            while let Some(shown) = workflows.next_if(|shown| *name(shown) < *tool) {
                items.push(rendered(shown, era));
            }
            workflows.next_if(|shown| *name(shown) == *tool);
        }
        items.push(item);
    }
    items.extend(workflows.map(|shown| rendered(shown, era)));
    RawJson::array(items)
}

fn rendered((workflow, floor): &Shown, era: Era) -> RawJson {
    tool_of(workflow, *floor).render(&workflow.definition().name, era)
}
