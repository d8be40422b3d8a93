use std::{collections::HashMap, sync::Arc};

use super::{Direction, converter::Converted};
use crate::source::openapi::library::Node;

/// Schemas that others refer to.
#[derive(Debug, Default)]
pub(super) struct Registry {
    definitions: Vec<Definition>,
    by_address: HashMap<usize, DefinitionId>,
    /// Names that are given, and the number that the next of the same name is tried with.
    taken: HashMap<Arc<str>, u64>,
    /// How many are converted.
    done: usize,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DefinitionId(usize);

#[derive(Debug)]
pub(super) struct Definition {
    pub(super) node: Node,
    pub(super) name: Arc<str>,
    /// The name of the one for outputs, if that differs.
    pub(super) output_name: Option<Arc<str>>,
    pub(super) converted: Option<Converted>,
    pub(super) output: Option<Converted>,
}

impl Registry {
    /// The definition of this schema; of a new one the name follows from the reference.
    pub(super) fn intern(&mut self, node: Node, reference: &str) -> DefinitionId {
        let address = node.address();
        if let Some(known) = self.by_address.get(&address) {
            return *known;
        }
        let name = self.unique(&legal(reference));
        let id = DefinitionId(self.definitions.len());
        self.definitions.push(Definition { node, name, output_name: None, converted: None, output: None });
        self.by_address.insert(address, id);
        id
    }

    /// The next that is to be converted.
    pub(super) fn next(&mut self) -> Option<(DefinitionId, Node)> {
        let id = DefinitionId(self.done);
        let node = self.definitions.get(self.done)?.node.clone();
        self.done += 1;
        Some((id, node))
    }

    pub(super) fn get(&self, id: DefinitionId) -> Option<&Definition> {
        self.definitions.get(id.0)
    }

    pub(super) fn get_mut(&mut self, id: DefinitionId) -> Option<&mut Definition> {
        self.definitions.get_mut(id.0)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = DefinitionId> + use<> {
        (0..self.definitions.len()).map(DefinitionId)
    }

    pub(super) fn name(&self, id: DefinitionId, direction: Direction) -> &str {
        let Some(definition) = self.get(id) else { return "" };
        match (direction, &definition.output_name) {
            (Direction::Output, Some(name)) => name,
            _ => &definition.name,
        }
    }

    /// Gives the definition another one for outputs.
    pub(super) fn split(&mut self, id: DefinitionId) {
        let Some(name) = self.get(id).map(|definition| format!("{}_output", definition.name)) else { return };
        let name = self.unique(&name);
        if let Some(definition) = self.get_mut(id) {
            definition.output_name = Some(name);
        }
    }

    pub(super) fn into_definitions(self) -> Vec<Definition> {
        self.definitions
    }

    fn unique(&mut self, wanted: &str) -> Arc<str> {
        let mut name: Arc<str> = wanted.into();
        while self.taken.contains_key(&name) {
            let number = self.taken.entry(wanted.into()).or_insert(FIRST_NUMBER);
            name = format!("{wanted}_{number}").into();
            *number += 1;
        }
        self.taken.insert(Arc::clone(&name), FIRST_NUMBER);
        name
    }
}

const FIRST_NUMBER: u64 = 2;

impl DefinitionId {
    pub(super) fn new(index: usize) -> Self {
        Self(index)
    }

    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// `Pet` of `#/components/schemas/Pet`, else all that the fragment says; of letters that need no escapes.
fn legal(reference: &str) -> String {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let fragment = fragment.strip_prefix("/components/schemas/").unwrap_or(fragment).trim_start_matches('/');
    let word = match fragment {
        "" => document.rsplit('/').next().unwrap_or_default(),
        fragment => fragment,
    };
    let legal = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let name: String = word.chars().map(legal).take(MOST_CHARACTERS).collect();
    if name.is_empty() { "schema".into() } else { name }
}

const MOST_CHARACTERS: usize = 128;
