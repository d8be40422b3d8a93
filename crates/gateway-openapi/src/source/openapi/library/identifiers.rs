//! Names that schemas give themselves: `$id`, `$anchor`, `$dynamicAnchor` (JSON Schema 2020-12 §8.2), and `$self` of
//! documents (OpenAPI 3.2).

use std::collections::HashMap;

use gateway_domain::{JsonKind, RawJson};

use super::{super::object::object, node::ResourceId, shelf::DocumentId};

/// A document, or a schema in it with an `$id`.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) document: DocumentId,
    /// What references in it are relative to, where it says so itself.
    pub(super) uri: Option<String>,
    pub(super) root: RawJson,
    pub(super) anchors: HashMap<String, RawJson>,
}

/// All resources of the documents, those of whole documents first, in their order.
#[derive(Debug, Default)]
pub(super) struct Identifiers {
    resources: Vec<Resource>,
    by_uri: HashMap<String, ResourceId>,
    /// By where the schema begins.
    by_address: HashMap<usize, ResourceId>,
}

impl Identifiers {
    pub(super) fn add_document(&mut self, document: DocumentId, root: &RawJson) {
        let uri =
            object(root).and_then(|members| members.get_text("$self")).map(|uri| without_fragment(&uri));
        self.add(Resource { document, uri, root: root.clone(), anchors: HashMap::new() });
    }

    /// Looks for names in a document that has been added. Documents without any are told fast.
    pub(super) fn search(&mut self, resource: ResourceId) {
        let Some(root) = self.resources.get(resource.0).map(|found| found.root.clone()) else { return };
        self.visit(&root, resource, true);
    }

    pub(super) fn get(&self, id: ResourceId) -> Option<&Resource> {
        self.resources.get(id.0)
    }

    pub(super) fn by_uri(&self, uri: &str) -> Option<ResourceId> {
        self.by_uri.get(uri).copied()
    }

    /// The resource that begins with this value, if one does.
    pub(super) fn by_address(&self, address: usize) -> Option<ResourceId> {
        self.by_address.get(&address).copied()
    }

    fn add(&mut self, resource: Resource) -> ResourceId {
        let id = ResourceId(self.resources.len());
        if let Some(uri) = &resource.uri {
            self.by_uri.entry(uri.clone()).or_insert(id);
        }
        self.by_address.entry(resource.root.as_bytes().as_ptr().addr()).or_insert(id);
        self.resources.push(resource);
        id
    }

    /// Nests no deeper than [`RawJson`] does.
    fn visit(&mut self, value: &RawJson, mut within: ResourceId, is_root: bool) {
        if !NAMES.iter().any(|name| value.mentions(name)) {
            return;
        }
        if value.kind() == JsonKind::Array {
            let items = value.elements(usize::MAX).unwrap_or_default();
            return items.iter().for_each(|item| self.visit(item, within, false));
        }
        let Some(members) = object(value) else { return };
        if let Some(id) = members.get_text("$id").filter(|id| !is_root && !id.starts_with('#')) {
            within = self.embed(&without_fragment(&id), value, within);
        }
        for name in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = members.get_text(name)
                && let Some(resource) = self.resources.get_mut(within.0)
            {
                resource.anchors.entry(anchor).or_insert_with(|| value.clone());
            }
        }
        members.iter().for_each(|(_, member)| self.visit(&member, within, false));
    }

    fn embed(&mut self, id: &str, value: &RawJson, within: ResourceId) -> ResourceId {
        let Some(outer) = self.resources.get(within.0) else { return within };
        let uri = Some(join(outer.uri.as_deref(), id));
        let document = outer.document;
        self.add(Resource { document, uri, root: value.clone(), anchors: HashMap::new() })
    }
}

const NAMES: [&[u8]; 3] = [b"\"$id\"", b"\"$anchor\"", b"\"$dynamicAnchor\""];

fn without_fragment(uri: &str) -> String {
    uri.split('#').next().unwrap_or_default().to_owned()
}

/// The URI that a reference without fragment means (RFC 3986 §5.2, but for dot segments at the beginning of an empty
/// path). These URIs are names: nothing is ever fetched from them.
pub(super) fn join(base: Option<&str>, reference: &str) -> String {
    let Some(base) = base.filter(|_| !has_scheme(reference)) else { return reference.to_owned() };
    let base = base.split(['?', '#']).next().unwrap_or_default();
    let authority_end = base.find("://").map_or(0, |at| {
        let host = at + "://".len();
        base[host..].find('/').map_or(base.len(), |slash| host + slash)
    });
    let (front, path) = base.split_at(authority_end);
    if reference.starts_with("//") {
        let scheme = front.split("//").next().unwrap_or_default();
        return format!("{scheme}{reference}");
    }
    if reference.starts_with('/') {
        return format!("{front}{}", without_dots(reference));
    }
    let folder = path.rfind('/').map_or("/", |slash| &path[..=slash]);
    format!("{front}{}", without_dots(&format!("{folder}{reference}")))
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." if kept.len() > 1 => {
                kept.pop();
            }
            ".." => {}
            _ => kept.push(segment),
        }
    }
    kept.join("/")
}
