//! How a downstream is reached: by a command, at a URL, or as an HTTP API.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use figment::value::Value;
use gateway_domain::OperatorError;
use gateway_openapi::engine::Naming;
use gateway_registry::RestartBudget;
use gateway_transport_http::HttpConfig;
use http::{HeaderName, HeaderValue, Uri};

use super::api;
use super::checked::{Certificates, Command, InheritEnv, Reach, Remote, Restarts};
use super::downstream::seconds;
use super::gateway::HOUR;
use super::problem::Fault;
use super::reader::{Item, Table};
use super::scalar;
use super::secret::{self, Secret};
use super::security;

/// `None` if there was a problem, which is then recorded.
pub(super) fn read(table: &mut Table<'_>, executable: &Path, naming: &Naming) -> Option<Reach> {
    let ways = ["command", "url", "openapi"];
    let given: Vec<&str> = ways.into_iter().filter(|way| table.has(way)).collect();
    match given[..] {
        ["command"] => {
            refuse(table, &WEB_KEYS, "belongs to a downstream with a url");
            refuse(table, &api::KEYS, "belongs to a downstream with openapi");
            command(table, executable).map(Reach::Command)
        }
        ["url"] => {
            refuse(table, &COMMAND_KEYS, "belongs to a downstream with a command");
            let of_apis: Vec<_> = api::KEYS.into_iter().filter(|key| *key != "auth").collect();
            refuse(table, &of_apis, "belongs to a downstream with openapi");
            remote(table).map(Reach::Url)
        }
        ["openapi"] => {
            refuse(table, &COMMAND_KEYS, "belongs to a downstream with a command");
            refuse(table, &["url"], "");
            api::read(table, naming).map(|api| Reach::Api(Box::new(api)))
        }
        _ => {
            table.report(no_single_way(&given));
            // Whatever else is wrong with each of them is worth knowing as well.
            (command(table, executable), remote(table), api::read(table, naming)).0.and(None)
        }
    }
}

fn no_single_way(given: &[&str]) -> Fault {
    if given.is_empty() {
        return Fault::new("has neither a command nor a url nor openapi").hint(
            "write command = [\"program\", \"argument\"], url = \"https://…/mcp\", \
             or openapi = \"api.yaml\" and base_url = \"https://…\"",
        );
    }
    let given: Vec<&str> = given.iter().map(|way| article(way)).collect();
    Fault::new(format!("has {}; a downstream has one of them", given.join(" and ")))
}

fn article(way: &str) -> &str {
    match way {
        "command" => "a command",
        "url" => "a url",
        way => way,
    }
}

const WEB_KEYS: [&str; 6] =
    ["url", "headers", "ca_file", "connect_timeout", "auth", security::FORWARD_HEADERS];
const COMMAND_KEYS: [&str; 7] =
    ["command", "env", "cwd", "inherit_env", "startup_timeout", "terminate", "restarts"];

pub(super) fn refuse(table: &mut Table<'_>, keys: &[&'static str], why: &str) {
    for key in keys {
        if let Some(item) = table.take(key) {
            item.report(Fault::new(why));
        }
    }
}

fn command(table: &mut Table<'_>, executable: &Path) -> Option<Command> {
    let argv = table.take("command").and_then(|item| argv(&item, executable));
    let env = table.take("env").and_then(|item| item.table()).map(environment);
    let command = Command {
        program: PathBuf::new(),
        args: Vec::new(),
        env: env.unwrap_or_default(),
        inherit_env: table.read("inherit_env", inherit_env).unwrap_or(InheritEnv::Minimal),
        cwd: table.read("cwd", |item| existing(item, Path::is_dir, "a folder")),
        startup_timeout: seconds(table, "startup_timeout", 30),
        terminate: seconds(table, "terminate", 2),
        restarts: restarts(table.table("restarts")),
    };
    let (program, args) = argv?;
    Some(Command { program, args, ..command })
}

