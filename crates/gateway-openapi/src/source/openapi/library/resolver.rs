use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    rc::Rc,
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
    /// Members of large objects that references go through, such as `components.schemas`, by where they begin.
    indexes: RefCell<HashMap<usize, Index>>,
    wanted: RefCell<BTreeSet<Wanted>>,
}

type Index = Rc<HashMap<String, RawJson>>;

/// How many references may follow each other until something else comes.
const MOST_HOPS: usize = 32;

/// How deep in a document objects are indexed whole: up to `#/components/schemas`.
const INDEXED: usize = 2;

impl<'a> Resolver<'a> {
    pub(crate) fn new(shelf: &'a Shelf) -> Self {
        let mut identifiers = Identifiers::default();
        shelf.iter().for_each(|(id, root)| identifiers.add_document(id, root));
        (0..shelf.iter().count()).for_each(|number| identifiers.search(ResourceId(number)));
        Self { shelf, identifiers, indexes: RefCell::default(), wanted: RefCell::default() }
    }

    /// The document that was asked for.
    pub(crate) fn root(&self) -> Node {
        Node { resource: ResourceId::default(), value: self.shelf.get(Default::default()).clone() }
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

    /// The object that a node is, or that a chain of `$ref`s from it leads to.
    pub(crate) fn item(&self, node: &Node) -> Result<Item, Fault> {
        let mut referrer = None;
        let mut node = self.enter(node.clone());
        for _ in 0..MOST_HOPS {
            let members = object(&node.value).ok_or_else(|| Fault::new(unusable(&node.value)))?;
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
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let dangling = || Fault::reference(reference, "leads to nothing");
        let fragment = percent_decode_str(fragment).decode_utf8().map_err(|_| dangling())?;
        let resource = match document {
            "" => from,
            _ => self.resource(from, document)?,
        };
        let found = self.find(resource, &fragment).or_else(|| {
            // A schema with an `$id` whose author goes on counting from the document.
            let whole = self.identifiers.get(resource).map(|found| ResourceId(found.document.number()))?;
            self.find(whole, &fragment).filter(|_| document.is_empty())
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

    fn find(&self, resource: ResourceId, fragment: &str) -> Option<Node> {
        let found = self.identifiers.get(resource)?;
        if !fragment.starts_with('/') {
            let value = if fragment.is_empty() { &found.root } else { found.anchors.get(fragment)? };
            return Some(Node { resource, value: value.clone() });
        }
        let mut value = found.root.clone();
        for (depth, token) in pointer::tokens(fragment).enumerate() {
            value = match depth <= INDEXED && value.kind() == JsonKind::Object {
                true => self.index(&value)?.get(token.as_ref())?.clone(),
                false => pointer::child(&value, &token)?,
            };
        }
        Some(Node { resource, value })
    }

    fn index(&self, value: &RawJson) -> Option<Index> {
        let address = value.as_bytes().as_ptr().addr();
        if let Some(index) = self.indexes.borrow().get(&address) {
            return Some(Rc::clone(index));
        }
        let members = object(value)?;
        let index: Index =
            Rc::new(members.iter().map(|(name, member)| (name.into_owned(), member)).collect());
        self.indexes.borrow_mut().insert(address, Rc::clone(&index));
        Some(index)
    }
}

fn unusable(value: &RawJson) -> String {
    match value.kind() {
        JsonKind::Object => "an object has a member twice".to_owned(),
        _ => format!("{} stands where an object should", kind(value)),
    }
}
