//! `workflows`: definitions in the configuration itself, or one in each of some files. What is in them is not looked
//! at here; a file that is none leaves out its workflow and nothing else.

use std::path::{Path, PathBuf};

use figment::value::Value;
use glob::{MatchOptions, Pattern};

use super::checked::Workflow;
use super::file::Files;
use super::problem::Fault;
use super::reader::{Item, Table};
use super::scalar;
use super::text::{Format, SyntaxError};

/// How many there may be.
const MOST: usize = 1_000;
/// Bytes of a file that holds one.
const LARGEST_FILE: u64 = 1 << 20;
/// Bytes of all files that hold one, and of all definitions: what is compiled takes many times as much.
const MOST_BYTES: u64 = 8 << 20;
/// Expressions of all definitions. Compiled each takes about 16 KiB.
const MOST_EXPRESSIONS: usize = 50_000;
/// How many files and folders a glob may mean.
const MOST_PATHS: usize = 10_000;
/// How many folders are watched for the files that a glob means.
const MOST_FOLDERS: usize = 1_000;

pub(super) fn read_all(top: &mut Table<'_>) -> Vec<Workflow> {
    let Some(item) = top.take("workflows") else { return Vec::new() };
    let mut workflows = match item.structured() {
        Value::Dict(..) => inline(&item),
        Value::String(..) | Value::Array(..) => in_files(&item),
        other => {
            item.report(scalar::found(&other, "a table of workflows, a glob or an array of globs"));
            return Vec::new();
        }
    };
    if workflows.len() > MOST {
        item.report(Fault::new(format!(
            "there are {} workflows, and {MOST} at most are read",
            workflows.len()
        )));
        return Vec::new();
    }
    let definitions = workflows.iter().filter_map(|workflow| workflow.definition.as_ref().ok());
    let bytes = definitions.map(|definition| definition.as_str().len() as u64).sum();
    if let Err(fault) = fit(bytes).and_then(|()| compiles(&workflows)) {
        item.report(fault);
        return Vec::new();
    }
    workflows.sort_by(|a, b| a.name.cmp(&b.name));
    for pair in workflows.windows(2) {
        let [one, other] = pair else { continue };
        if one.name == other.name {
            let (name, places) = (&one.name, [&one.place, &other.place].map(String::as_str).join(" and in "));
            let fault = Fault::new(format!("the workflow \"{name}\" is defined twice: in {places}"));
            item.report(fault.hint("rename one of them"));
        }
    }
    workflows
}

fn fit(bytes: u64) -> Result<(), Fault> {
    match bytes <= MOST_BYTES {
        true => Ok(()),
        false => Err(Fault::new(format!(
            "the workflows have {bytes} bytes in all, and {MOST_BYTES} at most are read"
        ))),
    }
}

fn compiles(workflows: &[Workflow]) -> Result<(), Fault> {
    let definitions = workflows.iter().filter_map(|workflow| workflow.definition.as_ref().ok());
    let expressions: usize = definitions.map(|definition| definition.as_str().matches("{{").count()).sum();
    match expressions <= MOST_EXPRESSIONS {
        true => Ok(()),
        false => Err(Fault::new(format!(
            "the workflows have {expressions} expressions in all, and {MOST_EXPRESSIONS} at most are compiled"
        ))),
    }
}

fn inline(item: &Item<'_>) -> Vec<Workflow> {
    let Some(table) = item.table() else { return Vec::new() };
    let workflow = |(name, item): (String, Item<'_>)| match item.structured() {
        value @ Value::Dict(..) => {
            let (file, place) = (item.file().map(str::to_owned), item.place());
            Some(Workflow { name, file, place, definition: item.definition(&value) })
        }
        other => {
            item.report(scalar::found(&other, "a table of keys"));
            None
        }
    };
    table.into_entries().filter_map(workflow).collect()
}

fn in_files(item: &Item<'_>) -> Vec<Workflow> {
    let globs = match item.value() {
        Value::String(..) if !item.is_of_environment() => vec![item.clone()],
        _ => item.items().unwrap_or_default(),
    };
    let mut files: Vec<_> = globs.iter().filter_map(|glob| glob.parsed(found)).flatten().collect();
    files.sort();
    files.dedup();
    if files.len() > MOST {
        item.report(Fault::new(format!("there are {} files, and {MOST} at most are read", files.len())));
        return Vec::new();
    }
    // Before the first is read.
    let sizes =
        files.iter().filter_map(|file| file.metadata().ok()).map(|found| found.len().min(LARGEST_FILE));
    if let Err(fault) = fit(sizes.sum()) {
        item.report(fault);
        return Vec::new();
    }
    files.iter().map(|file| of_file(item, file)).collect()
}

