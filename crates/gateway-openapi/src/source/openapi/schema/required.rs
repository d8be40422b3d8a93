//! `required`, without what is not sent, or not answered.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{
    Direction,
    converter::{At, Converter},
};
use crate::source::openapi::{
    library::{Node, Resolver},
    object::{flag, object},
};

/// How many schemas are looked into for properties.
const MOST_LOOKS: usize = 64;

/// A schema and its properties, which are looked for when the first of them is asked for.
#[derive(Debug)]
pub(super) struct Whole {
    node: Node,
    properties: OnceCell<HashMap<String, Node>>,
}

impl Whole {
    pub(super) fn new(node: Node) -> Self {
        Self { node, properties: OnceCell::new() }
    }

    fn property(&self, name: &str, resolver: &Resolver<'_>) -> Option<&Node> {
        let properties = self.properties.get_or_init(|| {
            let mut found = HashMap::new();
            collect(&self.node, resolver, &mut MOST_LOOKS.clone(), &mut found);
            found
        });
        properties.get(name)
    }
}

/// Properties of the schema, and of those in its `allOf`.
fn collect(node: &Node, resolver: &Resolver<'_>, looks: &mut usize, found: &mut HashMap<String, Node>) {
    let Some(left) = looks.checked_sub(1) else { return };
    *looks = left;
    let Ok(item) = resolver.item(node) else { return };
    if let Some(properties) = item.get("properties")
        && let Some(members) = object(&properties.value)
    {
        for (name, member) in members.iter() {
            found.entry(name.into_owned()).or_insert_with(|| properties.with(member));
        }
    }
    let branches = item.get("allOf").and_then(|list| Some((list.value.elements(MOST_LOOKS)?, list)));
    if let Some((branches, list)) = branches {
        branches.into_iter().for_each(|branch| collect(&list.with(branch), resolver, looks, found));
    }
}

impl Converter<'_> {
    pub(super) fn required(&mut self, node: &Node, schema: &RawObject, at: &At) {
        let mut names = listed(schema);
        names.extend(marked(schema));
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        if self.tells_visibility && !names.is_empty() {
            let own = Whole::new(node.clone());
            let all = names.len();
            names.retain(|name| !self.is_hidden(name, &own, at));
            self.is_widened |= names.len() < all;
        }
        if !names.is_empty() {
            let names = names.iter().map(|name| RawJson::string(name));
            self.member("required", RawJson::array(names).as_bytes());
        }
    }

    fn is_hidden(&mut self, name: &str, own: &Whole, at: &At) -> bool {
        let whole = || at.whole.as_ref()?.property(name, self.resolver);
        let property = own.property(name, self.resolver).or_else(whole);
        let (read_only, write_only) = property.map_or((false, false), |property| self.visibility(property));
        self.is_directional |= write_only;
        read_only || (write_only && self.direction == Direction::Output)
    }

    /// Whether a property is only read, or only written; in 3.1 it may be said beside a reference.
    fn visibility(&self, property: &Node) -> (bool, bool) {
        let own = object(&property.value);
        let target = self.resolver.item(property).ok();
        let says = |word| {
            own.as_ref().is_some_and(|own| flag(own, word))
                || target.as_ref().is_some_and(|target| flag(target.object(), word))
        };
        (says("readOnly"), says("writeOnly"))
    }
}

fn listed(schema: &RawObject) -> Vec<String> {
    let names = schema.get("required").and_then(|names| names.elements(usize::MAX)).unwrap_or_default();
    names.iter().filter_map(|name| name.to_text().map(Into::into)).collect()
}

/// Properties that say of themselves that they are required, as in the third draft of JSON Schema.
fn marked(schema: &RawObject) -> Vec<String> {
    let properties = schema.get("properties").filter(|properties| properties.mentions(b"\"required\""));
    let Some(members) = properties.and_then(|properties| object(&properties)) else { return Vec::new() };
    let is_marked = |property: &RawJson| {
        property.kind() == JsonKind::Object
            && property.mentions(b"\"required\"")
            && object(property).is_some_and(|property| flag(&property, "required"))
    };
    members.iter().filter(|(_, property)| is_marked(property)).map(|(name, _)| name.into_owned()).collect()
}
