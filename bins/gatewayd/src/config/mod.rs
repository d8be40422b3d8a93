//! The configuration: where it comes from, what may stand in it, and what is wrong with it (design §11).
//!
//! **For**: one [`Config`] out of files, environment and flags, or every [`Problem`] of them at once.
//!
//! **Must not know**: how anything that is configured works. Defaults are those of the crates that are
//! configured, where those have one.
//!
//! Two stages (style: raw and checked). Raw: each layer is the tree its writer wrote, tagged by figment with
//! the layer and here with the line ([`text`], [`editors`], [`layers`]). Checked: [`reader`] walks the merged
//! tree, key by key, and yields [`checked`] types; what it does not know or understand becomes a problem, and
//! it goes on.

mod api;
mod checked;
mod downstream;
mod editors;
mod expand;
mod file;
mod gateway;
mod key_path;
mod layers;
mod own;
mod problem;
mod questions;
mod reach;
mod reader;
mod scalar;
mod secret;
mod security;
mod stamp;
#[cfg(test)]
mod tests;
mod text;
mod workflows;

use std::path::{Path, PathBuf};

use figment::value::{Dict, Value};

pub(crate) use api::{Api, Auth, OAuthClient, Selector, naming};
pub(crate) use checked::{
    Characters, Command, Config, Downstream, InheritEnv, Log, LogFormat, Protocol, Reach, Reload, Remote,
    Sharing, ToolFilter, Workflow,
};
pub(crate) use file::Files;
pub(crate) use layers::Environment;
pub(crate) use problem::{Note, Problem, Problems};
pub(crate) use secret::Secret;
pub(crate) use security::{
    Audit, Bucket, Client, ClientCertificates, Exchange, Grant, Interactive, Issuer, Key, KeySource, Oauth,
    Outgoing, Overflow, Owner, PinMode, Profile, Redaction, RedactionPattern, Rotation, Rule, Security,
    Telemetry, Through, Tls, TokenClient, TokenSource,
};
pub(crate) use stamp::{Stamp, Stamps};

use expand::Surroundings;
use layers::{Layers, Origin};
use reader::{Reader, Report};
use text::Format;

/// What to load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// The files of `--config`, in order.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) flags: Flags,
    /// Where `gateway.toml` is looked for without `--config`; the current folder.
    pub(crate) folder: PathBuf,
    /// This program, for commands that begin with `gatewayd`.
    pub(crate) executable: PathBuf,
    /// Whether `listen` will be listened on: only then is an address without clients a problem.
    pub(crate) opens_port: bool,
    /// What stdout is for.
    pub(crate) stdout: Stdout,
    /// Whether the lock file is about to be written.
    pub(crate) pins: bool,
    /// Which files these and those that they name may be.
    pub(crate) readable: Files,
}

/// What stdout is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// What a command prints.
    #[default]
    Results,
    /// A client at the other end.
    Protocol,
    /// Nothing else: records may go there.
    Free,
}

impl Request {
    /// The files that are read, if they are there.
    fn paths(&self) -> Vec<PathBuf> {
        let found = [PathBuf::from(FILE_NAME)];
        let files = if self.files.is_empty() { &found[..] } else { &self.files };
        files.iter().map(|file| self.folder.join(file)).collect()
    }
}

/// What the command line says about the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) listen: Option<String>,
    pub(crate) allow_unauthenticated: bool,
    pub(crate) allow_hosts: Vec<String>,
    pub(crate) log_format: Option<LogFormat>,
    pub(crate) watch: Option<bool>,
    pub(crate) watch_interval: Option<String>,
}

/// A good configuration.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) source: Source,
    pub(crate) notes: Vec<Note>,
}

/// Where the files came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The command line named them.
    Named,
    /// `gateway.toml` in the current folder.
    Found(PathBuf),
    /// There was none: the demonstration that is built in.
    BuiltIn,
}

