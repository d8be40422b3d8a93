use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    effort::{DEPTH, applies_here},
    vet,
};
use crate::ir::Definitions;

/// How many schemas apply inside one another to one and the same part of a value, at most, wherever in the schema.
/// `u64::MAX`: too many to count.
pub(super) fn of(schema: &Value, definitions: &Map<String, Value>) -> u64 {
    let mut survey = Survey {
        definitions,
        known: BTreeMap::new(),
        pending: Vec::new(),
        highest: 0,
        schemas: 0,
        is_endless: false,
        depth: 0,
    };
    survey.pending.push(schema);
    survey.pending.extend(definitions.values());
    while let Some(schema) = survey.pending.pop() {
        survey.height(schema);
    }
    // The validator leaves a circle when it has come round, having seen no more than all schemas.
    if survey.is_endless { survey.highest.max(survey.schemas) } else { survey.highest }
}

struct Survey<'a> {
    definitions: &'a Map<String, Value>,
    /// `None`: it is being looked into.
    known: BTreeMap<&'a str, Option<u64>>,
    /// About parts of the value, and so to be begun with anew.
    pending: Vec<&'a Value>,
    highest: u64,
    schemas: u64,
    /// Whether a definition applies inside itself.
    is_endless: bool,
    depth: usize,
}

impl<'a> Survey<'a> {
    /// Of the schema itself; those of the parts of a value wait.
    fn height(&mut self, schema: &'a Value) -> u64 {
        if self.depth == DEPTH {
            self.highest = u64::MAX;
            return u64::MAX;
        }
        self.depth += 1;
        self.schemas += 1;
        let height = self.inside(schema).saturating_add(1);
        self.depth -= 1;
        self.highest = self.highest.max(height);
        height
    }

    fn inside(&mut self, schema: &'a Value) -> u64 {
        let Value::Object(members) = schema else { return 0 };
        let mut height = 0;
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    let name = target.strip_prefix(Definitions::PREFIX);
                    height = height.max(name.map_or(0, |name| self.reference(name)));
                }
                ("$defs" | "definitions", _) => {}
                (keyword, value) => {
                    for schema in vet::below(keyword, value) {
                        if applies_here(keyword) {
                            height = height.max(self.height(schema));
                        } else {
                            self.pending.push(schema);
                        }
                    }
                }
            }
        }
        height
    }

    fn reference(&mut self, name: &'a str) -> u64 {
        let Some(definition) = self.definitions.get(name) else { return 0 };
        match self.known.get(name) {
            Some(Some(height)) => return *height,
            Some(None) => {
                self.is_endless = true;
                return 0;
            }
            None => {}
        }
        self.known.insert(name, None);
        let height = self.height(definition);
        self.known.insert(name, Some(height));
        height
    }
}
