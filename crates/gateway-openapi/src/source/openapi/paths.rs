//! Paths and their operations, sorted (E-41).

use gateway_domain::{RawJson, RawObject};

use super::{
    Limits,
    fault::Fault,
    library::{Item, Node},
    object::object,
    operation::{Draft, PathItem, Reader, Template},
};
use crate::ir::{Method, Skipped};

/// What stands in the paths object.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) drafts: Vec<Draft>,
    pub(super) skipped: Vec<Skipped>,
}

/// Methods that are not offered (E-41), as path items call them.
const OTHER_METHODS: [&str; 4] = ["options", "trace", "query", "connect"];

/// There is more than is read.
#[derive(Debug)]
pub(super) struct Exhausted(pub(super) &'static str);

impl Found {
    pub(super) fn read(paths: &Node, reader: &mut Reader<'_>, limits: &Limits) -> Result<Self, Exhausted> {
        let mut found = Self::default();
        let Some(members) = object(&paths.value) else { return Ok(found) };
        let mut entries: Vec<(String, RawJson)> = members
            .iter()
            .filter(|(path, _)| !path.starts_with("x-"))
            .map(|(path, item)| (path.into_owned(), item))
            .collect();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        for (path, item) in entries {
            found.path(&path, &paths.with(item), reader);
            if found.drafts.len() + found.skipped.len() > limits.operations {
                return Err(Exhausted("operations"));
            }
            if reader.schemas.is_exhausted() {
                return Err(Exhausted("bytes of schemas and texts"));
            }
        }
        Ok(found)
    }

    fn path(&mut self, path: &str, node: &Node, reader: &mut Reader<'_>) {
        let item = match reader.item(node) {
            Ok(item) => item,
            Err(fault) => return self.skip("*", path, None, &fault),
        };
        self.others(path, &item);
        let methods = Method::ALL.into_iter().filter_map(|method| {
            let name = method.as_str().to_ascii_lowercase();
            Some((method, item.get_here_or_there(&name)?))
        });
        let methods: Vec<_> = methods.collect();
        let at = Template::parse(path).map(|template| PathItem { text: path, template, item });
        for (method, node) in methods {
            let draft = match &at {
                Ok(at) => reader.operation(method, at, &node),
                Err(fault) => Err(fault.clone()),
            };
            match draft {
                Ok(draft) => self.drafts.push(draft),
                Err(fault) => {
                    let id = object(&node.value).and_then(|members| named(&members));
                    self.skip(method.as_str(), path, id, &fault);
                }
            }
        }
    }

    /// Operations of methods that are not offered.
    fn others(&mut self, path: &str, item: &Item) {
        let mut others = Vec::new();
        for name in OTHER_METHODS {
            others.extend(item.get_here_or_there(name).map(|node| (name.to_ascii_uppercase(), node.value)));
        }
        let additional = item.get_here_or_there("additionalOperations");
        if let Some(members) = additional.and_then(|additional| object(&additional.value)) {
            let methods = members.iter().take(MOST_ADDITIONAL);
            others.extend(methods.map(|(method, value)| (method.chars().take(40).collect(), value)));
        }
        for (method, value) in others {
            let Some(members) = object(&value) else { continue };
            let fault = Fault::new(format!("the method {method} is not offered"));
            self.skip(&method, path, named(&members), &fault);
        }
    }

    fn skip(&mut self, method: &str, path: &str, id: Option<String>, fault: &Fault) {
        let path = path.chars().take(MOST_CHARACTERS).collect();
        self.skipped.push(Skipped { method: method.to_owned(), path, id, reason: fault.to_string() });
    }
}

const MOST_ADDITIONAL: usize = 64;

/// Of a path, for the operator.
const MOST_CHARACTERS: usize = 1024;

fn named(operation: &RawObject) -> Option<String> {
    operation.get_text("operationId").map(|id| id.chars().take(MOST_CHARACTERS).collect())
}
