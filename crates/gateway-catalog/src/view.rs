use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    hash::{BuildHasher, Hash as _, Hasher as _, RandomState},
    sync::{Arc, OnceLock},
};

use gateway_aggregate::page;
use gateway_domain::{
    CallerError, Catalog, CatalogEntry, Era, Error, Generations, InternalError, ListKind, OfferedTool, Page,
    RawJson,
};

use crate::{item::Others, item_view::ItemView, offer::Seeker, signal::Changes};

/// All lists of a view.
pub(crate) struct Views {
    pub(crate) tools: Arc<ListView>,
    pub(crate) prompts: Arc<ItemView>,
    pub(crate) resources: Arc<ItemView>,
    pub(crate) templates: Arc<ItemView>,
}

impl Views {
    /// Views that show nothing yet.
    pub(crate) fn empty(generation: u64, page_size: usize) -> Self {
        let items = || Arc::new(ItemView::new(generation, Vec::new(), page_size));
        let tools = ListView::new(generation, Catalog::default(), HashMap::new(), page_size);
        Self { tools: Arc::new(tools), prompts: items(), resources: items(), templates: items() }
    }

    /// Of tools there is another view.
    pub(crate) fn items(&self, list: ListKind) -> &Arc<ItemView> {
        match list {
            ListKind::Tools | ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::ResourceTemplates => &self.templates,
        }
    }

    pub(crate) fn generations(&self) -> Generations {
        Generations {
            tools: self.tools.generation,
            prompts: self.prompts.generation,
            resources: self.resources.generation + self.templates.generation,
        }
    }

    /// Grows with each of them.
    pub(crate) fn generation(&self) -> u64 {
        let Generations { tools, prompts, resources } = self.generations();
        tools + prompts + resources
    }

    /// Above the generation of each of its lists.
    pub(crate) fn ceiling(&self) -> u64 {
        let items = Others::KINDS.iter().map(|list| self.items(*list).generation);
        items.fold(self.tools.generation, u64::max) + 1
    }

    /// The same lists as other generations, those that are said to have changed.
    pub(crate) fn renewed(&self, changes: Changes) -> Self {
        let items = |view: &Arc<ItemView>, is_changed| match is_changed {
            true => Arc::new(view.renewed()),
            false => view.clone(),
        };
        Self {
            tools: if changes.tools { Arc::new(self.tools.renewed()) } else { self.tools.clone() },
            prompts: items(&self.prompts, changes.prompts),
            resources: items(&self.resources, changes.resources),
            templates: self.templates.clone(),
        }
    }
}

/// One list of tools as clients see it: immutable, shared by all who see the same.
pub(crate) struct ListView {
    pub(crate) generation: u64,
    shown: Arc<Shown>,
    /// Tools that are on no page and that workflows can use (C-79), by the names they would have there.
    hidden: Arc<HiddenTools>,
}

pub(crate) type HiddenTools = BTreeMap<Arc<str>, Arc<OfferedTool>>;

struct Shown {
    catalog: Catalog,
    tools: HashMap<Arc<str>, Arc<OfferedTool>>,
    page_size: usize,
    /// The pages of a walk from the beginning, by the cursor that asks for each.
    pages: HashMap<String, Part>,
}

struct Part {
    catalog: Catalog,
    next: String,
    modern: OnceLock<RawJson>,
    /// The same bytes where clients of both eras can read them.
    legacy: OnceLock<RawJson>,
}

impl Part {
    fn rendered(&self, era: Era) -> &RawJson {
        let modern = || self.modern.get_or_init(|| render(&self.catalog, Era::Modern));
        match era {
            Era::Modern => modern(),
            Era::Legacy => self.legacy.get_or_init(|| {
                let same = self.catalog.entries().iter().all(|entry| entry.tool().is_legacy());
                if same { modern().clone() } else { render(&self.catalog, Era::Legacy) }
            }),
        }
    }
}

impl ListView {
    /// A view of `catalog`; `tools` has an entry for each of its names.
    pub(crate) fn new(
        generation: u64,
        catalog: Catalog,
        tools: HashMap<Arc<str>, Arc<OfferedTool>>,
        page_size: usize,
    ) -> Self {
        let mut pages = HashMap::new();
        let mut cursor = String::new();
        while let Ok((shown, next)) = page(&catalog, &cursor, page_size) {
            let last = next.is_empty();
            let (modern, legacy) = (OnceLock::new(), OnceLock::new());
            pages.insert(cursor, Part { catalog: shown, next: next.clone(), modern, legacy });
            if last {
                break;
            }
            cursor = next;
        }
        let shown = Arc::new(Shown { catalog, tools, page_size, pages });
        Self { generation, shown, hidden: Arc::default() }
    }

