use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
};

use gateway_domain::{JsonKind, RawJson, RawObject};
use percent_encoding::percent_decode_str;

use super::{
    super::{
        fault::Fault,
        object::{kind, object},
    },
    identifiers::{Identifiers, join},
    node::{Item, Node, ResourceId},
    pointer,
    shelf::{Shelf, Wanted},
};

/// Follows references. What it has looked into it does not look into again.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    shelf: &'a Shelf,
    identifiers: Identifiers,
    /// Members of objects that references go through, such as `components.schemas`, by where they begin.
    indexes: RefCell<HashMap<usize, Index>>,
    /// Members of all of them.
    indexed: Cell<usize>,
    wanted: RefCell<BTreeSet<Wanted>>,
    /// How many bytes may still be looked through.
    work_left: Cell<usize>,
}

type Index = HashMap<String, RawJson>;

/// How many references may follow each other until something else comes.
const MOST_HOPS: usize = 32;

/// Smaller objects are looked through each time.
const INDEXED_BYTES: usize = 1024;

/// The most members of objects that are indexed, all together, at some hundred bytes each.
const MOST_INDEXED: usize = 300_000;

impl<'a> Resolver<'a> {
    pub(crate) fn new(shelf: &'a Shelf, work_bytes: usize) -> Self {
        let mut identifiers = Identifiers::default();
        shelf.iter().for_each(|(id, root)| identifiers.add_document(id, root));
        (0..shelf.iter().count()).for_each(|number| identifiers.search(ResourceId(number)));
        Self {
            shelf,
            identifiers,
            indexes: RefCell::default(),
            indexed: Cell::default(),
            wanted: RefCell::default(),
            work_left: Cell::new(work_bytes),
        }
    }

    /// The document that was asked for.
    pub(crate) fn root(&self) -> Node {
        Node { resource: ResourceId::default(), value: self.shelf.get(Default::default()).clone() }
    }

    /// Whether these bytes stand anywhere in a document.
    pub(crate) fn mentions(&self, word: &[u8]) -> bool {
        self.shelf.iter().any(|(_, document)| document.mentions(word))
    }

    /// The references to other documents that were met and not settled.
    pub(crate) fn into_wanted(self) -> BTreeSet<Wanted> {
        self.wanted.into_inner()
    }

    /// The node, whose references are relative to itself if it is a schema with an `$id`.
    pub(crate) fn enter(&self, node: Node) -> Node {
        match self.identifiers.by_address(node.address()) {
            Some(resource) => Node { resource, ..node },
            None => node,
        }
    }

    /// The value as an object. Everything that is large is looked into with this, so that the effort has a bound.
    pub(crate) fn look(&self, value: &RawJson) -> Result<RawObject, Fault> {
        self.charge(value)?;
        object(value).ok_or_else(|| Fault::new(unusable(value)))
    }

    /// Counts what is about to be looked through.
    fn charge(&self, value: &RawJson) -> Result<(), Fault> {
        let Some(left) = self.work_left.get().checked_sub(value.as_bytes().len()) else {
            self.work_left.set(0);
            return Err(Fault::new("there is too much to look through"));
        };
        self.work_left.set(left);
        Ok(())
    }

