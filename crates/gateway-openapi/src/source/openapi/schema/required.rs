//! `required`, without what is not sent, or not answered.

use std::collections::HashSet;

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{
    Direction,
    converter::{At, Converter},
};
use crate::source::openapi::{
    library::Node,
    object::{flag, object},
};

/// How many schemas are looked into for a property.
const MOST_LOOKS: usize = 64;

impl Converter<'_> {
    pub(super) fn required(&mut self, node: &Node, schema: &RawObject, at: &At) {
        let mut names = listed(schema);
        names.extend(marked(schema));
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names.retain(|name| !self.is_hidden(name, node, at));
        if !names.is_empty() {
            let names = names.iter().map(|name| RawJson::string(name));
            self.member("required", RawJson::array(names).as_bytes());
        }
    }

    fn is_hidden(&mut self, name: &str, node: &Node, at: &At) -> bool {
        let mut looks = MOST_LOOKS;
        let property = self.property(name, node, &mut looks).or_else(|| {
            let whole = at.whole.as_ref()?;
            self.property(name, whole, &mut looks)
        });
        let (read_only, write_only) = property.map_or((false, false), |property| self.visibility(&property));
        self.is_directional |= write_only;
        read_only || (write_only && self.direction == Direction::Output)
    }

    /// The schema of a property, be it in one of the schemas of `allOf`.
    fn property(&self, name: &str, node: &Node, looks: &mut usize) -> Option<Node> {
        *looks = looks.checked_sub(1)?;
        let item = self.resolver.item(node).ok()?;
        let own = item.get("properties").and_then(|properties| {
            let members = object(&properties.value)?;
            Some(properties.with(members.get(name)?))
        });
        own.or_else(|| {
            let branches = item.get("allOf")?;
            let several = branches.value.elements(MOST_LOOKS)?;
            several.into_iter().find_map(|branch| self.property(name, &branches.with(branch), looks))
        })
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
            && object(property).is_some_and(|property| flag(&property, "required"))
    };
    members.iter().filter(|(_, property)| is_marked(property)).map(|(name, _)| name.into_owned()).collect()
}