    /// The same list as another generation: what is not on it has changed.
    pub(crate) fn renewed(&self) -> Self {
        Self { generation: self.generation + 1, shown: self.shown.clone(), hidden: self.hidden.clone() }
    }

    /// The same list of the same generation.
    pub(crate) fn same(&self) -> Self {
        Self { generation: self.generation, shown: self.shown.clone(), hidden: self.hidden.clone() }
    }

    /// The same list, of the same generation, with these tools hidden behind it.
    pub(crate) fn hiding(self, hidden: HiddenTools) -> Self {
        Self { hidden: Arc::new(hidden), ..self }
    }

    pub(crate) fn tool(&self, seeker: Seeker, name: &str) -> Option<&Arc<OfferedTool>> {
        let hidden = || self.hidden.get(name).filter(|_| seeker == Seeker::Step);
        self.shown.tools.get(name).or_else(hidden)
    }

    /// Whether the same tools are hidden behind it.
    pub(crate) fn hides_the_same(&self, hidden: &HiddenTools) -> bool {
        let is_same = |(name, known): (&Arc<str>, &Arc<OfferedTool>)| {
            let tool = hidden.get(name);
            tool.is_some_and(|tool| tool.downstream == known.downstream && tool.tool == known.tool)
        };
        self.hidden.len() == hidden.len() && self.hidden.iter().all(is_same)
    }

    /// The part of this list that is kept, for lists: behind it nothing is hidden.
    pub(crate) fn filtered(&self, keep: impl Fn(&OfferedTool) -> bool) -> Self {
        let tools = self.shown.tools.iter().filter(|(_, offered)| keep(offered));
        let tools: HashMap<_, _> = tools.map(|(name, offered)| (name.clone(), offered.clone())).collect();
        let entries = self.shown.catalog.entries().iter().filter(|entry| tools.contains_key(entry.name()));
        // Names that are unique among all are so among some.
        let catalog = Catalog::new(entries.cloned().collect()).unwrap_or_default();
        Self::new(self.generation, catalog, tools, self.shown.page_size)
    }

    /// The same for lists that clients see as the same.
    pub(crate) fn digest(&self, hasher: &RandomState) -> u64 {
        let mut state = hasher.build_hasher();
        for entry in self.shown.catalog.entries() {
            (entry.name(), entry.tool().definition().raw().as_bytes()).hash(&mut state);
        }
        state.finish()
    }

    /// The entries with their tools, in the order of names.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&CatalogEntry, &Arc<OfferedTool>)> {
        let Shown { catalog, tools, .. } = &*self.shown;
        catalog.entries().iter().filter_map(|entry| Some((entry, tools.get(entry.name())?)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those behind it that clients are not shown.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Arc<OfferedTool>> {
        self.hidden.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.shown.catalog.len()
    }

    /// Whether clients would see no difference.
    pub(crate) fn shows_the_same(&self, catalog: &Catalog) -> bool {
        self.shown.catalog == *catalog
    }

    /// The page that a cursor asks for, rendered once however many ask.
    pub(crate) fn page(&self, era: Era, cursor: Option<&str>) -> Result<Page, Error> {
        // "" is no cursor that was ever given out, but what the first page has been asked for with.
        let cursor = cursor.unwrap_or_default();
        if let Some(page) = self.shown.pages.get(cursor) {
            return Ok(answer(page.rendered(era).clone(), page.next.clone()));
        }
        rendered(&self.shown.catalog, era, cursor, self.shown.page_size)
    }

    /// A page of this list with more entries, which are shown to nobody else.
    pub(crate) fn page_with(
        &self,
        more: impl IntoIterator<Item = CatalogEntry>,
        era: Era,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        let entries = self.shown.catalog.entries().iter().cloned().chain(more).collect();
        let catalog = Catalog::new(entries).map_err(|_| InternalError { what: "a name stands twice" })?;
        let page = rendered(&catalog, era, cursor.unwrap_or_default(), self.shown.page_size)?;
        Ok(Page { is_private: true, ..page })
    }
}

fn rendered(catalog: &Catalog, era: Era, cursor: &str, size: usize) -> Result<Page, Error> {
    let (shown, next) = page(catalog, cursor, size).map_err(|error| match error {
        gateway_aggregate::PageError::Cursor(_) => Error::from(CallerError::InvalidCursor),
        gateway_aggregate::PageError::ZeroSize => InternalError { what: "the page size is zero" }.into(),
    })?;
    Ok(answer(render(&shown, era), next))
}

impl fmt::Debug for ListView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListView").field("generation", &self.generation).finish_non_exhaustive()
    }
}

fn answer(tools: RawJson, next: String) -> Page {
    Page::new(tools, Some(next).filter(|next| !next.is_empty()))
}

fn render(catalog: &Catalog, era: Era) -> RawJson {
    RawJson::array(catalog.entries().iter().map(|entry| entry.tool().render(entry.name(), era)))
}
