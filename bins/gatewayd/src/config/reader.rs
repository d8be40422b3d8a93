//! Reading typed values out of the merged layers without stopping at the first fault (P-10).
//!
//! A derived deserialiser ends at its first error; this reader records the fault with its place, takes the
//! default and goes on. A [`Table`] learns its keys from what is asked of it, so that the keys it knows are
//! written once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use figment::value::{Dict, Tag, Value};
use gateway_domain::{RawObject, Secret};

use super::file::Files;
use super::key_path::KeyPath;
use super::layers::{Environment, Layers, Origin};
use super::problem::{Fault, Note, Problem, nearest};
use super::stamp::{self, Stamps};
use super::{scalar, text};

/// What all values of one configuration share while it is read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    layers: &'a Layers,
    environment: &'a Environment,
    readable: Files,
    /// With their rank.
    problems: RefCell<Vec<((usize, usize), Problem)>>,
    notes: RefCell<Vec<Note>>,
    secret_variables: RefCell<BTreeSet<String>>,
    /// By the key that each stands under.
    secrets: RefCell<Vec<(String, Secret)>>,
    stamps: RefCell<Stamps>,
    /// While a disabled downstream is read: what it needs from outside need not be there.
    dormant: Cell<bool>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layers: &'a Layers, environment: &'a Environment, readable: Files) -> Self {
        Self {
            layers,
            environment,
            readable,
            problems: RefCell::default(),
            notes: RefCell::default(),
            secret_variables: RefCell::default(),
            secrets: RefCell::default(),
            stamps: RefCell::default(),
            dormant: Cell::new(false),
        }
    }

    /// The whole configuration.
    pub(super) fn root(&'a self) -> Table<'a> {
        Table {
            reader: self,
            path: KeyPath::default(),
            tag: Tag::Default,
            members: self.layers.merged(),
            known: Vec::new(),
        }
    }

    /// What was found besides the values.
    pub(super) fn into_report(self) -> Report {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|(rank, _)| *rank);
        let problems = problems.into_iter().map(|(_, problem)| problem).collect();
        Report {
            problems,
            notes: self.notes.into_inner(),
            secret_variables: self.secret_variables.into_inner(),
            secrets: self.secrets.into_inner(),
            stamps: self.stamps.into_inner(),
        }
    }

    fn report(&self, tag: Tag, path: &KeyPath, fault: Fault) {
        let place = self.layers.place(tag, path);
        let problem = Problem { place, what: fault.what, hint: fault.hint };
        self.problems.borrow_mut().push((self.layers.rank(tag, path), problem));
    }

    fn note(&self, tag: Tag, path: &KeyPath, text: String) {
        self.notes.borrow_mut().push(Note { place: self.layers.place(tag, path), text });
    }
}

/// What a configuration holds besides its values.
#[derive(Debug)]
pub(super) struct Report {
    /// In the order of their places.
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<Note>,
    /// The variables that secrets came from.
    pub(super) secret_variables: BTreeSet<String>,
    /// What came from variables and files, by the key that it stands under.
    pub(super) secrets: Vec<(String, Secret)>,
    /// The files that values name and that are read with them.
    pub(super) stamps: Stamps,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    reader: &'a Reader<'a>,
    path: KeyPath,
    value: Value,
}

impl<'a> Item<'a> {
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn report(&self, fault: Fault) {
        self.reader.report(self.value.tag(), &self.path, fault);
    }

    pub(super) fn note(&self, text: String) {
        self.reader.note(self.value.tag(), &self.path, text);
    }

    /// The value as `parse` understands it; what it does not is recorded.
    pub(super) fn parsed<T>(&self, parse: impl FnOnce(&Self) -> Result<T, Fault>) -> Option<T> {
        parse(self).map_err(|fault| self.report(fault)).ok()
    }

