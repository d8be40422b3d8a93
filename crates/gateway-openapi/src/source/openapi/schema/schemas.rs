use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::Arc,
};

use gateway_domain::RawJson;

use super::{
    DefinitionId, Direction,
    converter::{Converted, Converter, Reference},
    cycles::{self, Cuts},
    definition::Registry,
    graph,
    pattern::Patterns,
};
use crate::{
    ir::Definitions,
    source::openapi::{
        document::Version,
        fault::Fault,
        library::{Node, Resolver},
    },
};

/// All schemas of an API.
#[derive(Debug)]
pub(crate) struct Schemas<'a> {
    resolver: &'a Resolver<'a>,
    version: Version,
    tells_visibility: bool,
    registry: Registry,
    patterns: Patterns,
    /// What operations use, by where it stands: parameters that are shared are converted once.
    roots: HashMap<usize, Rc<Converted>>,
    /// The same for outputs, where that differs.
    outputs: HashMap<usize, Rc<Converted>>,
    written: usize,
    most_bytes: usize,
}

/// What has become of the definitions.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) definitions: Definitions,
    faults: Vec<Option<Fault>>,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(resolver: &'a Resolver<'a>, version: Version, most_bytes: usize) -> Self {
        Self {
            resolver,
            version,
            tells_visibility: resolver.mentions(b"readOnly") || resolver.mentions(b"writeOnly"),
            registry: Registry::default(),
            patterns: Patterns::default(),
            roots: HashMap::new(),
            outputs: HashMap::new(),
            written: 0,
            most_bytes,
        }
    }

    /// Converts a schema of an operation, for inputs.
    pub(crate) fn convert(&mut self, node: &Node) -> Rc<Converted> {
        if let Some(known) = self.roots.get(&node.address()) {
            return Rc::clone(known);
        }
        let converted = Rc::new(self.run(node, Direction::Input, &HashSet::new()));
        self.roots.insert(node.address(), Rc::clone(&converted));
        converted
    }

    /// Counts what else is kept for operations, in bytes.
    pub(crate) fn charge(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes);
    }

    /// Whether there is more than is read.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.written > self.most_bytes
    }

    /// Converts everything that was referred to. Afterwards it is known what differs for outputs.
    pub(crate) fn complete(&mut self) {
        self.drain();
        let cuts = cycles::find(self.registry.ids(), |id| self.registry.get(id)?.converted.as_ref());
        self.cut(&cuts);
        for id in self.directional() {
            self.registry.split(id);
        }
        for id in self.registry.ids().collect::<Vec<_>>() {
            self.convert_output(id, &cuts);
        }
    }

    /// A schema of an operation again, for outputs. Only after [`Self::complete`].
    pub(crate) fn for_output(&mut self, node: &Node) -> Rc<Converted> {
        if let Some(known) = self.outputs.get(&node.address()) {
            return Rc::clone(known);
        }
        let converted = self.convert(node);
        let is_split = |reference: &Reference| {
            self.registry.get(reference.target).is_some_and(|target| target.output_name.is_some())
        };
        if !converted.is_directional && !converted.references.iter().any(is_split) {
            return converted;
        }
        let output = Rc::new(self.run(node, Direction::Output, &HashSet::new()));
        self.outputs.insert(node.address(), Rc::clone(&output));
        output
    }

    /// Gives the definitions away.
    pub(crate) fn finish(self) -> Finished {
        let definitions = self.registry.into_definitions();
        let faults = graph::faults(&definitions);
        let named = definitions.into_iter().flat_map(|definition| {
            let output = definition.output_name.zip(definition.output);
            let input = definition.converted.map(|converted| (definition.name, converted));
            input.into_iter().chain(output).map(|(name, converted)| (name, converted.schema))
        });
        Finished { definitions: Definitions::new(named.collect::<Vec<(Arc<str>, RawJson)>>()), faults }
    }

    fn run(&mut self, node: &Node, direction: Direction, cuts: &HashSet<DefinitionId>) -> Converted {
        if self.is_exhausted() {
            return Converted::anything();
        }
        let converter = Converter {
            resolver: self.resolver,
            registry: &mut self.registry,
            patterns: &mut self.patterns,
            version: self.version,
            direction,
            tells_visibility: self.tells_visibility,
            cuts,
            out: Vec::new(),
            references: Vec::new(),
            fault: None,
            is_directional: false,
            is_widened: false,
        };
        let converted = converter.run(node);
        self.written = self.written.saturating_add(converted.schema.as_bytes().len());
        converted
    }

    fn drain(&mut self) {
        while let Some((id, node)) = self.registry.next() {
            let converted = self.run(&node, Direction::Input, &HashSet::new());
            if let Some(definition) = self.registry.get_mut(id) {
                definition.converted = Some(converted);
            }
        }
    }

    fn cut(&mut self, cuts: &Cuts) {
        for (id, targets) in &cuts.references {
            let Some(node) = self.registry.get(*id).map(|definition| definition.node.clone()) else {
                continue;
            };
            let converted = self.run(&node, Direction::Input, targets);
            if let Some(definition) = self.registry.get_mut(*id) {
                definition.converted = Some(converted);
            }
        }
        for id in &cuts.definitions {
            if let Some(definition) = self.registry.get_mut(*id) {
                definition.converted = Some(Converted::anything());
            }
        }
    }

    /// Definitions that differ by themselves, and those that refer to one that does.
    fn directional(&self) -> Vec<DefinitionId> {
        let converted = |id| self.registry.get(id).and_then(|definition| definition.converted.as_ref());
        let begin = self.registry.ids().filter(|id| converted(*id).is_some_and(|c| c.is_directional));
        let mut reached = graph::reached_by(self.registry.ids(), begin, converted);
        reached.sort_unstable();
        reached
    }

    fn convert_output(&mut self, id: DefinitionId, cuts: &Cuts) {
        let Some(definition) = self.registry.get(id).filter(|d| d.output_name.is_some()) else { return };
        let node = definition.node.clone();
        let none = HashSet::new();
        let converted = match cuts.definitions.contains(&id) {
            true => Converted::anything(),
            false => self.run(&node, Direction::Output, cuts.references.get(&id).unwrap_or(&none)),
        };
        if let Some(definition) = self.registry.get_mut(id) {
            definition.output = Some(converted);
        }
    }
}

impl Finished {
    /// The first reference that leads nowhere of those that a schema leads to.
    pub(crate) fn fault<'f>(&'f self, converted: &'f Converted) -> Option<&'f Fault> {
        let of = |reference: &Reference| self.faults.get(reference.target.index())?.as_ref();
        converted.fault.as_ref().or_else(|| converted.references.iter().find_map(of))
    }
}
