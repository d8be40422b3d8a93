//! Values that must not be seen, and the three ways to write one.

use std::path::Path;

use figment::value::Value;

use super::file::Files;
use super::problem::Fault;
use super::reader::{Item, Table};
use super::scalar;

pub(crate) use gateway_domain::Secret;

/// Reads `"text"`, `{ env = "NAME", prefix = "…" }` or `{ file = "path", prefix = "…" }`.
///
/// `None` if there was a problem, which is then recorded.
pub(super) fn read(item: &Item<'_>) -> Option<Secret> {
    match item.value() {
        Value::String(_, text) => Some(Secret::new(text.clone())),
        Value::Dict(..) => item.table().and_then(|table| of_table(item, table)),
        other => {
            item.report(
                scalar::found(other, "a string").hint(
                    "write it in quotes, or name its source: { env = \"NAME\" } or { file = \"path\" }",
                ),
            );
            None
        }
    }
}

fn of_table(item: &Item<'_>, mut table: Table<'_>) -> Option<Secret> {
    let prefix = table.read("prefix", scalar::text);
    let variable = table.take("env");
    let file = table.take("file");
    table.finish();
    // That somebody refers to these makes them no secret.
    let is_open = variable
        .as_ref()
        .is_some_and(|item| matches!(item.value(), Value::String(_, name) if OPEN.contains(&name.as_str())));
    let value = match (variable, file) {
        (Some(variable), None) => of_variable(&variable),
        (None, Some(file)) => of_file(&file),
        _ => {
            let fault = Fault::new("a secret has exactly one source");
            item.report(fault.hint("write { env = \"NAME\" } or { file = \"path\" }"));
            None
        }
    }?;
    if !is_open {
        item.keeps(&value);
    }
    Some(Secret::new(prefix.unwrap_or_default() + &value))
}

/// Variables that everybody may know.
pub(super) const OPEN: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "SHELL", "TMPDIR"];

fn of_variable(item: &Item<'_>) -> Option<String> {
    let name = item.parsed(scalar::text)?;
    match item.variable(&name) {
        Some(value) => Some(value.to_owned()),
        None if item.is_dormant() => Some(String::new()),
        None => {
            let fault = Fault::new(format!("the environment variable {name} is not set or empty"));
            item.report(fault.hint(format!("set {name} before the gateway starts")));
            None
        }
    }
}

fn of_file(item: &Item<'_>) -> Option<String> {
    let path = item.parsed(scalar::path)?;
    item.reads(&path);
    if item.is_dormant() && !path.exists() {
        return Some(String::new());
    }
    if is_open_to_others(&path) {
        let file = path.display();
        item.note(format!("{file} can be read by every user of this machine; chmod 600 keeps the secret"));
    }
    match content(&path, item.readable()) {
        Ok(value) => Some(value),
        Err(fault) => {
            item.report(fault);
            None
        }
    }
}

/// The content without the newline that editors leave at the end.
fn content(path: &Path, readable: Files) -> Result<String, Fault> {
    let cannot = |error| Fault::new(format!("cannot read {}: {error}", path.display()));
    let text = readable.read(path, LARGEST_SECRET).map_err(cannot)?;
    if text.len() as u64 > LARGEST_SECRET {
        return Err(Fault::new(format!("{} holds more than {LARGEST_SECRET} bytes", path.display())));
    }
    let value = text.strip_suffix('\n').unwrap_or(&text);
    let value = value.strip_suffix('\r').unwrap_or(value);
    if value.is_empty() {
        return Err(Fault::new(format!("{} is empty", path.display())));
    }
    Ok(value.to_owned())
}

/// Bytes; more than any key or token has.
const LARGEST_SECRET: u64 = 64 * 1024;

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}
