//! Files that other programs write: `mcpServers` (Claude, Cursor, Windsurf and many more) and VS Code's
//! `servers`.
//!
//! They are turned into `downstreams` before anything reads them. Members that we do not know are those
//! programs' own settings and are ignored; what would change which server is started, or with what, never is.

use std::collections::BTreeMap;

use figment::value::{Dict, Value};
use gateway_domain::DownstreamName;

use super::expand::Surroundings;
use super::key_path::{KeyPath, Step};
use super::problem::Fault;
use super::{reach, scalar};

/// A file in our own terms.
#[derive(Debug, Default)]
pub(super) struct Converted {
    pub(super) values: Dict,
    pub(super) renames: Renames,
    pub(super) faults: Vec<(KeyPath, Fault)>,
    pub(super) notes: Vec<(KeyPath, String)>,
    /// Variables that went into `env` and `headers`.
    pub(super) secret_variables: Vec<String>,
}

/// How paths of ours stand in the file.
#[derive(Debug, Default)]
pub(super) struct Renames {
    /// `mcpServers` or `servers`; `None` for a file of our own.
    root: Option<&'static str>,
    /// Names that had to be adapted, by what they became.
    names: BTreeMap<String, String>,
}

impl Renames {
    /// The path as the file's writer knows it.
    pub(super) fn written(&self, path: &KeyPath) -> KeyPath {
        let (Some(root), [Step::Key(first), rest @ ..]) = (self.root, path.steps()) else {
            return path.clone();
        };
        if first != "downstreams" {
            return path.clone();
        }
        let mut steps = vec![Step::Key(root.to_owned())];
        steps.extend_from_slice(rest);
        if let Some(Step::Key(name)) = steps.get_mut(1)
            && let Some(written) = self.names.get(name)
        {
            name.clone_from(written);
        }
        KeyPath::from_steps(steps)
    }
}

/// Turns an editor's file into ours; `Err` gives back one that is ours already.
pub(super) fn convert(mut values: Dict, surroundings: Surroundings<'_>) -> Result<Converted, Dict> {
    let is_table = |key: &str| values.get(key).is_some_and(|value| value.as_dict().is_some());
    let ours: Vec<String> =
        OURS.iter().filter(|key| values.contains_key(**key)).map(ToString::to_string).collect();
    let root = if is_table("mcpServers") {
        "mcpServers"
    } else if is_table("servers") && ours.is_empty() {
        // Beside keys of ours it is more likely a slip for `downstreams`.
        "servers"
    } else {
        return Err(values);
    };
    let mut converted =
        Converted { renames: Renames { root: Some(root), ..Renames::default() }, ..Converted::default() };
    for key in ours {
        let fault = Fault::new(format!("stands beside `{root}`, where other programs keep their settings"));
        converted.faults.push((
            KeyPath::new([&key]),
            fault.hint("put the gateway's own keys into a second --config file"),
        ));
    }
    let servers = values.remove(root).and_then(Value::into_dict).unwrap_or_default();
    let mut downstreams = Dict::new();
    for (name, server) in servers {
        converted.server(&mut downstreams, &name, server, surroundings);
    }
    converted.values.insert("downstreams".to_owned(), downstreams.into());
    Ok(converted)
}

/// Keys that show a file to be meant for the gateway.
const OURS: [&str; 13] = [
    "listen",
    "allowed_hosts",
    "allowed_origins",
    "allow_unauthenticated",
    "shutdown_grace",
    "admin",
    "names",
    "limits",
    "lists",
    "reload",
    "downstreams",
    "clients",
    "workflows",
];

impl Converted {
    fn server(&mut self, downstreams: &mut Dict, name: &str, server: Value, surroundings: Surroundings<'_>) {
        let path = KeyPath::new([self.renames.root.unwrap_or_default(), name]);
        let Value::Dict(_, members) = server else {
            return self.faults.push((path, scalar::found(&server, "a table of keys")));
        };
        let Some(adapted) = adapt(name) else {
            let fault = Fault::new("the name has no letter or digit to make a downstream's name of");
            return self.faults.push((path, fault.hint("rename it")));
        };
        if downstreams.contains_key(&adapted) {
            let fault =
                Fault::new(format!("is offered as \"{adapted}\", which another server here is as well"));
            return self.faults.push((path, fault.hint("rename one of them")));
        }
        if adapted != name {
            self.notes.push((path.clone(), format!("offered as \"{adapted}\"")));
            self.renames.names.insert(adapted.clone(), name.to_owned());
        }
        let mut server = Server { surroundings, path, members, out: self, is_disabled: false };
        let downstream = server.downstream();
        downstreams.insert(adapted, downstream.into());
    }
}

/// One entry while it is turned.
struct Server<'a> {
    surroundings: Surroundings<'a>,
    path: KeyPath,
    members: Dict,
    out: &'a mut Converted,
    is_disabled: bool,
}

