//! The published JSON Schemas, and whether messages keep to them.
//!
//! [`audit`] goes through the record of one end and judges every message the other side wrote. [`Schema`] knows one
//! revision. The validator reads the part of JSON Schema that the published files use; formats are not looked at.

mod audit;
mod names;
mod validate;

use std::{collections::HashMap, sync::OnceLock};

use serde_json::Value;

pub use self::audit::{Writer, audit};
use crate::profile::{LEGACY, MODERN};

/// One published revision.
#[derive(Debug)]
pub struct Schema {
    root: Value,
    /// Definitions of requests and notifications, by method.
    methods: HashMap<String, String>,
}

impl Schema {
    /// That of a revision.
    ///
    /// # Panics
    /// If there is no such revision.
    pub fn of(revision: &str) -> &'static Self {
        static ALL: OnceLock<Vec<(&str, Schema)>> = OnceLock::new();
        let all = ALL.get_or_init(|| FILES.iter().map(|(name, text)| (*name, Self::read(text))).collect());
        let found = all.iter().find(|(name, _)| *name == revision);
        &found.unwrap_or_else(|| panic!("no published revision {revision}")).1
    }

    fn read(text: &str) -> Self {
        let root: Value =
            serde_json::from_str(text).unwrap_or_else(|why| panic!("a schema is broken: {why}"));
        let definitions = definitions(&root).into_iter().flat_map(Value::as_object).flatten();
        let methods = definitions
            .filter_map(|(name, schema)| {
                let method = schema["properties"]["method"]["const"].as_str()?;
                Some((method.to_owned(), name.clone()))
            })
            .collect();
        Self { root, methods }
    }

    /// The definition of the request or notification with this method.
    pub fn definition_of(&self, method: &str) -> Option<&str> {
        self.methods.get(method).map(String::as_str)
    }

    /// Whether there is such a definition.
    pub fn has(&self, definition: &str) -> bool {
        definitions(&self.root).is_some_and(|all| !all[definition].is_null())
    }

    /// Whether `value` is what the definition says; the error says where it is not.
    pub fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        let schema = definitions(&self.root).and_then(|all| all.get(definition));
        let schema = schema.ok_or_else(|| format!("no definition {definition}"))?;
        validate::check(&self.root, schema, value, definition)
    }
}

fn definitions(root: &Value) -> Option<&Value> {
    root.get("$defs").or_else(|| root.get("definitions"))
}

const FILES: [(&str, &str); 5] = [
    (LEGACY[0], include_str!("../schema/2024-11-05/schema.json")),
    (LEGACY[1], include_str!("../schema/2025-03-26/schema.json")),
    (LEGACY[2], include_str!("../schema/2025-06-18/schema.json")),
    (LEGACY[3], include_str!("../schema/2025-11-25/schema.json")),
    (MODERN, include_str!("../schema/2026-07-28/schema.json")),
];

#[cfg(test)]
mod tests;