fn restarts(mut table: Table<'_>) -> Restarts {
    let default = RestartBudget::default();
    let restarts = Restarts {
        limit: table.read("limit", scalar::count(1..=1000)).unwrap_or(default.limit as usize),
        period: table.read("period", scalar::duration(HOUR)).unwrap_or(default.period),
    };
    table.finish();
    restarts
}

fn argv(item: &Item<'_>, executable: &Path) -> Option<(PathBuf, Vec<String>)> {
    if let Value::String(_, line) = item.structured() {
        // Only the program is repeated: the rest may hold a key.
        let program = line.split_whitespace().next().unwrap_or("program");
        let fault = Fault::new("found a string where an array is needed");
        item.report(
            fault.hint(format!("no shell reads it: write command = [\"{program}\", \"argument\", …]")),
        );
        return None;
    }
    let items = item.items()?;
    let words: Vec<String> = items.iter().filter_map(|item| item.parsed(scalar::text)).collect();
    if words.iter().any(|word| word.contains('\0')) {
        item.report(Fault::new("a command cannot hold NUL characters"));
        return None;
    }
    match words.split_first() {
        Some((program, args)) if !program.is_empty() => {
            let program = program_of(program, item, executable);
            if let Some(path) = changeable(&program, item.search_path()) {
                let path = path.display();
                item.note(format!(
                    "{path} can be changed by every user of this machine; chmod o-w keeps it what it is"
                ));
            }
            Some((program, args.to_vec()))
        }
        _ if words.len() < items.len() => None,
        _ => {
            item.report(Fault::new("the command is empty").hint("its first item is the program"));
            None
        }
    }
}

/// `gatewayd` is this very program, in PATH or not; a relative path with a slash is relative to its file.
fn program_of(program: &str, item: &Item<'_>, executable: &Path) -> PathBuf {
    match program {
        "gatewayd" => executable.to_owned(),
        _ if program.contains('/') => item.resolve(Path::new(program)),
        _ => PathBuf::from(program),
    }
}

/// The file that would be run, if everybody may write to it.
fn changeable(program: &Path, folders: &str) -> Option<PathBuf> {
    let is_path = program.components().count() > 1;
    let files: Vec<_> = match is_path {
        true => vec![program.to_owned()],
        false => std::env::split_paths(folders).map(|folder| folder.join(program)).collect(),
    };
    let mode =
        |path: &PathBuf| std::fs::metadata(path).ok().filter(Metadata::is_file).map(|file| file.mode());
    let (path, mode) = files.into_iter().find_map(|path| mode(&path).map(|mode| (path, mode)))?;
    (mode & WRITABLE_BY_ALL != 0).then_some(path)
}

/// What the mode of a file has that every user of the machine may write to.
const WRITABLE_BY_ALL: u32 = 0o002;

fn environment(table: Table<'_>) -> BTreeMap<String, Secret> {
    let mut variables = BTreeMap::new();
    for (name, item) in table.into_entries() {
        let Some(value) = secret::read(&item) else { continue };
        if name.is_empty() || name.contains(['=', '\0']) || value.expose().contains('\0') {
            item.report(
                Fault::new("an environment variable cannot be like this").hint("no = or NUL, not empty"),
            );
        }
        variables.insert(name, value);
    }
    variables
}

fn inherit_env(item: &Item<'_>) -> Result<InheritEnv, Fault> {
    match item.structured() {
        Value::Bool(_, true) => Ok(InheritEnv::All),
        Value::Bool(_, false) => Ok(InheritEnv::Minimal),
        Value::Array(..) => {
            let names = item.items().unwrap_or_default();
            Ok(InheritEnv::Named(names.iter().filter_map(|name| name.parsed(scalar::word)).collect()))
        }
        other => Err(scalar::found(&other, "true, false or an array of names")),
    }
}

