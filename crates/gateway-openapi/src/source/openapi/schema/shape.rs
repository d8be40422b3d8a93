use std::collections::HashSet;

use gateway_domain::RawObject;

use super::{
    facts::{Bytes, Facts},
    types::Type,
};
use crate::source::openapi::{
    document::Version,
    library::{Item, Node, Resolver},
    object::object,
};

/// What a schema is about, as far as it shows at first sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Array,
    /// Bytes, or a list of such: a file, or files.
    File,
    Text,
    Other,
}

/// How many schemas are looked into.
const MOST_LOOKS: usize = 64;

/// How many properties a form has at most; those after them are written like others that are not described.
const MOST_PROPERTIES: usize = 1_000;

impl Shape {
    pub(crate) fn of(node: &Node, resolver: &Resolver<'_>, version: Version) -> Self {
        Self::look(node, resolver, version, &mut MOST_LOOKS.clone())
    }

    fn look(node: &Node, resolver: &Resolver<'_>, version: Version, looks: &mut usize) -> Self {
        let Some(item) = take_look(node, resolver, looks) else { return Self::Other };
        let schema = item.object();
        let facts = Facts::of(schema, version);
        let has = |known| facts.types.contains(&known);
        if facts.bytes == Bytes::Raw {
            return Self::File;
        }
        if has(Type::Object) || schema.contains("properties") {
            return Self::Object;
        }
        if has(Type::Array) || schema.contains("items") {
            let items = item.get("items").map(|items| Self::look(&items, resolver, version, looks));
            return if items == Some(Self::File) { Self::File } else { Self::Array };
        }
        if has(Type::String) {
            return Self::Text;
        }
        branches(&item)
            .map(|branch| Self::look(&branch, resolver, version, looks))
            .find(|shape| *shape != Self::Other)
            .unwrap_or(Self::Other)
    }
}

/// The properties of an object, be they in schemas of its `allOf`. A name that stands twice is kept as it stands first.
pub(crate) fn properties(node: &Node, resolver: &Resolver<'_>) -> Vec<(String, Node)> {
    let mut found = Vec::new();
    collect(node, resolver, &mut MOST_LOOKS.clone(), &mut found);
    let mut seen = HashSet::new();
    found.retain(|(name, _)| seen.insert(name.clone()));
    found
}

fn collect(node: &Node, resolver: &Resolver<'_>, looks: &mut usize, found: &mut Vec<(String, Node)>) {
    let Some(item) = take_look(node, resolver, looks) else { return };
    if let Some(properties) = item.get("properties")
        && let Some(members) = object(&properties.value)
    {
        let members = members.iter().map(|(name, member)| (name.into_owned(), properties.with(member)));
        let room = MOST_PROPERTIES.saturating_sub(found.len());
        found.extend(members.collect::<Vec<_>>().into_iter().take(room));
    }
    branches(&item).for_each(|branch| collect(&branch, resolver, looks, found));
}

fn take_look(node: &Node, resolver: &Resolver<'_>, looks: &mut usize) -> Option<Item> {
    *looks = looks.checked_sub(1)?;
    resolver.item(node).ok()
}

fn branches(item: &Item) -> impl Iterator<Item = Node> {
    let schema: &RawObject = item.object();
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter(|name| schema.contains(name));
    let nodes: Vec<_> = lists.filter_map(|name| item.get(name)).collect();
    nodes.into_iter().flat_map(|list| {
        let several = list.value.elements(MOST_LOOKS).unwrap_or_default();
        several.into_iter().map(move |branch| list.with(branch)).collect::<Vec<_>>()
    })
}