    /// The members of a table.
    pub(super) fn table(&self) -> Option<Table<'a>> {
        match self.structured() {
            Value::Dict(tag, members) => {
                Some(Table { reader: self.reader, path: self.path.clone(), tag, members, known: Vec::new() })
            }
            other => {
                self.report(scalar::found(&other, "a table of keys"));
                None
            }
        }
    }

    /// The items of an array. In the environment commas separate them too:
    /// `GATEWAY_ALLOWED_HOSTS=a.example,b.example`.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        match self.structured() {
            Value::Array(_, values) => {
                let items = values.into_iter().enumerate();
                Some(items.map(|(at, value)| self.inner(self.path.index(at), value)).collect())
            }
            Value::String(tag, text) if self.is_of_environment() => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).enumerate();
                let value = |part: &str| Value::String(tag, part.to_owned());
                Some(parts.map(|(at, part)| self.inner(self.path.index(at), value(part))).collect())
            }
            other => {
                self.report(scalar::found(&other, "an array").hint("put it in brackets: [\"…\", \"…\"]"));
                None
            }
        }
    }

    /// Like the value; a text of the environment that spells another type is of that type.
    pub(super) fn structured(&self) -> Value {
        match &self.value {
            Value::String(tag, spelled) if self.is_of_environment() => {
                let Some(mut value) = text::inline_value(spelled) else { return self.value.clone() };
                retag(&mut value, *tag);
                value
            }
            value => value.clone(),
        }
    }

    /// The value of an environment variable that a secret comes from.
    pub(super) fn variable(&self, name: &str) -> Option<&'a str> {
        self.reader.secret_variables.borrow_mut().insert(name.to_owned());
        self.reader.environment.get(name)
    }

    /// Where programs without a folder are looked for.
    pub(super) fn search_path(&self) -> &'a str {
        self.reader.environment.get("PATH").unwrap_or_default()
    }

    /// Notes what this value, which is secret, came to.
    pub(super) fn keeps(&self, value: &str) {
        self.reader.secrets.borrow_mut().push((self.path.to_string(), Secret::new(value)));
    }

    /// Notes a file that is read for this value.
    pub(super) fn reads(&self, path: &Path) {
        stamp::note(&mut self.reader.stamps.borrow_mut(), path);
    }

    /// Which files this may name to be read.
    pub(super) fn readable(&self) -> Files {
        self.reader.readable
    }

    /// Where this stands, as in [`Problem::place`].
    pub(super) fn place(&self) -> String {
        self.reader.layers.place(self.value.tag(), &self.path)
    }

    /// The file that this stands in.
    pub(super) fn file(&self) -> Option<&'a str> {
        self.reader.layers.file(self.value.tag())
    }

    /// This table as JSON, members in the order in which they were written.
    pub(super) fn definition(&self, table: &Value) -> Result<RawObject, String> {
        text::definition(table, &self.path, &|tag, path| self.reader.layers.order(tag, path))
    }

    /// Whether this belongs to a downstream that is switched off.
    pub(super) fn is_dormant(&self) -> bool {
        self.reader.dormant.get()
    }

    /// A relative path of a file is relative to that file.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        self.reader
            .layers
            .folder(self.value.tag())
            .map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// Whether this stands in the configuration that comes with the program.
    pub(super) fn is_built_in(&self) -> bool {
        let origin = self.reader.layers.origin(self.value.tag());
        matches!(origin, Some(Origin::File { is_built_in: true, .. }))
    }

    pub(super) fn is_of_environment(&self) -> bool {
        matches!(self.reader.layers.origin(self.value.tag()), Some(Origin::Environment(_)))
    }

    fn inner(&self, path: KeyPath, value: Value) -> Self {
        Self { reader: self.reader, path, value }
    }
}