    /// Whether there is more to look through than is allowed.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.work_left.get() == 0
    }

    /// How many members are indexed.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.indexes.borrow().values().map(HashMap::len).sum()
    }

    /// The object that a node is, or that a chain of `$ref`s from it leads to.
    pub(crate) fn item(&self, node: &Node) -> Result<Item, Fault> {
        let mut referrer = None;
        let mut node = self.enter(node.clone());
        for _ in 0..MOST_HOPS {
            let members = self.look(&node.value)?;
            let Some(reference) = members.get_text("$ref") else {
                return Ok(Item::new(node.resource, members).referred_by(referrer));
            };
            let target = self.resolve(node.resource, &reference)?;
            referrer.get_or_insert((node.resource, members));
            node = target;
        }
        let reference = referrer.and_then(|(_, members): (_, RawObject)| members.get_text("$ref"));
        Err(Fault::reference(&reference.unwrap_or_default(), "leads in a circle or through too many others"))
    }

    /// What a reference means that stands in this resource.
    pub(crate) fn resolve(&self, from: ResourceId, reference: &str) -> Result<Node, Fault> {
        self.resolve_within(from, reference, &mut MOST_HOPS.clone())
    }

    fn resolve_within(&self, from: ResourceId, reference: &str, hops: &mut usize) -> Result<Node, Fault> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let dangling = || Fault::reference(reference, "leads to nothing");
        let fragment = percent_decode_str(fragment).decode_utf8().map_err(|_| dangling())?;
        let resource = match document {
            "" => from,
            _ => self.resource(from, document)?,
        };
        let found = self.find(resource, &fragment, hops).or_else(|| {
            // A schema with an `$id` whose author goes on counting from the document.
            let whole = self.identifiers.get(resource).map(|found| ResourceId(found.document.number()))?;
            (document.is_empty() && whole != resource).then(|| self.find(whole, &fragment, hops))?
        });
        found.map(|node| self.enter(node)).ok_or_else(dangling)
    }

    fn resource(&self, from: ResourceId, document: &str) -> Result<ResourceId, Fault> {
        let Some(base) = self.identifiers.get(from) else {
            return Err(Fault::reference(document, "leads to nothing"));
        };
        if let Some(resource) = self.identifiers.by_uri(&join(base.uri.as_deref(), document)) {
            return Ok(resource);
        }
        let wanted = Wanted { base: base.document, reference: document.to_owned() };
        match self.shelf.linked(&wanted) {
            Some(Ok(document)) => Ok(ResourceId(document.number())),
            Some(Err(reason)) => {
                Err(Fault::reference(document, format_args!("cannot be followed: {reason}")))
            }
            None => {
                self.wanted.borrow_mut().insert(wanted);
                Err(Fault::reference(document, "leads to another document, which is not allowed"))
            }
        }
    }

    fn find(&self, resource: ResourceId, fragment: &str, hops: &mut usize) -> Option<Node> {
        let found = self.identifiers.get(resource)?;
        if !fragment.starts_with('/') {
            let value = if fragment.is_empty() { &found.root } else { found.anchors.get(fragment)? };
            return Some(Node { resource, value: value.clone() });
        }
        let mut node = Node { resource, value: found.root.clone() };
        for token in pointer::tokens(fragment) {
            node = self.step(&node, &token).or_else(|| self.step(&self.referred(&node, hops)?, &token))?;
        }
        Some(node)
    }

    fn step(&self, node: &Node, token: &str) -> Option<Node> {
        let is_large = node.value.as_bytes().len() > INDEXED_BYTES;
        let value = match node.value.kind() {
            JsonKind::Object if is_large => self.member(&node.value, token)?,
            JsonKind::Array => {
                self.charge(&node.value).ok()?;
                pointer::item(&node.value, token)?
            }
            _ => pointer::child(&node.value, token)?,
        };
        Some(node.with(value))
    }

    /// What stands behind a reference that a pointer goes through. It should not, but some documents count on it.
    fn referred(&self, node: &Node, hops: &mut usize) -> Option<Node> {
        let mut node = node.clone();
        while let Some(reference) = self.look(&node.value).ok()?.get_text("$ref") {
            *hops = hops.checked_sub(1)?;
            node = self.resolve_within(node.resource, &reference, hops).ok()?;
        }
        Some(node)
    }

    /// A member of a large object: from its index, or, where there is no more room for one, by looking through it again.
    fn member(&self, value: &RawJson, name: &str) -> Option<RawJson> {
        let address = value.as_bytes().as_ptr().addr();
        if let Some(index) = self.indexes.borrow().get(&address) {
            return index.get(name).cloned();
        }
        let members = self.look(value).ok()?;
        let indexed = self.indexed.get() + members.len();
        if indexed > MOST_INDEXED {
            return members.get(name);
        }
        self.indexed.set(indexed);
        let index: Index = members.iter().map(|(name, member)| (name.into_owned(), member)).collect();
        let found = index.get(name).cloned();
        self.indexes.borrow_mut().insert(address, index);
        found
    }
}

fn unusable(value: &RawJson) -> String {
    match value.kind() {
        JsonKind::Object => "an object has a member twice".to_owned(),
        _ => format!("{} stands where an object should", kind(value)),
    }
}
