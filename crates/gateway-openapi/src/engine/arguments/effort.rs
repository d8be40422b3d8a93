use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{height, vet};
use crate::ir::Definitions;

/// How often one value may have to be looked at before a schema is taken for one that is made to keep the validator
/// busy: alternatives of alternatives multiply.
const LOOKS: u64 = 4096;

/// How many definitions may lead to one another before the validator's stack is at stake.
const CHAIN: usize = 200;

/// The most that is spent on finding out what is wrong with a value.
const EXPLANATION: u64 = 20_000;

/// How many schemas may be open at once on the validator's stack while it checks a value, and while it says what is
/// wrong, which takes more of the stack. Safe on a stack of 2 MiB without optimization.
const CHECKED_FRAMES: u64 = 4000;
const EXPLAINED_FRAMES: u64 = 800;

/// How deeply the schemas that are surveyed may lead into one another.
pub(super) const DEPTH: usize = 1000;

/// The most that is spent on a check: looks times bytes of the value. Under a second.
const WORK: u64 = 64 << 20;

/// How much work a schema makes of a value. An upper bound, from the schema alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    /// How often one part of a value is looked at, at most.
    looks: u64,
    /// How much that grows with each level of the value, where the schema leads back to itself. The validator
    /// remembers verdicts there, but not explanations.
    growth: u64,
    /// How many schemas apply inside one another to one part of a value, at most.
    height: u64,
}

impl Effort {
    pub(super) fn of(schema: &Value) -> Self {
        let none = Map::new();
        let definitions = schema.get("$defs").and_then(Value::as_object).unwrap_or(&none);
        let mut survey = Survey {
            definitions,
            known: BTreeMap::new(),
            open: Vec::new(),
            cyclic: BTreeSet::new(),
            growth: 1,
            depth: 0,
        };
        let looks = survey.looks(schema);
        Self { looks, growth: survey.growth, height: height::of(schema, definitions) }
    }

    /// Whether values can be checked.
    pub(super) fn is_bearable(self) -> bool {
        self.looks <= LOOKS && self.height <= CHECKED_FRAMES
    }

    /// Whether this value, which is so long as text, can be checked.
    pub(super) fn checks(self, value: &Value, bytes: usize) -> bool {
        self.frames(value) <= CHECKED_FRAMES && self.looks.saturating_mul(bytes as u64) <= WORK
    }

    fn frames(self, value: &Value) -> u64 {
        self.height.saturating_mul(depth(value) as u64 + 1)
    }

    /// Whether it can be explained what is wrong with this value.
    pub(super) fn explains(self, value: &Value) -> bool {
        let growth = (0..depth(value)).fold(self.looks, |looks, _| looks.saturating_mul(self.growth));
        growth <= EXPLANATION && self.frames(value) <= EXPLAINED_FRAMES
    }
}

/// Nests no deeper than JSON does.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

struct Survey<'a> {
    definitions: &'a Map<String, Value>,
    known: BTreeMap<&'a str, u64>,
    /// Definitions that are being looked into, outermost first.
    open: Vec<&'a str>,
    cyclic: BTreeSet<&'a str>,
    growth: u64,
    depth: usize,
}

impl<'a> Survey<'a> {
    fn looks(&mut self, schema: &'a Value) -> u64 {
        if self.depth == DEPTH {
            return u64::MAX;
        }
        self.depth += 1;
        let looks = self.looks_inside(schema);
        self.depth -= 1;
        looks
    }

    fn looks_inside(&mut self, schema: &'a Value) -> u64 {
        let Value::Object(members) = schema else { return 1 };
        let (mut here, mut below) = (0_u64, 0);
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(target)) => here = here.saturating_add(self.reference(target)),
                ("$defs" | "definitions", _) => {}
                (keyword, value) => {
                    for schema in vet::below(keyword, value) {
                        let looks = self.looks(schema);
                        if applies_here(keyword) {
                            here = here.saturating_add(looks);
                        } else {
                            below = looks.max(below);
                        }
                    }
                }
            }
        }
        here.saturating_add(below).max(1)
    }

    /// A way back counts once: the validator leaves it, or remembers the verdict.
    fn reference(&mut self, target: &'a str) -> u64 {
        let Some(name) = target.strip_prefix(Definitions::PREFIX) else { return 1 };
        if let Some(at) = self.open.iter().position(|open| *open == name) {
            self.cyclic.extend(&self.open[at..]);
            return 1;
        }
        if let Some(looks) = self.known.get(name) {
            return *looks;
        }
        let Some(definition) = self.definitions.get(name) else { return 1 };
        if self.open.len() == CHAIN {
            return u64::MAX;
        }
        self.open.push(name);
        let looks = self.looks(definition);
        self.open.pop();
        self.known.insert(name, looks);
        if self.cyclic.contains(name) {
            self.growth = self.growth.max(looks);
        }
        looks
    }
}

/// Whether the schemas of a keyword are about the value itself and not about its parts.
pub(super) fn applies_here(keyword: &str) -> bool {
    matches!(keyword, "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas")
}
