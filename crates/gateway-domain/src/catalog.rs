use std::{fmt, ops::Range, sync::Arc};

use crate::{Tool, ToolRef};

/// One tool of a catalogue: its exposed name, where it belongs, and what it is.
#[derive(Clone, PartialEq, Eq)]
pub struct CatalogEntry {
    name: Arc<str>,
    reference: ToolRef,
    tool: Tool,
}

impl CatalogEntry {
    /// An entry whose exposed name is the reference's display form.
    pub fn new(downstream: &str, tool: Tool) -> Self {
        let reference = ToolRef::new(downstream, tool.name());
        Self { name: reference.to_string().into(), reference, tool }
    }

    /// An entry under the tool's own name, for the view of a single downstream (design §5).
    pub fn unprefixed(downstream: &str, tool: Tool) -> Self {
        Self { name: tool.original().clone(), reference: ToolRef::new(downstream, tool.name()), tool }
    }

    /// An entry under a name that the operator gave it, in a profile.
    pub fn renamed(name: &str, downstream: &str, tool: Tool) -> Self {
        Self { name: name.into(), reference: ToolRef::new(downstream, tool.name()), tool }
    }

    /// The exposed name, which is unique in its catalogue.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Downstream and offered name.
    pub fn reference(&self) -> &ToolRef {
        &self.reference
    }

    /// The tool as reported.
    pub fn tool(&self) -> &Tool {
        &self.tool
    }
}

impl fmt::Debug for CatalogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Tools in the byte order of their exposed names, each name once. Immutable; clones and
/// [windows](Self::window) share the entries.
#[derive(Clone)]
pub struct Catalog {
    /// Sorted by name, names unique.
    entries: Arc<[CatalogEntry]>,
    /// The part of `entries` this catalogue shows.
    shown: Range<usize>,
}

/// Two entries of a would-be catalogue have the same exposed name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools have the exposed name {name:?}")]
pub struct DuplicateName {
    /// The name.
    pub name: String,
}

impl Catalog {
    /// Sorts entries into a catalogue.
    ///
    /// # Errors
    /// [`DuplicateName`] if an exposed name stands twice.
    pub fn new(mut entries: Vec<CatalogEntry>) -> Result<Self, DuplicateName> {
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(DuplicateName { name: pair[0].name.to_string() });
        }
        Ok(Self { shown: 0..entries.len(), entries: entries.into() })
    }

    /// The entries in order.
    pub fn entries(&self) -> &[CatalogEntry] {
        &self.entries[self.shown.clone()]
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The tool with this reference.
    pub fn get(&self, reference: &ToolRef) -> Option<&CatalogEntry> {
        self.find(&reference.to_string()).filter(|entry| entry.reference == *reference)
    }

    /// The tool with this exposed name.
    pub fn find(&self, name: &str) -> Option<&CatalogEntry> {
        let entries = self.entries();
        entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok().map(|at| &entries[at])
    }

    /// At most `size` entries whose names are strictly greater than `after` (all if `None`), sharing this
    /// catalogue's entries, and whether more follow. Costs one binary search, no copy (A-W4).
    pub fn window(&self, after: Option<&str>, size: usize) -> (Self, bool) {
        let entries = self.entries();
        let start = after.map_or(0, |after| entries.partition_point(|entry| *entry.name <= *after));
        let end = start.saturating_add(size).min(entries.len());
        let shown = self.shown.start + start..self.shown.start + end;
        (Self { entries: self.entries.clone(), shown }, end < entries.len())
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self { entries: Arc::new([]), shown: 0..0 }
    }
}

impl PartialEq for Catalog {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

impl Eq for Catalog {}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}