/// What came of reading a configuration, and which files were read for it.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) outcome: Result<Loaded, Problems>,
    /// Those of a configuration that is refused too: mending may mean writing one that was missing.
    pub(crate) files: Stamps,
}

/// Reads, merges and checks everything.
pub(crate) fn load(request: &Request, environment: &Environment) -> Attempt {
    let mut loading = Loading {
        environment,
        readable: request.readable,
        layers: Layers::new(),
        problems: vec![],
        notes: vec![],
        variables: vec![],
        stamps: Stamps::new(),
    };
    let (source, files) = match sources(request) {
        Ok(sources) => sources,
        Err(problems) => return Attempt { outcome: Err(problems), files: loading.stamps },
    };
    for file in files {
        loading.file(file);
    }
    // A file that cannot be read would make everything it holds look forgotten.
    if !loading.problems.is_empty() {
        return Attempt { outcome: Err(Problems(loading.problems)), files: loading.stamps };
    }
    loading.finish(request, source)
}

/// A file, read or not yet.
struct File {
    name: String,
    path: PathBuf,
    text: Option<&'static str>,
}

fn sources(request: &Request) -> Result<(Source, Vec<File>), Problems> {
    let named = |path: &PathBuf| File {
        name: path.display().to_string(),
        path: request.folder.join(path),
        text: None,
    };
    if !request.files.is_empty() {
        return Ok((Source::Named, request.files.iter().map(named).collect()));
    }
    let found = PathBuf::from(FILE_NAME);
    match request.folder.join(&found).try_exists() {
        Ok(true) => Ok((Source::Found(found.clone()), vec![named(&found)])),
        Ok(false) => {
            let path = request.folder.join(FILE_NAME);
            Ok((
                Source::BuiltIn,
                vec![File { name: "built-in default".to_owned(), path, text: Some(BUILT_IN) }],
            ))
        }
        Err(error) => {
            let what = format!("cannot be looked for: {error}");
            Err(Problems(vec![Problem { place: FILE_NAME.to_owned(), what, hint: None }]))
        }
    }
}

const FILE_NAME: &str = "gateway.toml";
const BUILT_IN: &str = include_str!("default.toml");
/// Bytes; a configuration beyond this is another file by mistake.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// The layers as they pile up.
struct Loading<'a> {
    environment: &'a Environment,
    readable: Files,
    layers: Layers,
    problems: Vec<Problem>,
    notes: Vec<Note>,
    variables: Vec<String>,
    stamps: Stamps,
}

impl Loading<'_> {
    fn file(&mut self, file: File) {
        if file.text.is_none() {
            stamp::note(&mut self.stamps, &file.path);
        }
        let document = match read(&file, self.readable) {
            Ok(document) => document,
            Err(problem) => return self.problems.push(problem),
        };
        let folder = file.path.parent().map(Path::to_owned).unwrap_or_default();
        let surroundings = Surroundings { environment: self.environment, folder: &folder };
        let (values, renames) = match editors::convert(document.values, surroundings) {
            Err(ours) => (ours, editors::Renames::default()),
            Ok(theirs) => {
                let place = |path| layers::in_file(&file.name, &document.lines, &path);
                let problem = |(path, fault): (_, problem::Fault)| Problem {
                    place: place(path),
                    what: fault.what,
                    hint: fault.hint,
                };
                self.problems.extend(theirs.faults.into_iter().map(problem));
                self.notes
                    .extend(theirs.notes.into_iter().map(|(path, text)| Note { place: place(path), text }));
                self.variables.extend(theirs.secret_variables);
                (theirs.values, theirs.renames)
            }
        };
        let is_built_in = file.text.is_some();
        let origin = Origin::File { name: file.name, folder, lines: document.lines, renames, is_built_in };
        self.layers = std::mem::replace(&mut self.layers, Layers::new()).over(values, origin);
    }

    fn finish(self, request: &Request, source: Source) -> Attempt {
        let (values, origin) = self.environment.layer(&self.layers.merged());
        let layers = self.layers.over(values, origin).over(request.flags.layer(), Origin::Flags);
        let reader = Reader::new(&layers, self.environment, self.readable);
        let config = gateway::read(&reader, request);
        let Report { problems, mut notes, mut secret_variables, secrets, stamps } = reader.into_report();
        let files = self.stamps.into_iter().chain(stamps).collect();
        let remarks = security::remarks(&config.clients, config.security.tls.as_ref());
        notes.extend(remarks.into_iter().map(|text| Note { place: layers.place_of("clients"), text }));
        let unusable = || {
            let whole = Config { secrets: secrets.clone(), ..config.clone() };
            let faults = crate::decisions::faults(&whole).into_iter().chain(crate::offer::faults(&whole));
            let faults = faults.chain(crate::edge::faults(&whole, request.opens_port));
            let problem =
                |(key, what): (String, String)| Problem { place: layers.place_of(&key), what, hint: None };
            let faults = faults.map(|(key, what)| (key.to_owned(), what));
            faults.chain(crate::credentials::faults(&whole)).map(problem).collect()
        };
        // Of a configuration with problems nothing more can be said.
        let problems = if problems.is_empty() { unusable() } else { problems };
        if !problems.is_empty() {
            return Attempt { outcome: Err(Problems(problems)), files };
        }
        secret_variables.extend(self.variables);
        // A child without these does not start.
        secret_variables.retain(|name| !secret::OPEN.contains(&name.as_str()));
        let notes = self.notes.into_iter().chain(notes).collect();
        let config = Config { secret_variables, secrets, ..config };
        Attempt { outcome: Ok(Loaded { config, source, notes }), files }
    }
}

