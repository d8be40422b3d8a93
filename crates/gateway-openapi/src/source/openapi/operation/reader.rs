use std::{borrow::Cow, rc::Rc};

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{requirements, template::Template};
use crate::{
    ir::{Definitions, Method, Operation, Requirement},
    source::{
        identity::operation_id,
        openapi::{
            document::Version,
            fault::Fault,
            library::{Item, Node, Resolver},
            object::{MOST_TEXT, cut, flag, text},
            schema::{Converted, Finished, Schemas},
        },
    },
};

/// Reads operations.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(super) resolver: &'a Resolver<'a>,
    pub(super) version: Version,
    pub(crate) schemas: Schemas<'a>,
    /// What operations need that say nothing of it themselves (E-W10). A fault is theirs: without credentials they would
    /// be called as nobody.
    pub(super) security: Result<Vec<Requirement>, Fault>,
}

/// An operation, as long as it is not known what its references lead to.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) operation: Operation,
    pub(super) inputs: Inputs,
    /// The schemas of what it answers on success.
    pub(super) outputs: Vec<Node>,
}

/// The schemas of what is sent, with words for what each is.
#[derive(Debug, Default)]
pub(crate) struct Inputs(Vec<(String, Rc<Converted>)>);

/// A path and what its operations have in common.
#[derive(Debug)]
pub(crate) struct PathItem<'p> {
    /// As the document writes it, which is what ids are made of.
    pub(crate) text: &'p str,
    pub(crate) template: Template<'p>,
    pub(crate) item: Item,
}

/// The most tags of one operation.
const MOST_TAGS: usize = 64;

impl Inputs {
    pub(super) fn add(&mut self, what: String, converted: Rc<Converted>) {
        self.0.push((what, converted));
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        resolver: &'a Resolver<'a>,
        version: Version,
        most_bytes: usize,
        root: &RawObject,
    ) -> Self {
        let security = root.get("security").filter(|list| list.kind() != JsonKind::Null);
        let security = security.map_or_else(|| Ok(Vec::new()), |list| requirements::read(&list));
        Self { resolver, version, schemas: Schemas::new(resolver, version, most_bytes), security }
    }

    /// Reads what stands at a method of a path.
    pub(crate) fn operation(
        &mut self,
        method: Method,
        at: &PathItem<'_>,
        node: &Node,
    ) -> Result<Draft, Fault> {
        let item = self.resolver.item(node)?;
        let members = item.object();
        let mut inputs = Inputs::default();
        let lists = [at.item.get_here_or_there("parameters"), item.get("parameters")];
        let params = self.parameters(lists, &at.template, &mut inputs)?;
        let body = self.body(&item, &mut inputs)?;
        let mut operation = Operation::new(
            operation_id(members.get_text("operationId").as_deref(), method, at.text),
            method,
            at.template.path,
        );
        let shared =
            |name| at.item.get_here_or_there(name).and_then(|value| value.value.to_text().map(trimmed));
        operation.summary = text(members, "summary").or_else(|| shared("summary").flatten());
        operation.description = text(members, "description").or_else(|| shared("description").flatten());
        operation.tags = tags(members);
        operation.deprecated = flag(members, "deprecated");
        operation.params = params;
        operation.body = body;
        operation.security = match members.get("security") {
            Some(list) => requirements::read(&list)?,
            None => self.security.clone().map_err(|fault| fault.within("the whole document"))?,
        };
        self.schemas.charge(size(&operation));
        let outputs = if method == Method::Head { Vec::new() } else { self.outputs(&item) };
        for output in &outputs {
            self.schemas.convert(output);
        }
        Ok(Draft { operation, inputs, outputs })
    }

    /// Whether there is more to look through than is allowed.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.resolver.is_exhausted()
    }

    /// The object that a path stands for.
    pub(crate) fn item(&self, node: &Node) -> Result<Item, Fault> {
        self.resolver.item(node)
    }

    /// The description of a thing that may stand behind a reference; in 3.0 what stands beside that is ignored.
    pub(super) fn described(&self, item: &Item) -> Option<String> {
        match self.version {
            Version::V30 => text(item.object(), "description"),
            _ => item.description(),
        }
    }
}

impl Draft {
    /// Its schemas of what it answers.
    pub(crate) fn converted_outputs(&self, schemas: &mut Schemas<'_>) -> Vec<Rc<Converted>> {
        self.outputs.iter().map(|node| schemas.for_output(node)).collect()
    }

    /// Why it cannot be used, if something that is sent is not known.
    pub(crate) fn fault(&self, finished: &Finished) -> Option<Fault> {
        self.inputs.0.iter().find_map(|(what, converted)| Some(finished.fault(converted)?.within(what)))
    }

    /// The operation. What it answers need not be known: it can be called without.
    pub(crate) fn finish(mut self, finished: &Finished, outputs: &[Rc<Converted>]) -> Operation {
        let is_known = outputs.iter().all(|output| finished.fault(output).is_none());
        self.operation.output = if is_known { either(outputs) } else { None };
        self.operation.definitions = Definitions::clone(&finished.definitions);
        self.operation
    }
}

/// One of the schemas, each once.
fn either(schemas: &[Rc<Converted>]) -> Option<RawJson> {
    let mut several: Vec<&RawJson> = Vec::new();
    for converted in schemas {
        if !several.contains(&&converted.schema) {
            several.push(&converted.schema);
        }
    }
    match several.as_slice() {
        [] => None,
        [only] => Some((*only).clone()),
        several => {
            let list = RawJson::array(several.iter().map(|schema| (*schema).clone()));
            RawJson::parse(format!(r#"{{"anyOf":{list}}}"#)).ok()
        }
    }
}

fn tags(operation: &RawObject) -> Vec<String> {
    let Some(list) = operation.get("tags").filter(|list| list.kind() == JsonKind::Array) else {
        return Vec::new();
    };
    let tags = list.elements(usize::MAX).unwrap_or_default();
    let tags = tags.iter().filter_map(|tag| tag.to_text().map(|tag| cut(&tag).to_owned()));
    tags.take(MOST_TAGS).collect()
}

fn trimmed(text: Cow<'_, str>) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| cut(text).to_owned())
}

/// Roughly what it takes in memory, but for what is counted elsewhere.
fn size(operation: &Operation) -> usize {
    let texts = [&operation.summary, &operation.description].into_iter().flatten().map(String::len);
    let scopes = |requirement: &Requirement| -> usize {
        requirement
            .0
            .iter()
            .map(|one| one.name.len() + one.scopes.iter().map(String::len).sum::<usize>())
            .sum()
    };
    size_of::<Operation>()
        + texts.sum::<usize>()
        + operation.path.len()
        + operation.tags.iter().map(String::len).sum::<usize>()
        + operation.security.iter().map(scopes).sum::<usize>()
        + operation
            .body
            .as_ref()
            .and_then(|body| body.description.as_ref())
            .map_or(0, |text| text.len().min(MOST_TEXT))
}
