use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, Hash as _, Hasher as _, RandomState},
    sync::{Arc, OnceLock},
};

use gateway_aggregate::{Ownership, PageError, page_of};
use gateway_domain::{CallerError, DownstreamName, Error, InternalError, ListKind, Page, RawJson, View};

use crate::item::{Item, key, prefixed};

/// One entry as clients see it.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// What clients call it by; unique in its list, which is in the order of these.
    pub(crate) name: Arc<str>,
    pub(crate) downstream: DownstreamName,
    pub(crate) item: Arc<Item>,
    json: RawJson,
}

impl Shown {
    /// The entry in a view. On `/mcp` and profiles prompts have a prefix, and URIs a mark where `ownership` has it so.
    pub(crate) fn of(
        list: ListKind,
        view: &View,
        ownership: &Ownership,
        downstream: &DownstreamName,
        item: &Arc<Item>,
    ) -> Self {
        let (name, own) = (downstream.as_str(), &*item.own);
        let other = match (view.downstream(), list) {
            (Some(_), _) | (_, ListKind::Tools) => None,
            (None, ListKind::Prompts) => Some(prefixed(downstream, &item.name)),
            (None, ListKind::Resources) => ownership.shown_uri(name, own),
            (None, ListKind::ResourceTemplates) => ownership.shown_template(name, own),
        };
        Self::under(list, other, downstream, item)
    }

    /// The entry under another name than its own.
    pub(crate) fn under(
        list: ListKind,
        name: Option<String>,
        downstream: &DownstreamName,
        item: &Arc<Item>,
    ) -> Self {
        let json = match &name {
            None => item.definition.raw().clone(),
            Some(name) => item.definition.edit().set(key(list), RawJson::string(name).as_bytes()).finish(),
        };
        let name = name.map_or_else(|| item.own.clone(), Arc::from);
        Self { name, downstream: downstream.clone(), item: item.clone(), json }
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.name == other.name && self.downstream == other.downstream && self.json == other.json
    }
}

/// One list other than that of tools as clients see it: immutable, shared by all who see the same.
pub(crate) struct ItemView {
    pub(crate) generation: u64,
    content: Arc<Content>,
}

struct Content {
    /// Sorted by name, names unique.
    entries: Vec<Shown>,
    page_size: usize,
    /// The pages of a walk from the beginning, by the cursor that asks for each.
    pages: HashMap<String, Part>,
}

struct Part {
    start: usize,
    length: usize,
    next: String,
    rendered: OnceLock<RawJson>,
}

impl ItemView {
    /// Of entries with one name the first is shown.
    pub(crate) fn new(generation: u64, entries: Vec<Shown>, page_size: usize) -> Self {
        let entries = sorted(entries);
        let (mut pages, mut cursor, mut start) = (HashMap::new(), String::new(), 0);
        while let Ok((shown, next)) = page_of(&entries, |entry| &entry.name, &cursor, page_size) {
            let (last, length) = (next.is_empty(), shown.len());
            pages.insert(cursor, Part { start, length, next: next.clone(), rendered: OnceLock::new() });
            if last {
                break;
            }
            (cursor, start) = (next, start + length);
        }
        Self { generation, content: Arc::new(Content { entries, page_size, pages }) }
    }

    /// The view that follows this one with these entries: the same, if clients would see no difference.
    pub(crate) fn next(self: &Arc<Self>, entries: Vec<Shown>, page_size: usize) -> Arc<Self> {
        let entries = sorted(entries);
        let (old, new) = (&self.content.entries, &entries);
        if old.len() == new.len() && old.iter().zip(new).all(|(a, b)| a.is_same_as(b)) {
            return self.clone();
        }
        Arc::new(Self::new(self.generation + 1, entries, page_size))
    }

    /// The same list as another generation: what is not on it has changed.
    pub(crate) fn renewed(&self) -> Self {
        Self { generation: self.generation + 1, content: self.content.clone() }
    }

    /// The part of this list that is kept.
    pub(crate) fn filtered(&self, keep: impl Fn(&Shown) -> bool) -> Self {
        let Content { entries, page_size, .. } = &*self.content;
        let kept = entries.iter().filter(|shown| keep(shown)).cloned().collect();
        Self::new(self.generation, kept, *page_size)
    }

    /// The same for lists that clients see as the same.
    pub(crate) fn digest(&self, hasher: &RandomState) -> u64 {
        let mut state = hasher.build_hasher();
        for entry in &self.content.entries {
            (&entry.name, entry.json.as_bytes()).hash(&mut state);
        }
        state.finish()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.content.entries.is_empty()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Shown> {
        let entries = &self.content.entries;
        entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok().map(|at| &entries[at])
    }

    /// The page that a cursor asks for, rendered once however many ask.
    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<Page, Error> {
        let cursor = cursor.unwrap_or_default();
        let Content { entries, page_size, pages } = &*self.content;
        let Some(part) = pages.get(cursor) else { return rendered(entries, cursor, *page_size) };
        let shown = &entries[part.start..part.start + part.length];
        Ok(answer(part.rendered.get_or_init(|| render(shown)).clone(), part.next.clone()))
    }

    /// A page of this list with more entries, which are shown to nobody else.
    pub(crate) fn page_with(&self, more: Vec<Shown>, cursor: Option<&str>) -> Result<Page, Error> {
        let entries = sorted(self.content.entries.iter().cloned().chain(more).collect());
        let page = rendered(&entries, cursor.unwrap_or_default(), self.content.page_size)?;
        Ok(Page { is_private: true, ..page })
    }
}

impl fmt::Debug for ItemView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemView").field("generation", &self.generation).finish_non_exhaustive()
    }
}

/// Equal names are of `http` resources, which are not marked.
fn sorted(mut entries: Vec<Shown>) -> Vec<Shown> {
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries.dedup_by(|later, first| later.name == first.name);
    entries
}

fn rendered(entries: &[Shown], cursor: &str, size: usize) -> Result<Page, Error> {
    let (shown, next) = page_of(entries, |entry| &entry.name, cursor, size).map_err(|error| match error {
        PageError::Cursor(_) => Error::from(CallerError::InvalidCursor),
        PageError::ZeroSize => InternalError { what: "the page size is zero" }.into(),
    })?;
    Ok(answer(render(shown), next))
}

fn answer(items: RawJson, next: String) -> Page {
    Page::new(items, Some(next).filter(|next| !next.is_empty()))
}

fn render(entries: &[Shown]) -> RawJson {
    RawJson::array(entries.iter().map(|entry| entry.json.clone()))
}
