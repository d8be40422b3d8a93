use std::collections::{BTreeMap, VecDeque};

use gateway_domain::{RawJson, RawObject};

use super::property::{map, stub};
use crate::{
    engine::arguments::is_sound,
    ir::{Definitions, references},
};

/// The schema with the definitions that it leads to in its own `$defs`, in at most `max_bytes` bytes. Definitions that
/// are nearer go first; those that do not fit, or are no valid schemas, keep their type and a short description at
/// most. `None`: it is no valid schema, or does not fit even so.
pub fn bundle(schema: &RawJson, definitions: &Definitions, max_bytes: usize) -> Option<RawJson> {
    if !is_sound(schema) {
        return None;
    }
    let Ok(object) = RawObject::try_from(schema.clone()) else {
        return (schema.as_bytes().len() <= max_bytes).then(|| schema.clone());
    };
    let bundle = Bundle::new(&object, definitions, max_bytes);
    bundle.fits(max_bytes).then(|| bundle.into_schema())
}

/// A schema and what it leads to.
pub(super) struct Bundle<'a> {
    root: &'a RawObject,
    /// By name: the whole definition, or what stands for it.
    taken: BTreeMap<String, RawJson>,
    widened: Vec<String>,
    /// How long the whole is.
    bytes: usize,
}

impl<'a> Bundle<'a> {
    /// Breadth first. Each name that is met is paid for with the least that it can be, `{}`; then the definition takes
    /// its place if there is room for it and for the names in it.
    pub(super) fn new(root: &'a RawObject, definitions: &Definitions, max_bytes: usize) -> Self {
        let mut bundle =
            Self { root, taken: BTreeMap::new(), widened: Vec::new(), bytes: root.as_str().len() };
        let mut queue = VecDeque::new();
        for name in references(root.raw()) {
            bundle.meet(&name);
            queue.push_back(name);
        }
        while let Some(name) = queue.pop_front() {
            let new: Vec<String> = definitions
                .references(&name)
                .iter()
                .filter(|name| !bundle.taken.contains_key(&***name))
                .map(|name| name.to_string())
                .collect();
            if bundle.take(&name, &new, definitions, max_bytes) {
                new.iter().for_each(|name| bundle.meet(name));
                queue.extend(new);
            }
        }
        bundle
    }

    /// How long it is at least: the root and the names in it.
    pub(super) fn least(root: &RawObject) -> usize {
        let mut bundle =
            Bundle { root, taken: BTreeMap::new(), widened: Vec::new(), bytes: root.as_str().len() };
        references(root.raw()).iter().for_each(|name| bundle.meet(name));
        bundle.bytes
    }

    fn meet(&mut self, name: &str) {
        self.bytes += cost(name) + if self.taken.is_empty() { r#","$defs":{}"#.len() } else { 0 };
        self.taken.insert(name.to_owned(), RawObject::empty().raw().clone());
    }

    fn take(&mut self, name: &str, new: &[String], definitions: &Definitions, max_bytes: usize) -> bool {
        let schema = definitions.get(name).filter(|_| definitions.judged(name, is_sound));
        let names: usize = new.iter().map(|name| cost(name)).sum();
        if let Some(schema) =
            schema.filter(|schema| self.has_room(schema.as_bytes().len() + names, max_bytes))
        {
            self.put(name, schema.clone());
            return true;
        }
        self.widened.push(name.to_owned());
        let stub = definitions.get(name).map(stub);
        if let Some(stub) = stub.filter(|stub| self.has_room(stub.as_bytes().len(), max_bytes)) {
            self.put(name, stub);
        }
        false
    }

    /// Whether `more` bytes can stand where there are two.
    fn has_room(&self, more: usize, max_bytes: usize) -> bool {
        self.bytes + more <= max_bytes + "{}".len()
    }

    fn put(&mut self, name: &str, schema: RawJson) {
        self.bytes = self.bytes + schema.as_bytes().len() - "{}".len();
        self.taken.insert(name.to_owned(), schema);
    }

    pub(super) fn fits(&self, max_bytes: usize) -> bool {
        self.bytes <= max_bytes
    }

    pub(super) fn notes(&self) -> Option<String> {
        let shown: Vec<_> = self.widened.iter().take(5).map(String::as_str).collect();
        let more = if self.widened.len() > shown.len() { ", …" } else { "" };
        (!shown.is_empty()).then(|| {
            let count = self.widened.len();
            format!(
                "{count} schemas do not fit into this one and accept everything: {}{more}",
                shown.join(", ")
            )
        })
    }

    pub(super) fn into_schema(self) -> RawJson {
        if self.taken.is_empty() {
            return self.root.raw().clone();
        }
        let members = self.taken.iter().map(|(name, schema)| (name.as_str(), schema));
        self.root.edit().set("$defs", map(members)).finish()
    }
}

/// `"NAME":{},`
fn cost(name: &str) -> usize {
    name.len() + r#""":{},"#.len()
}
