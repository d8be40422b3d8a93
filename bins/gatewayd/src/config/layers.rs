//! What was written in which place, laid one over the other: files in order, environment, flags.
//!
//! Tables merge key by key; scalars and arrays of a later layer replace those of an earlier one. Only
//! `--allow-host` adds to what is there, since that is what the flag says.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment::value::{Dict, Map, Tag, Value};
use figment::{Figment, Metadata, Profile, Provider, Source};

use super::editors::Renames;
use super::key_path::{KeyPath, Step};
use super::text::Lines;

/// The layers and where each came from.
#[derive(Debug)]
pub(super) struct Layers {
    figment: Figment,
    origins: Vec<Origin>,
}

/// Who wrote a layer.
#[derive(Debug)]
pub(super) enum Origin {
    /// `is_built_in`: it comes with the program.
    File {
        name: String,
        folder: PathBuf,
        lines: Lines,
        renames: Renames,
        is_built_in: bool,
    },
    Environment(BTreeMap<KeyPath, String>),
    Flags,
}

impl Layers {
    pub(super) fn new() -> Self {
        Self { figment: Figment::new(), origins: Vec::new() }
    }

    /// Lays `values` over what is there.
    pub(super) fn over(mut self, values: Dict, origin: Origin) -> Self {
        let layer = Layer { index: self.origins.len(), values };
        self.figment = match origin {
            Origin::Flags => self.figment.admerge(layer),
            Origin::File { .. } | Origin::Environment(_) => self.figment.merge(layer),
        };
        self.origins.push(origin);
        self
    }

    /// All layers seen from above.
    pub(super) fn merged(&self) -> Dict {
        // Our own layers never fail, so there is nothing but the values.
        self.figment.data().unwrap_or_default().remove(&Profile::Default).unwrap_or_default()
    }

    pub(super) fn origin(&self, tag: Tag) -> Option<&Origin> {
        self.origins.get(self.index(tag)?)
    }

    fn index(&self, tag: Tag) -> Option<usize> {
        self.figment.get_metadata(tag)?.source.as_ref()?.custom()?.parse().ok()
    }

    /// `gateway.toml:12: downstreams.files.command`: as exact as the layer allows.
    pub(super) fn place(&self, tag: Tag, path: &KeyPath) -> String {
        match self.origin(tag).or_else(|| self.origins.first()) {
            Some(Origin::File { name, lines, renames, .. }) => in_file(name, lines, &renames.written(path)),
            Some(Origin::Environment(names)) => {
                let name = path.ancestors().find_map(|path| names.get(&path));
                name.map_or_else(|| path.to_string(), |name| format!("environment variable {name}"))
            }
            Some(Origin::Flags) => flag_of(path),
            None => path.to_string(),
        }
    }

    /// Where a key of the top level stands; the key itself if it is written nowhere.
    pub(super) fn place_of(&self, key: &str) -> String {
        let (mut path, mut value) = (KeyPath::default(), None);
        let mut members = self.merged();
        for word in key.split('.') {
            let Some(found) = members.remove(word) else { break };
            path = path.key(word);
            members = found.as_dict().cloned().unwrap_or_default();
            value = Some(found);
        }
        value.map_or_else(|| key.to_owned(), |value| self.place(value.tag(), &path))
    }

    /// The file of a layer, as [`Self::place`] calls it.
    pub(super) fn file(&self, tag: Tag) -> Option<&str> {
        match self.origin(tag)? {
            Origin::File { name, .. } => Some(name),
            Origin::Environment(_) | Origin::Flags => None,
        }
    }

    /// In which order people read it: layer by layer, line by line.
    pub(super) fn rank(&self, tag: Tag, path: &KeyPath) -> (usize, usize) {
        let index = self.index(tag).unwrap_or_default();
        match self.origins.get(index) {
            Some(Origin::File { lines, renames, .. }) => {
                (index, line_of(lines, &renames.written(path)).unwrap_or(0))
            }
            _ => (index, 0),
        }
    }

