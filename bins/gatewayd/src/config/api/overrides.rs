//! `overrides`: what the operator says of single operations in place of their document.

use std::collections::BTreeMap;

use gateway_domain::RawJson;
use gateway_openapi::engine::{AnnotationOverride, Argument, Naming, Override, names};
use gateway_openapi::ir::{Method, Operation};

use super::{read, selector};
use crate::config::gateway::LONGEST_CALL;
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::scalar;

pub(super) fn read_all(table: Table<'_>, naming: &Naming) -> BTreeMap<String, Override> {
    let mut overrides = BTreeMap::new();
    for (name, item) in table.into_entries() {
        let key = item.parsed(|_| key(&name));
        let Some(table) = item.table() else { continue };
        let given = read_one(table, naming);
        if let Some(key) = key
            && overrides.insert(key, given).is_some()
        {
            let fault = Fault::new("is for the same operation as another override");
            item.report(fault.hint("write one of both"));
        }
    }
    overrides
}

/// An operation's id, or `GET /pets/{id}`.
fn key(name: &str) -> Result<String, Fault> {
    let hint = "write an operation's id, or \"GET /path/{name}\" as in its document";
    match name.split_once(char::is_whitespace) {
        None if name.starts_with('/') || name.is_empty() => {
            Err(Fault::new("does not say which operation").hint(hint))
        }
        None => Ok(name.to_owned()),
        Some((method, path)) => {
            let (method, path) = (selector::method(method)?, path.trim());
            match path.starts_with('/') && !path.contains(char::is_whitespace) {
                true => Ok(format!("{method} {path}")),
                false => Err(Fault::new("does not say which operation").hint(hint)),
            }
        }
    }
}

fn read_one(mut table: Table<'_>, naming: &Naming) -> Override {
    let given = Override {
        name: table.read("name", |item| tool_name(item, naming)),
        title: table.read("title", scalar::word),
        description: table.read("description", scalar::word),
        annotations: annotations(table.table("annotations")),
        arguments: table.take("arguments").and_then(|item| item.table()).map(arguments).unwrap_or_default(),
        fields: table.take("fields").and_then(|item| fields(&item)).unwrap_or_default(),
        output_schema: table.read("output_schema", scalar::flag),
        timeout: table.read("timeout", scalar::duration(LONGEST_CALL)),
        max_concurrent: table.read("max_concurrent", scalar::count(1..=10_000)),
        rate_limit: table.take("rate_limit").and_then(|item| item.table()).and_then(read::rate_limit),
        max_response_bytes: table.read("max_response_bytes", read::response_bytes),
    };
    table.finish();
    given
}

fn tool_name(item: &Item<'_>, naming: &Naming) -> Result<String, Fault> {
    let name = scalar::word(item)?;
    let any = Operation::new("any", Method::Get, "/");
    match names([(&any, Some(name.as_str()))], naming) {
        Ok(_) => Ok(name),
        Err(error) => Err(Fault::new(error.to_string())),
    }
}

fn annotations(mut table: Table<'_>) -> AnnotationOverride {
    let annotations = AnnotationOverride {
        read_only: table.read("read_only", scalar::flag),
        destructive: table.read("destructive", scalar::flag),
        idempotent: table.read("idempotent", scalar::flag),
        open_world: table.read("open_world", scalar::flag),
    };
    table.finish();
    annotations
}

fn arguments(table: Table<'_>) -> BTreeMap<String, Argument> {
    let entries = table.into_entries();
    entries.filter_map(|(name, item)| Some((name, argument(&item)?))).collect()
}

/// `{ hidden = true }` or `{ value = … }`.
fn argument(item: &Item<'_>) -> Option<Argument> {
    let mut table = item.table()?;
    let hidden = table.read("hidden", scalar::flag);
    let value = table.take("value");
    table.finish();
    match (hidden, value) {
        (Some(true), None) => Some(Argument::Hidden),
        (None, Some(value)) => value.parsed(json).map(Argument::Fixed),
        _ => {
            let fault = Fault::new("does not say what becomes of it");
            item.report(fault.hint("write { hidden = true } or { value = … }"));
            None
        }
    }
}

fn json(item: &Item<'_>) -> Result<RawJson, Fault> {
    let text = serde_json::to_string(&item.structured());
    let text = text.map_err(|error| Fault::new(format!("cannot be written as JSON: {error}")))?;
    RawJson::parse(text).map_err(|error| Fault::new(format!("cannot be written as JSON: {error}")))
}

/// Without one all would be passed on, which is not what an empty list looks like.
fn fields(item: &Item<'_>) -> Option<Vec<Vec<String>>> {
    let items = item.items()?;
    if items.is_empty() {
        item.report(Fault::new("must not be empty").hint("remove it to pass everything on"));
    }
    Some(items.iter().filter_map(|item| item.parsed(field)).collect())
}

/// `"items.id"`.
fn field(item: &Item<'_>) -> Result<Vec<String>, Fault> {
    let path: Vec<String> = scalar::word(item)?.split('.').map(str::to_owned).collect();
    match path.iter().any(String::is_empty) {
        true => Err(Fault::new("is not a path of names").hint("write \"id\" or \"items.id\"")),
        false => Ok(path),
    }
}
