use std::{collections::HashSet, rc::Rc};

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{
    DefinitionId, Direction, definition::Registry, facts::Facts, pattern::Patterns, required::Whole,
};
use crate::source::openapi::{
    document::Version,
    fault::Fault,
    library::{Node, Resolver},
};

/// A schema that has been converted.
#[derive(Debug, Clone)]
pub(crate) struct Converted {
    pub(crate) schema: RawJson,
    /// What it refers to, in order, perhaps repeatedly.
    pub(crate) references: Vec<Reference>,
    /// The first reference in it that leads nowhere.
    pub(crate) fault: Option<Fault>,
    /// Whether it is another one for outputs by itself.
    pub(super) is_directional: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reference {
    pub(crate) target: DefinitionId,
    /// Whether it is about the very value that the schema is about, not about a part of it.
    pub(super) is_in_place: bool,
}

/// Converts one schema.
#[derive(Debug)]
pub(super) struct Converter<'c> {
    pub(super) resolver: &'c Resolver<'c>,
    pub(super) registry: &'c mut Registry,
    pub(super) patterns: &'c mut Patterns,
    pub(super) version: Version,
    pub(super) direction: Direction,
    /// Whether anything says of itself that it is only read or only written.
    pub(super) tells_visibility: bool,
    /// References that are left out because they lead back in place.
    pub(super) cuts: &'c HashSet<DefinitionId>,
    pub(super) out: Vec<u8>,
    pub(super) references: Vec<Reference>,
    pub(super) fault: Option<Fault>,
    pub(super) is_directional: bool,
    /// Whether what has been written may accept more than the document says. `format` is such a case, as no validator
    /// has to look at it, and so is a reference, whose target is not looked into here.
    pub(super) is_widened: bool,
}

/// A point in what is written, to which it can go back.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) out: usize,
    references: usize,
    was_widened: bool,
}

/// Where in the schema that is converted another one stands.
#[derive(Debug, Clone)]
pub(super) struct At {
    /// How many containers it is in.
    pub(super) depth: usize,
    pub(super) is_in_place: bool,
    /// The schema that has it in its `allOf`.
    pub(super) whole: Option<Rc<Whole>>,
}

/// How deep a converted schema may nest, so that it can be put into other JSON. What is deeper accepts everything.
pub(super) const MOST_LEVELS: usize = 100;

/// How many levels a schema needs at least for its own keywords.
const LEVELS_NEEDED: usize = 5;

impl At {
    pub(super) const ROOT: Self = Self { depth: 0, is_in_place: true, whole: None };

    /// A schema about a part of the value.
    pub(super) fn part(&self, levels: usize) -> Self {
        Self { depth: self.depth + levels, is_in_place: false, whole: None }
    }

    /// Another schema about the same value.
    pub(super) fn same(&self, levels: usize) -> Self {
        Self { depth: self.depth + levels, whole: None, ..self.clone() }
    }
}

impl Converted {
    /// A schema that accepts everything.
    pub(super) fn anything() -> Self {
        let schema = RawObject::empty().raw().clone();
        Self { schema, references: Vec::new(), fault: None, is_directional: false }
    }
}

impl Converter<'_> {
    pub(super) fn run(mut self, node: &Node) -> Converted {
        self.schema(node, &At::ROOT);
        // What was put together from checked parts is JSON; the fallback only spares a panic path.
        let schema = RawJson::parse(self.out).unwrap_or_else(|_| RawObject::empty().raw().clone());
        Converted {
            schema,
            references: self.references,
            fault: self.fault,
            is_directional: self.is_directional,
        }
    }

    /// Writes a schema. What is none accepts everything.
    pub(super) fn schema(&mut self, node: &Node, at: &At) {
        let node = self.resolver.enter(node.clone());
        match node.value.kind() {
            JsonKind::Boolean => self.out.extend_from_slice(node.value.as_bytes()),
            JsonKind::Object if at.depth + LEVELS_NEEDED <= MOST_LEVELS => {
                match self.resolver.look(&node.value) {
                    Ok(members) => {
                        let facts = Facts::of(&members, self.version);
                        self.object(&node, &members, &facts, at);
                    }
                    Err(_) => self.anything(),
                }
            }
            _ => self.anything(),
        }
    }

    pub(super) fn anything(&mut self) {
        self.is_widened = true;
        self.out.extend_from_slice(b"{}");
    }

    /// Writes what a `$ref` leads to.
    pub(super) fn reference(&mut self, node: &Node, reference: &str, at: &At) -> Option<DefinitionId> {
        self.is_widened = true;
        match self.resolver.resolve(node.resource, reference) {
            Ok(target) => {
                let target = self.registry.intern(target, reference);
                let is_cut = at.is_in_place && self.cuts.contains(&target);
                if !is_cut {
                    self.references.push(Reference { target, is_in_place: at.is_in_place });
                }
                (!is_cut).then_some(target)
            }
            Err(fault) => {
                self.fault.get_or_insert(fault);
                None
            }
        }
    }

    /// Where it stands; from here on it is told anew whether anything is widened.
    pub(super) fn mark(&mut self) -> Mark {
        let was_widened = std::mem::take(&mut self.is_widened);
        Mark { out: self.out.len(), references: self.references.len(), was_widened }
    }

    /// Whether anything has been widened since; if so, it is as well that is around it.
    pub(super) fn is_widened_since(&mut self, mark: &Mark) -> bool {
        let since = self.is_widened;
        self.is_widened |= mark.was_widened;
        since
    }

    /// Takes back what was written since.
    pub(super) fn undo(&mut self, mark: &Mark) {
        self.out.truncate(mark.out);
        self.references.truncate(mark.references);
    }

    /// Begins a member.
    pub(super) fn name(&mut self, name: &str) {
        if !matches!(self.out.last(), Some(b'{') | None) {
            self.out.push(b',');
        }
        self.text(name);
        self.out.push(b':');
    }

    /// Writes a string.
    pub(super) fn text(&mut self, text: &str) {
        self.out.extend_from_slice(RawJson::string(text).as_bytes());
    }

    /// Writes a member whose value is JSON text already.
    pub(super) fn member(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.name(name);
        self.out.extend_from_slice(value.as_ref());
    }
}
