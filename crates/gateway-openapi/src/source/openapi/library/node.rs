use gateway_domain::{RawJson, RawObject};

use super::super::object;

/// A value and what references in it are relative to.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) resource: ResourceId,
    pub(crate) value: RawJson,
}

/// A document, or a schema in it that has an `$id` of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ResourceId(pub(super) usize);

impl Node {
    /// Another value in the same place.
    pub(crate) fn with(&self, value: RawJson) -> Self {
        Self { resource: self.resource, value }
    }

    /// What the value is known by: no two values of documents that are read begin at the same byte.
    pub(crate) fn address(&self) -> usize {
        self.value.as_bytes().as_ptr().addr()
    }
}

/// An object that a chain of references has led to.
#[derive(Debug)]
pub(crate) struct Item {
    resource: ResourceId,
    object: RawObject,
    /// Where the chain began, if there was one.
    referrer: Option<(ResourceId, RawObject)>,
}

impl Item {
    pub(super) fn new(resource: ResourceId, object: RawObject) -> Self {
        Self { resource, object, referrer: None }
    }

    pub(super) fn referred_by(mut self, referrer: Option<(ResourceId, RawObject)>) -> Self {
        self.referrer = referrer;
        self
    }

    pub(crate) fn object(&self) -> &RawObject {
        &self.object
    }

    /// A member.
    pub(crate) fn get(&self, name: &str) -> Option<Node> {
        Some(Node { resource: self.resource, value: self.object.get(name)? })
    }

    /// A member, be it beside the reference that led here: path items may have both.
    pub(crate) fn get_here_or_there(&self, name: &str) -> Option<Node> {
        let here = self
            .referrer
            .as_ref()
            .and_then(|(resource, object)| Some(Node { resource: *resource, value: object.get(name)? }));
        here.or_else(|| self.get(name))
    }

    /// What it says of itself, or what the reference says that led here (OpenAPI 3.1 §4.8.23).
    pub(crate) fn description(&self) -> Option<String> {
        let beside = self.referrer.as_ref().and_then(|(_, object)| object::text(object, "description"));
        beside.or_else(|| object::text(&self.object, "description"))
    }
}