    /// In which order the members of a table were written: layer by layer, and as they stand in a file.
    pub(super) fn order(&self, tag: Tag, path: &KeyPath) -> (usize, usize) {
        let index = self.index(tag).unwrap_or_default();
        let order = match self.origins.get(index) {
            Some(Origin::File { lines, renames, .. }) => lines.get(&renames.written(path)).map(|at| at.order),
            _ => None,
        };
        (index, order.unwrap_or_default())
    }

    /// Against which folder a relative path of this layer is meant; `None` is the current one.
    pub(super) fn folder(&self, tag: Tag) -> Option<&Path> {
        match self.origin(tag)? {
            Origin::File { folder, .. } => Some(folder),
            Origin::Environment(_) | Origin::Flags => None,
        }
    }
}

/// One layer, as figment takes it.
struct Layer {
    index: usize,
    values: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        // The index leads back to the origin, which knows more than figment's metadata can hold.
        Metadata::from("layer", Source::Custom(self.index.to_string()))
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

/// The variables of the process, as they were when the gateway started.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Of this process. A variable that is not Unicode cannot be named in a configuration and is left out.
    pub(crate) fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable; an empty one counts as unset.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// What `GATEWAY_…` says, `__` between the keys: `GATEWAY_LIMITS__IN_FLIGHT=10`.
    ///
    /// Values stay the text they are (a key "007" is not the number 7); who reads them knows the type. Case
    /// and dashes, which variables do not have, are those of `below`.
    pub(super) fn layer(&self, below: &Dict) -> (Dict, Origin) {
        let (mut values, mut names) = (Dict::new(), BTreeMap::new());
        for (name, value) in &self.0 {
            let Some(rest) = name.strip_prefix(PREFIX).filter(|rest| !rest.is_empty()) else { continue };
            let keys = spelled(rest, below);
            if keys.iter().any(String::is_empty) {
                continue;
            }
            insert(&mut values, &keys, Value::from(value.as_str()));
            names.insert(KeyPath::from_steps(keys.into_iter().map(Step::Key).collect()), name.clone());
        }
        (values, Origin::Environment(names))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

const PREFIX: &str = "GATEWAY_";

/// The keys that a variable names.
fn spelled(name: &str, below: &Dict) -> Vec<String> {
    let mut level = Some(below);
    let keys = name.split("__").map(|part| {
        let key = part.to_lowercase();
        let known = level
            .and_then(|level| level.iter().find(|(known, _)| known.to_lowercase().replace('-', "_") == key));
        level = known.and_then(|(_, value)| value.as_dict());
        known.map_or(key, |(known, _)| known.clone())
    });
    keys.collect()
}

fn insert(values: &mut Dict, keys: &[String], value: Value) {
    let Some((first, rest)) = keys.split_first() else { return };
    if rest.is_empty() {
        values.insert(first.clone(), value);
        return;
    }
    let inner = values.remove(first).and_then(Value::into_dict);
    let mut inner = inner.unwrap_or_default();
    insert(&mut inner, rest, value);
    values.insert(first.clone(), Value::from(inner));
}

pub(super) fn in_file(name: &str, lines: &Lines, path: &KeyPath) -> String {
    let line = line_of(lines, path);
    let key = if path.is_root() { String::new() } else { format!(": {path}") };
    line.map_or_else(|| format!("{name}{key}"), |line| format!("{name}:{line}{key}"))
}

fn line_of(lines: &Lines, path: &KeyPath) -> Option<usize> {
    path.ancestors().find_map(|path| lines.get(&path)).map(|written| written.line)
}

fn flag_of(path: &KeyPath) -> String {
    let name: Cow<'_, str> = match path.steps() {
        [Step::Key(key), ..] if key == "allowed_hosts" => "allow-host".into(),
        [Step::Key(key), ..] if key == "log" => "log-format".into(),
        [Step::Key(first), Step::Key(key), ..] if first == "reload" && key == "interval" => {
            "watch-interval".into()
        }
        [Step::Key(key), ..] => key.replace('_', "-").into(),
        _ => return "the command line".to_owned(),
    };
    format!("--{name}")
}
