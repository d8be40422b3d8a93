//! What is read or run while the gateway serves. It may come into being later, so that what is missing is no problem of
//! the configuration; whoever wrote it is told all the same.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::value::Value;

use super::credentials::argv;
use super::model::TokenSource;
use crate::config::gateway::HOUR;
use crate::config::problem::Fault;
use crate::config::reader::Item;
use crate::config::{scalar, secret};

/// The hint to whoever wrote a token that has no source.
pub(super) const SOURCES: &str =
    "write { env = \"NAME\" }, { file = \"path\" } or { command = [\"program\"] }";

/// The path of a file with a secret in it.
pub(super) fn file(item: &Item<'_>) -> Option<PathBuf> {
    let path = item.parsed(scalar::path)?;
    if !item.is_dormant()
        && let Err(error) = open(&path)
    {
        item.note(format!("{} cannot be read: {error}; calls fail until it can", path.display()));
    }
    Some(path)
}

/// A program that prints a secret, and its arguments.
pub(super) fn program(item: &Item<'_>) -> Option<Vec<String>> {
    let argv = argv(item)?;
    if let Some(program) = argv.first().filter(|program| !item.is_dormant() && !is_program(program)) {
        item.note(format!("there is no program {program:?}; calls fail until there is"));
    }
    Some(argv)
}

/// A token of the gateway's own. By reference only: a file and a program are asked again while the gateway runs.
pub(super) fn token(item: &Item<'_>) -> Option<TokenSource> {
    let Value::Dict(_, members) = item.value() else {
        let fault = Fault::new("a token does not stand in the configuration");
        item.report(fault.hint(SOURCES));
        return None;
    };
    if members.contains_key("env") {
        return secret::read(item).map(TokenSource::Value);
    }
    let mut table = item.table()?;
    let (path, command) = (table.take("file"), table.take("command"));
    let source = match (path, command) {
        (Some(path), None) => file(&path).map(TokenSource::File),
        (None, Some(command)) => {
            let ttl = table.read("ttl", scalar::duration(24 * HOUR)).unwrap_or(Duration::from_secs(300));
            program(&command).map(|argv| TokenSource::Command { argv, ttl })
        }
        _ => {
            let fault = Fault::new("a token has exactly one source");
            table.report(fault.hint(SOURCES));
            None
        }
    };
    table.finish();
    source
}

/// Whether it can be read. Opening a pipe would wait for who writes into it.
pub(super) fn open(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path).map(drop),
        false => Err(io::Error::other("it is not a file")),
    }
}

/// Whether it is found where such a command is looked for.
fn is_program(name: &str) -> bool {
    if name.contains('/') {
        return Path::new(name).is_file();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(name).is_file())
}