impl Server<'_> {
    fn downstream(&mut self) -> Dict {
        let mut downstream = Dict::new();
        if let Some(enabled) = self.enabled() {
            self.is_disabled = enabled.to_bool() == Some(false);
            downstream.insert("enabled".to_owned(), enabled);
        }
        self.skip_the_other_way();
        if let Some(command) = self.command() {
            downstream.insert("command".to_owned(), command);
        }
        for (theirs, ours) in [("url", "url"), ("serverUrl", "url"), ("httpUrl", "url"), ("cwd", "cwd")] {
            if let Some(value) = self.members.remove(theirs) {
                let value = self.expanded(&self.path.key(theirs), value, false);
                downstream.insert(ours.to_owned(), value);
            }
        }
        for key in ["env", "headers"] {
            if let Some(value) = self.members.remove(key) {
                downstream.insert(key.to_owned(), self.map(key, value));
            }
        }
        if let Some(denied) = self.members.remove("disabledTools") {
            downstream.insert("tools".to_owned(), Dict::from([("deny".to_owned(), denied)]).into());
        }
        if self.members.contains_key("envFile") {
            self.note("envFile", "is not read; name the variables in env".to_owned());
        }
        downstream
    }

    fn enabled(&mut self) -> Option<Value> {
        match self.members.remove("disabled") {
            Some(Value::Bool(tag, disabled)) => Some(Value::Bool(tag, !disabled)),
            Some(other) => {
                self.fault("disabled", scalar::found(&other, "true or false"));
                None
            }
            None => self.members.remove("enabled"),
        }
    }

    /// Where `type` says which way is meant, members of the other way are leftovers.
    fn skip_the_other_way(&mut self) {
        let kind = self.members.remove("type").or_else(|| self.members.remove("transport"));
        let Some(kind) = kind.as_ref().and_then(Value::as_str) else { return };
        let leftovers: &[&str] = match kind.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "stdio" => &["url", "serverUrl", "httpUrl", "headers"],
            "http" | "streamablehttp" => &["command", "args", "env", "cwd"],
            "sse" => {
                self.note(
                    "type",
                    "Streamable HTTP is spoken; servers with HTTP+SSE alone are not reached by this release"
                        .to_owned(),
                );
                &["command", "args", "env", "cwd"]
            }
            _ => {
                let fault = Fault::new(format!("{kind:?} is not one of stdio, http, streamable-http, sse"));
                return self.fault("type", fault);
            }
        };
        self.members.retain(|key, _| !leftovers.contains(&key.as_str()));
    }

    /// Program and arguments in one array.
    fn command(&mut self) -> Option<Value> {
        let program = self.members.remove("command");
        let args = self.members.remove("args");
        let program = match program? {
            program @ Value::String(..) => program,
            // An array is our own notation already.
            other => return Some(other),
        };
        let mut argv = vec![self.expanded(&self.path.key("command"), program, false)];
        match args {
            Some(Value::Array(_, args)) => {
                let path = self.path.key("args");
                argv.extend(
                    args.into_iter().enumerate().map(|(at, arg)| self.expanded(&path.index(at), arg, false)),
                );
            }
            Some(other) => self.fault("args", scalar::found(&other, "an array")),
            None => {}
        }
        Some(argv.into())
    }

    fn map(&mut self, key: &str, value: Value) -> Value {
        let path = self.path.key(key);
        let Value::Dict(_, members) = value else { return value };
        let mut map = Dict::new();
        for (name, value) in members {
            let path = path.key(&name);
            if key == "headers" && reach::is_ours(&name) {
                self.out.notes.push((path, "the gateway sets this header itself; ignored".to_owned()));
                continue;
            }
            let value = match value {
                // VS Code allows numbers where the environment has text.
                Value::Num(_, number) if key == "env" => match number.to_i128() {
                    Some(number) => Value::from(number.to_string()),
                    None => value,
                },
                Value::Bool(_, flag) if key == "env" => Value::from(flag.to_string()),
                value => self.expanded(&path, value, true),
            };
            map.insert(name, value);
        }
        map.into()
    }

    fn expanded(&mut self, path: &KeyPath, value: Value, is_secret: bool) -> Value {
        let Value::String(tag, text) = value else { return value };
        match self.surroundings.expand(&text) {
            Ok(expanded) => {
                if is_secret {
                    self.out.secret_variables.extend(expanded.variables);
                }
                Value::String(tag, expanded.text)
            }
            Err(_) if self.is_disabled => Value::String(tag, text),
            Err(fault) => {
                self.out.faults.push((path.clone(), fault));
                Value::String(tag, text)
            }
        }
    }

    fn fault(&mut self, key: &str, fault: Fault) {
        self.out.faults.push((self.path.key(key), fault));
    }

    fn note(&mut self, key: &str, text: String) {
        self.out.notes.push((self.path.key(key), text));
    }
}

/// A name by the rule of downstreams (design §5), the same for the same name whatever stands beside it.
fn adapt(name: &str) -> Option<String> {
    if DownstreamName::parse(name).is_ok() {
        return Some(name.to_owned());
    }
    let mut adapted = String::new();
    for c in name.chars() {
        match c {
            _ if c.is_ascii_alphanumeric() => adapted.push(c),
            '_' if !adapted.ends_with('_') => adapted.push('_'),
            '_' => {}
            _ if !adapted.ends_with('-') => adapted.push('-'),
            _ => {}
        }
    }
    let edges = ['_', '-'];
    let short: String = adapted.trim_matches(edges).chars().take(DownstreamName::MAX_LENGTH).collect();
    let short = short.trim_end_matches(edges);
    DownstreamName::parse(short).is_ok().then(|| short.to_owned())
}
