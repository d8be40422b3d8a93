//! `include` and `exclude`: which operations are meant.

use figment::value::Value;
use gateway_openapi::curation::PathGlob;
use gateway_openapi::ir::Method;

use super::model::Selector;
use crate::config::problem::{Fault, nearest};
use crate::config::reader::{Item, Table};
use crate::config::scalar;

pub(super) fn read_all(table: &mut Table<'_>, key: &'static str) -> Vec<Selector> {
    let items = table.take(key).and_then(|item| item.items()).unwrap_or_default();
    items.iter().filter_map(read).collect()
}

fn read(item: &Item<'_>) -> Option<Selector> {
    match item.structured() {
        Value::String(..) => item.parsed(short),
        Value::Dict(..) => long(item),
        other => {
            item.report(scalar::found(&other, "a string or a table").hint(HINT));
            None
        }
    }
}

/// `"GET /pets/*"`, `"/pets/*"`, `"GET"` or an operation's id.
fn short(item: &Item<'_>) -> Result<Selector, Fault> {
    let text = scalar::word(item)?;
    let mut words = text.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(path), None, None) if path.starts_with('/') => {
            Ok(Selector { path: Some(path_glob(path)?), ..Selector::default() })
        }
        (Some(word), None, None) => Ok(match is_method(word) {
            Some(method) => Selector { method: Some(method), ..Selector::default() },
            None => Selector { operation: Some(literal(word)?), ..Selector::default() },
        }),
        (Some(word), Some(path), None) if path.starts_with('/') => {
            Ok(Selector { method: Some(method(word)?), path: Some(path_glob(path)?), ..Selector::default() })
        }
        _ => Err(Fault::new("does not say which operations").hint(HINT)),
    }
}

/// Upper case only: an operation may be called `get`.
fn is_method(word: &str) -> Option<Method> {
    Method::parse(word).filter(|method| method.as_str() == word)
}

fn long(item: &Item<'_>) -> Option<Selector> {
    let mut table = item.table()?;
    let given = ["tag", "path", "method", "operation"].iter().filter(|key| table.has(key)).count();
    if table.is_empty() {
        // It would fit everything.
        item.report(Fault::new("does not say which operations").hint(HINT));
    }
    let selector = Selector {
        tag: table.read("tag", |item| literal(&scalar::word(item)?)),
        path: table.read("path", |item| path_glob(&scalar::word(item)?)),
        method: table.read("method", |item| method(&scalar::word(item)?)),
        operation: table.read("operation", |item| literal(&scalar::word(item)?)),
    };
    table.finish();
    let Selector { tag, path, method, operation } = &selector;
    let read = [tag.is_some(), path.is_some(), method.is_some(), operation.is_some()];
    let read = read.into_iter().filter(|is_read| *is_read).count();
    (read > 0 && read == given).then_some(selector)
}

pub(super) fn method(word: &str) -> Result<Method, Fault> {
    Method::parse(word).ok_or_else(|| {
        let names = Method::ALL.map(Method::as_str);
        let fault = Fault::new(format!("{word:?} is not one of {}", names.join(", ")));
        match nearest(&word.to_uppercase(), &names) {
            Some(near) => fault.hint(format!("did you mean \"{near}\"?")),
            None => fault,
        }
    })
}

/// An operation's id or a tag. What looks like a pattern would fit none, and so exclude nothing.
fn literal(word: &str) -> Result<String, Fault> {
    match word.contains(['*', '?', '[']) {
        true => Err(Fault::new(format!("{word:?} is a pattern, and only paths have those"))
            .hint("a path begins with /")),
        false => Ok(word.to_owned()),
    }
}

/// A glob over paths. One that cannot be understood would fit nothing, and so exclude nothing.
fn path_glob(text: &str) -> Result<String, Fault> {
    match PathGlob::new(text).fault() {
        None => Ok(text.to_owned()),
        Some(reason) => Err(Fault::new(format!("{text:?} fits no path: {reason}"))),
    }
}

const HINT: &str = "write \"/pets/*\", \"GET /pets/*\", an operation's id, or { tag = …, path = …, method = …, operation = … }";
