//! What an operation answers on success.

use super::Reader;
use crate::source::openapi::{
    library::{Item, Node},
    media::{self, Content},
    object::object,
    schema::Shape,
};

impl Reader<'_> {
    /// The schemas of all successes, if each of them is JSON and has one; else none. `default` is not one of them: it
    /// is mostly for errors.
    pub(super) fn outputs(&self, operation: &Item) -> Vec<Node> {
        let successes = || {
            let responses = operation.get("responses")?;
            let members = object(&responses.value)?;
            let successes = members.iter().filter(|(status, _)| is_success(status));
            successes.map(|(_, response)| self.output(&responses.with(response))).collect::<Option<Vec<_>>>()
        };
        successes().unwrap_or_default()
    }

    fn output(&self, response: &Node) -> Option<Node> {
        let response = self.resolver.item(response).ok()?;
        let content = response.get("content")?;
        let members = object(&content.value)?;
        let mut schemas = members.iter().filter_map(|(media_type, entry)| {
            let schema = self.resolver.item(&content.with(entry)).ok()?.get("schema")?;
            let is_json = match media::content(&media_type) {
                Content::Json => true,
                Content::Any => {
                    let shape = Shape::of(&schema, self.resolver, self.version);
                    matches!(shape, Shape::Object | Shape::Array)
                }
                _ => false,
            };
            is_json.then_some(schema)
        });
        schemas.next()
    }
}

/// `200`, `2XX`.
fn is_success(status: &str) -> bool {
    status.len() == 3 && status.starts_with('2')
}