fn remote(table: &mut Table<'_>) -> Option<Remote> {
    let place = table.take("url");
    let url = place.as_ref().and_then(|item| item.parsed(url));
    let fields = table.take("headers").and_then(|item| item.table());
    let headers = fields.map(|table| headers(table, is_ours)).unwrap_or_default();
    let certificates = table.read("ca_file", certificates);
    let connect_timeout = seconds(table, "connect_timeout", 10);
    let outgoing = security::credentials(table);
    let url = url?;
    if let Some(item) = place
        && !headers.is_empty()
        && is_in_the_clear(&url)
    {
        item.note("headers travel unencrypted over http".to_owned());
    }
    Some(Remote { url, headers, certificates, connect_timeout, outgoing })
}

pub(super) fn url(item: &Item<'_>) -> Result<Uri, Fault> {
    let hint = "write \"https://host/path\"";
    let text = scalar::word(item)?;
    let uri: Uri = text.parse().map_err(|_| Fault::new("is not a URL").hint(hint))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(Fault::new("is not an http or https URL").hint(hint));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(Fault::new("a URL must not hold a user and a password")
            .hint("write headers = { Authorization = { env = \"NAME\", prefix = \"Basic \" } }"));
    }
    match text.contains('#') {
        true => Err(Fault::new("a URL to connect to has no fragment").hint("remove the part after #")),
        false => Ok(uri),
    }
}

pub(super) fn is_in_the_clear(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    url.scheme_str() == Some("http") && !is_local
}

/// `is_reserved` tells which headers cannot be configured.
pub(super) fn headers(table: Table<'_>, is_reserved: impl Fn(&str) -> bool) -> Vec<(HeaderName, Secret)> {
    let mut headers = Vec::new();
    for (name, item) in table.into_entries() {
        let Some(value) = secret::read(&item) else { continue };
        match header(&name, &value, item.is_dormant()) {
            Ok(name) if is_reserved(name.as_str()) => {
                item.report(Fault::new("the gateway sets this header itself").hint("remove it"));
            }
            Ok(name) => headers.push((name, value)),
            Err(fault) => item.report(fault),
        }
    }
    headers
}

fn header(name: &str, value: &Secret, is_dormant: bool) -> Result<HeaderName, Fault> {
    let checked: HeaderName = name.parse().map_err(|_| Fault::new("is not a header's name"))?;
    if value.expose().is_empty() && !is_dormant {
        return Err(Fault::new("must not be empty"));
    }
    match HeaderValue::from_str(value.expose()) {
        Ok(_) => Ok(checked),
        Err(_) => Err(Fault::new("a header's value must be one line without control characters")),
    }
}

/// Headers that HTTP's framing or the protocol owns; the transport's own list.
pub(super) fn is_ours(name: &str) -> bool {
    name.parse().is_ok_and(|name| gateway_transport_http::is_reserved_header(&name))
}

/// A file that the transport can read certificates from.
pub(super) fn certificates(item: &Item<'_>) -> Result<Certificates, Fault> {
    item.reads(&scalar::path(item)?);
    let path = existing(item, Path::is_file, "a file")?;
    if item.is_dormant() {
        return Ok(Certificates { file: path, content: 0 });
    }
    let mut content = DefaultHasher::new();
    // What cannot be read is found out about by the transport's own check.
    std::fs::read(&path).unwrap_or_default().hash(&mut content);
    let config = HttpConfig {
        ca_file: Some(path.clone()),
        ..HttpConfig::new("https://localhost", crate::gateway::identity())
    };
    match config.check() {
        Ok(()) => Ok(Certificates { file: path, content: content.finish() }),
        Err(OperatorError::Configuration { reason }) => Err(Fault::new(reason)),
    }
}

pub(super) fn existing(
    item: &Item<'_>,
    is_there: impl Fn(&Path) -> bool,
    kind: &str,
) -> Result<PathBuf, Fault> {
    let path = scalar::path(item)?;
    match item.is_dormant() || is_there(&path) {
        true => Ok(path),
        false => Err(Fault::new(format!("{} is not {kind} that exists", path.display()))),
    }
}