impl Flags {
    fn layer(&self) -> Dict {
        let mut values = Dict::new();
        if let Some(listen) = &self.listen {
            values.insert("listen".to_owned(), listen.as_str().into());
        }
        if self.allow_unauthenticated {
            values.insert("allow_unauthenticated".to_owned(), true.into());
        }
        if !self.allow_hosts.is_empty() {
            let hosts: Vec<Value> = self.allow_hosts.iter().map(|host| host.as_str().into()).collect();
            values.insert("allowed_hosts".to_owned(), hosts.into());
        }
        if let Some(format) = self.log_format {
            let format = match format {
                LogFormat::Text => "text",
                LogFormat::Json => "json",
            };
            values.insert("log".to_owned(), Dict::from([("format".to_owned(), format.into())]).into());
        }
        let watch = self.watch.map(|watch| ("watch".to_owned(), watch.into()));
        let interval = self.watch_interval.as_deref();
        let interval = interval.map(|interval| ("interval".to_owned(), interval.into()));
        let reload: Dict = watch.into_iter().chain(interval).collect();
        if !reload.is_empty() {
            values.insert("reload".to_owned(), reload.into());
        }
        values
    }
}

fn read(file: &File, readable: Files) -> Result<text::Document, Problem> {
    let problem = |what: String, hint: Option<&str>| Problem {
        place: file.name.clone(),
        what,
        hint: hint.map(str::to_owned),
    };
    let format = match file.text {
        Some(_) => Format::Toml,
        None => Format::of(&file.path).ok_or_else(|| {
            problem(
                "the extension does not tell the format".to_owned(),
                Some("use .toml, .yaml, .yml or .json"),
            )
        })?,
    };
    let text = match file.text {
        Some(text) => text.to_owned(),
        None => content(&file.path, readable).map_err(|what| problem(what, None))?,
    };
    format.parse(&text).map_err(|error| Problem {
        place: error.line.map_or_else(|| file.name.clone(), |line| format!("{}:{line}", file.name)),
        what: error.message,
        hint: None,
    })
}

fn content(path: &Path, readable: Files) -> Result<String, String> {
    let text = readable.read(path, LARGEST_FILE).map_err(|error| format!("cannot be read: {error}"))?;
    match text.len() as u64 > LARGEST_FILE {
        true => Err(format!("is larger than {LARGEST_FILE} bytes")),
        false => Ok(text),
    }
}
