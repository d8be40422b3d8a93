use std::collections::HashMap;

use gateway_domain::RawJson;

/// Documents as JSON, each once, the one that was asked for first.
#[derive(Debug)]
pub(crate) struct Shelf {
    documents: Vec<RawJson>,
    links: HashMap<Wanted, Result<DocumentId, String>>,
}

/// A document on a shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct DocumentId(usize);

impl DocumentId {
    pub(super) fn number(self) -> usize {
        self.0
    }
}

/// A reference from one document to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Wanted {
    /// Where the reference stands.
    pub(crate) base: DocumentId,
    /// What it says, without its fragment.
    pub(crate) reference: String,
}

impl Shelf {
    pub(crate) fn new(root: RawJson) -> Self {
        Self { documents: vec![root], links: HashMap::new() }
    }

    /// Adds a document that a reference led to.
    pub(crate) fn add(&mut self, document: RawJson) -> DocumentId {
        self.documents.push(document);
        DocumentId(self.documents.len() - 1)
    }

    /// Settles where a reference leads, or why it leads nowhere.
    pub(crate) fn link(&mut self, wanted: Wanted, target: Result<DocumentId, String>) {
        self.links.insert(wanted, target);
    }

    pub(super) fn linked(&self, wanted: &Wanted) -> Option<&Result<DocumentId, String>> {
        self.links.get(wanted)
    }

    pub(crate) fn get(&self, id: DocumentId) -> &RawJson {
        // Ids are given out by this shelf only; the fallback only spares a panic path.
        self.documents.get(id.0).unwrap_or(&self.documents[0])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DocumentId, &RawJson)> {
        self.documents.iter().enumerate().map(|(id, document)| (DocumentId(id), document))
    }
}
