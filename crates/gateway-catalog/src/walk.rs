use std::{collections::HashSet, time::Duration};

use gateway_domain::{DownstreamFault, DownstreamSession, Era, Error, ListKind, RawJson, RawObject, Tool};

use crate::{CatalogConfig, Source};

/// How far a downstream's list is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Pages that are asked for.
    pub(crate) pages: usize,
    /// Entries that are kept; tools that the filter does not admit are none of them.
    pub(crate) entries: usize,
}

/// A downstream's whole list, as far as it could be read.
pub(crate) struct Walk {
    list: ListKind,
    /// The entries, of tools those that the filter admits, in the downstream's order.
    entries: Vec<RawObject>,
    /// Why the list is not whole or not as reported, for the operator. At most [`REMARK_LIMIT`].
    remarks: Vec<String>,
    /// How many remarks came after those.
    unsaid: usize,
    /// Whether there was an entry on any page.
    any: bool,
    /// All definitions, also those the filter does not admit, unless that is too many or not the whole list.
    definitions: Option<Vec<RawJson>>,
    /// The shortest time that any of the pages holds.
    ttl: Option<Duration>,
    /// Whether any page says that only who asked may be shown it.
    is_private: bool,
}

/// What a downstream says of how its list may be kept (protocol.md §12).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hints {
    /// For how long it stays as it is; `None` if the downstream does not say.
    pub(crate) ttl: Option<Duration>,
    pub(crate) is_private: bool,
}

impl Walk {
    fn new(list: ListKind) -> Self {
        Self {
            list,
            entries: Vec::new(),
            remarks: Vec::new(),
            unsaid: 0,
            any: false,
            definitions: Some(Vec::new()),
            ttl: None,
            is_private: false,
        }
    }

    /// Why the list is not whole or not as reported; `None` if it is.
    pub(crate) fn reason(&self) -> Option<String> {
        let mut reason = self.remarks.join("; ");
        if self.unsaid > 0 {
            reason.push_str(&format!("; and {} more", self.unsaid));
        }
        Some(reason).filter(|reason| !reason.is_empty())
    }

    fn remark(&mut self, remark: String) {
        if self.remarks.contains(&remark) {
            return;
        }
        match self.remarks.len() < REMARK_LIMIT {
            true => self.remarks.push(remark),
            false => self.unsaid += 1,
        }
    }

    /// Ends the walk early. Why it did is said first, whatever else there is to say.
    fn cut(mut self, why: String) -> Self {
        self.remarks.insert(0, why);
        self.definitions = None;
        self
    }

    /// Whether the downstream gave no entries at all.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// What can be kept for later: the whole list, if it could be read to its end.
    pub(crate) fn take_definitions(&mut self) -> Option<Vec<RawJson>> {
        self.definitions.take()
    }

    pub(crate) fn hints(&self) -> Hints {
        Hints { ttl: self.ttl, is_private: self.is_private }
    }

    pub(crate) fn into_entries(self) -> Vec<RawObject> {
        self.entries
    }

    pub(crate) fn into_tools(self) -> Vec<Tool> {
        self.entries.into_iter().filter_map(Tool::from_definition).collect()
    }

    fn take_page(&mut self, mut entries: Vec<RawObject>, source: &Source, limit: usize) {
        let mut nameless = false;
        if self.list == ListKind::Tools {
            entries.retain(|definition| {
                let has_name = definition.get_text("name").is_some();
                nameless |= !has_name;
                has_name
            });
        }
        if nameless {
            self.remark("a definition without a string `name`".to_owned());
        }
        self.any |= !entries.is_empty();
        let definitions = self.definitions.take();
        self.definitions =
            definitions.filter(|known| known.len() + entries.len() <= limit).map(|mut known| {
                known.extend(entries.iter().map(|definition| definition.raw().clone()));
                known
            });
        let is_admitted = |definition: &RawObject| {
            let name = definition.get_text("name").unwrap_or_default();
            self.list != ListKind::Tools || source.filter.admits(&name)
        };
        self.entries.extend(entries.into_iter().filter(is_admitted));
    }
}

/// How long lists are fresh that say this of themselves, within our own bounds (protocol.md §12).
pub(crate) fn ttl(said: impl IntoIterator<Item = Hints>, config: &CatalogConfig) -> Duration {
    let shortest = said.into_iter().filter_map(|hints| hints.ttl).min();
    shortest.map_or(config.ttl, |ttl| ttl.max(SHORTEST_TTL).min(config.ttl))
}

/// The capability of a downstream that has this list.
pub(crate) fn capability(list: ListKind) -> &'static str {
    match list {
        ListKind::ResourceTemplates => ListKind::Resources.member(),
        list => list.member(),
    }
}

/// Reads all pages of a downstream's list. A cursor that comes again, more pages or more entries
/// than allowed end the walk with what is there (P-W18, G-W1). One that says it has none is not asked.
pub(crate) async fn walk(
    source: &Source,
    session: &dyn DownstreamSession,
    list: ListKind,
    bounds: Bounds,
) -> Result<Walk, Error> {
    let (mut walk, what) = (Walk::new(list), noun(list));
    if !session.peer().capabilities.contains(capability(list)) {
        return Ok(walk);
    }
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..bounds.pages {
        let page = session.list(list, cursor.as_deref()).await?;
        // Legacy revisions have no such members; whatever stands there is something else.
        let is_modern = session.peer().era == Era::Modern;
        walk.ttl = [walk.ttl, page.ttl.filter(|_| is_modern)].into_iter().flatten().min();
        walk.is_private |= page.is_private && is_modern;
        walk.take_page(page.items, source, bounds.entries);
        page.skipped.into_iter().for_each(|reason| walk.remark(reason));
        if walk.entries.len() > bounds.entries {
            return Ok(walk.cut(format!("the list is cut after {} {what}", bounds.entries)));
        }
        let Some(next) = page.next_cursor else { return Ok(walk) };
        if !seen.insert(next.clone()) {
            return Ok(walk.cut("the list is cut: the downstream gave the same cursor twice".into()));
        }
        cursor = Some(next);
    }
    if !walk.any {
        let reason = format!("{} pages of {what} without any", bounds.pages);
        return Err(DownstreamFault::Nonsense { reason }.before(&source.name));
    }
    Ok(walk.cut(format!("the list is cut after {} pages", bounds.pages)))
}

/// What the entries of a list are called.
pub(crate) fn noun(list: ListKind) -> &'static str {
    match list {
        ListKind::ResourceTemplates => "resource templates",
        list => list.member(),
    }
}

/// A downstream whose lists hold for less is not asked more often than this.
const SHORTEST_TTL: Duration = Duration::from_secs(1);

/// So many different remarks on one list are kept; a list may be wrong in as many ways as it has entries.
const REMARK_LIMIT: usize = 8;