/// The files that a glob means. The folders that it looks into are watched as well, so that a file that is put there
/// is found.
fn found(item: &Item<'_>) -> Result<Vec<PathBuf>, Fault> {
    let written = scalar::word(item)?;
    let path = item.resolve(written.as_ref());
    if is_literal(&written) {
        return only(item, &written, path);
    }
    let is_plain = |folder: &&Path| is_literal(&folder.to_string_lossy());
    let top = Path::new(&written).ancestors().find(is_plain).unwrap_or_else(|| Path::new(""));
    item.reads(&item.resolve(top));
    let folder = item.resolve("".as_ref());
    let pattern = Path::new(&Pattern::escape(&folder.to_string_lossy())).join(&written);
    let folders = pattern.parent().map(|parent| paths(&parent.to_string_lossy())).transpose()?;
    let folders: Vec<_> = folders.into_iter().flatten().filter(|path| path.is_dir()).collect();
    if folders.len() > MOST_FOLDERS {
        return Err(too_many(folders.len(), "folders are searched", MOST_FOLDERS));
    }
    folders.iter().for_each(|folder| item.reads(folder));
    let (inner, files): (Vec<_>, Vec<_>) =
        paths(&pattern.to_string_lossy())?.into_iter().partition(|path| path.is_dir());
    // `**` means every folder, and what is in it.
    if let (Some(folder), false) = (inner.first(), written.contains("**")) {
        item.note(format!("{} is a folder, and what is in it is not read", folder.display()));
    } else if files.is_empty() {
        item.note(format!("no file matches {}", path.display()));
    }
    Ok(files)
}

fn too_many(count: usize, what: &str, most: usize) -> Fault {
    Fault::new(format!("{count} {what}, and {most} at most may be")).hint("write a narrower glob")
}

fn is_literal(text: &str) -> bool {
    Pattern::escape(text) == text
}

fn only(item: &Item<'_>, written: &str, path: PathBuf) -> Result<Vec<PathBuf>, Fault> {
    item.reads(&path);
    match path.metadata() {
        Ok(found) if found.is_dir() => {
            let fault = Fault::new(format!("{} is a folder", path.display()));
            Err(fault.hint(format!("write \"{}/*.yaml\"", written.trim_end_matches('/'))))
        }
        Ok(_) => Ok(vec![path]),
        Err(error) => Err(Fault::new(format!("cannot read {}: {error}", path.display()))),
    }
}

fn paths(pattern: &str) -> Result<Vec<PathBuf>, Fault> {
    let options = MatchOptions {
        require_literal_separator: true,
        require_literal_leading_dot: true,
        ..MatchOptions::new()
    };
    let found = glob::glob_with(pattern, options)
        .map_err(|error| Fault::new(format!("is no glob: {}", error.msg)).hint("write \"flows/*.yaml\""))?;
    // What cannot be looked into has no files for us; the others count.
    let paths: Vec<_> = found.filter_map(Result::ok).take(MOST_PATHS + 1).collect();
    match paths.len() > MOST_PATHS {
        true => Err(too_many(paths.len(), "paths or more match", MOST_PATHS)),
        false => Ok(paths),
    }
}

/// The workflow that a file defines. It is called what it says, or like the file.
fn of_file(item: &Item<'_>, file: &Path) -> Workflow {
    item.reads(file);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let shown = file.display().to_string();
    let (name, place, definition) = match definition(file) {
        Ok(definition) => (definition.get_text("name").unwrap_or(stem), shown.clone(), Ok(definition)),
        Err(SyntaxError { line, message }) => {
            let place = line.map_or_else(|| shown.clone(), |line| format!("{shown}:{line}"));
            (stem, place, Err(message))
        }
    };
    Workflow { name, file: Some(shown), place, definition }
}

fn definition(file: &Path) -> Result<gateway_domain::RawObject, SyntaxError> {
    let fault = |message: String| SyntaxError { line: None, message };
    let format = Format::of(file).ok_or_else(|| {
        fault("the extension does not tell the format; use .toml, .yaml, .yml or .json".to_owned())
    })?;
    // A pipe has nothing to say a second time.
    let text = Files::Regular.read(file, LARGEST_FILE);
    let text = text.map_err(|error| fault(format!("the file cannot be read: {error}")))?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(fault(format!("the file is larger than {LARGEST_FILE} bytes")));
    }
    format.definition(&text)
}