/// A table whose known keys are those that are asked for before [`Table::finish`].
#[derive(Debug)]
pub(super) struct Table<'a> {
    reader: &'a Reader<'a>,
    path: KeyPath,
    tag: Tag,
    members: Dict,
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    /// The member `key`, if it was written.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.known.push(key);
        let value = self.members.remove(key)?;
        Some(Item { reader: self.reader, path: self.path.key(key), value })
    }

    /// The member `key` as `parse` understands it.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&Item<'a>) -> Result<T, Fault>,
    ) -> Option<T> {
        self.take(key)?.parsed(parse)
    }

    /// Each item of the array `key` as `parse` understands it; empty if there is none.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&Item<'a>) -> Result<T, Fault>,
    ) -> Option<Vec<T>> {
        let items = self.take(key)?.items()?;
        Some(items.iter().filter_map(|item| item.parsed(&parse)).collect())
    }

    /// The table `key`; an empty one if it was not written.
    pub(super) fn table(&mut self, key: &'static str) -> Self {
        let empty = Table {
            reader: self.reader,
            path: self.path.key(key),
            tag: self.tag,
            members: Dict::new(),
            known: Vec::new(),
        };
        self.take(key).and_then(|item| item.table()).unwrap_or(empty)
    }

    /// Every member of a table whose keys are the writer's own.
    pub(super) fn into_entries(self) -> impl Iterator<Item = (String, Item<'a>)> {
        let (reader, path) = (self.reader, self.path);
        self.members.into_iter().map(move |(key, value)| {
            let item = Item { reader, path: path.key(&key), value };
            (key, item)
        })
    }

    /// A path that is relative to the file that this stands in.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        self.reader.layers.folder(self.tag).map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// Notes a file that is read for this table.
    pub(super) fn reads(&self, path: &Path) {
        stamp::note(&mut self.reader.stamps.borrow_mut(), path);
    }

    /// Which files this may name to be read.
    pub(super) fn readable(&self) -> Files {
        self.reader.readable
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.members.contains_key(key)
    }

    /// The keys of a member that is a table.
    pub(super) fn keys_of(&self, key: &str) -> Vec<String> {
        match self.members.get(key) {
            Some(Value::Dict(_, members)) => members.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn report(&self, fault: Fault) {
        self.reader.report(self.tag, &self.path, fault);
    }

    pub(super) fn note(&self, text: String) {
        self.reader.note(self.tag, &self.path, text);
    }

    /// Until the next call, what is read belongs to a downstream that is switched off (or not).
    pub(super) fn set_dormant(&self, dormant: bool) {
        self.reader.dormant.set(dormant);
    }

    /// Whatever nobody asked for is unknown.
    pub(super) fn finish(self) {
        for (key, value) in &self.members {
            let path = self.path.key(key);
            let near = nearest(key, &self.known);
            if self.path.is_root() && self.is_foreign_variable(value.tag(), &path, near) {
                continue;
            }
            self.reader.report(value.tag(), &path, self.unknown(key, near));
        }
    }

    fn unknown(&self, key: &str, near: Option<&str>) -> Fault {
        let fault = Fault::new(format!("unknown key `{key}`"));
        match near {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => fault.hint(format!("known here: {}", self.known.join(", "))),
        }
    }

    /// Not every variable that begins with `GATEWAY_` is meant for us: it may be a secret that the
    /// configuration names, and Kubernetes sets `GATEWAY_PORT`, `GATEWAY_SERVICE_HOST`, … beside a service
    /// that is called `gateway`.
    fn is_foreign_variable(&self, tag: Tag, path: &KeyPath, near: Option<&str>) -> bool {
        let Some(Origin::Environment(names)) = self.reader.layers.origin(tag) else { return false };
        let secrets = self.reader.secret_variables.borrow();
        if names.get(path).is_some_and(|name| secrets.contains(name)) {
            return true;
        }
        if near.is_none() {
            self.reader.note(tag, path, "is not a setting of the gateway; ignored".to_owned());
        }
        near.is_none()
    }
}

fn retag(value: &mut Value, tag: Tag) {
    match value {
        Value::String(t, _)
        | Value::Char(t, _)
        | Value::Bool(t, _)
        | Value::Num(t, _)
        | Value::Empty(t, _) => {
            *t = tag;
        }
        Value::Dict(t, members) => {
            *t = tag;
            members.values_mut().for_each(|value| retag(value, tag));
        }
        Value::Array(t, items) => {
            *t = tag;
            items.iter_mut().for_each(|value| retag(value, tag));
        }
    }
}
