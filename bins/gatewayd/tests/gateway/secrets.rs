//! What the configuration of a test names as secret must not be told: looked for when its gateway is dropped.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

/// Shorter values stand in much that has nothing to do with them.
const SHORTEST: usize = 8;
/// Keys whose text is a secret, also where it is the path of one.
const SECRET_KEYS: [&str; 7] =
    ["key", "keys", "token", "client_secret", "private_key", "store_key", "state_key"];

/// The secrets of one gateway, and where they must not be.
pub(crate) struct Secrets {
    folder: PathBuf,
    variables: Vec<(String, String)>,
    /// Those of the configuration that it was started with; it may have another one since.
    first: BTreeSet<String>,
}

impl Secrets {
    /// Those of `gateway.toml` in this folder, for a gateway that is started with these variables.
    pub(crate) fn of(folder: &Path, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut secrets =
            Self { folder: folder.to_owned(), variables: variables.collect(), first: BTreeSet::new() };
        secrets.first = secrets.planted();
        secrets
    }

    /// The level that all gateways of tests log at, if somebody wants to see more than usual.
    pub(crate) fn log_level() -> Option<String> {
        std::env::var("TEST_LOG").ok().filter(|level| !level.is_empty())
    }

    /// Fails the test if one of them is in the log, in the files of records, or on the page of metrics.
    pub(crate) fn look_for(&self, log: &str, metrics: &str) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let records = entries.filter(|path| path.to_string_lossy().contains(".jsonl"));
        let records: String = records.filter_map(|path| fs::read_to_string(path).ok()).collect();
        for secret in self.first.union(&self.planted()) {
            for (place, text) in [("log", log), ("records", &records), ("metrics", metrics)] {
                let line = text.lines().find(|line| line.contains(secret.as_str()));
                assert!(line.is_none(), "{secret} is in the {place}: {}", line.unwrap_or_default());
            }
        }
    }

    fn planted(&self) -> BTreeSet<String> {
        let text = self.content("gateway.toml").unwrap_or_default();
        let variable =
            |name: &str| self.variables.iter().find(|(own, _)| own == name).map(|(_, value)| value);
        let mut found: Vec<String> =
            after(&text, "env").filter_map(|name| variable(&name).cloned()).collect();
        found.extend(after(&text, "file").filter_map(|path| self.content(&path)));
        for key in SECRET_KEYS {
            for value in after(&text, key) {
                match self.content(&value) {
                    Some(content) => found.extend(lines_of_a_key(&content)),
                    None => found.push(value),
                }
            }
        }
        let is_secret = |value: &String| value.len() >= SHORTEST && !value.starts_with("sha256:");
        found.into_iter().filter(is_secret).collect()
    }

    fn content(&self, path: &str) -> Option<String> {
        let path = self.folder.join(path);
        // A pipe is for the gateway to read.
        if !path.is_file() {
            return None;
        }
        Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
    }
}

/// The page of metrics as everybody is shown it; empty if there is none.
pub(crate) fn metrics(address: SocketAddr) -> String {
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        let head = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut page = Vec::new();
        stream.read_to_end(&mut page).ok()?;
        Some(String::from_utf8_lossy(&page).into_owned())
    };
    ask().unwrap_or_default()
}

/// The texts in quotes after `NAME =`; of an array all of them.
fn after(text: &str, name: &str) -> impl Iterator<Item = String> {
    let is_whole = move |before: &str| {
        !before.ends_with(|last: char| last.is_ascii_alphanumeric() || "_-".contains(last))
    };
    let found = text.match_indices(name).filter(move |(at, _)| is_whole(&text[..*at]));
    let values = found.filter_map(move |(at, _)| {
        let value = text[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let value = match value.strip_prefix('[') {
            Some(array) => array.split(']').next()?,
            None => value.starts_with('"').then(|| value.lines().next()).flatten()?,
        };
        let quoted = value.split('"').skip(1).step_by(2).map(str::to_owned);
        Some(if value.starts_with('"') { quoted.take(1).collect() } else { quoted.collect::<Vec<_>>() })
    });
    values.flatten()
}

/// Of a PEM file what is between its marks.
fn lines_of_a_key(content: &str) -> Vec<String> {
    match content.contains("-----BEGIN") {
        true => content.lines().filter(|line| !line.starts_with("--")).map(str::to_owned).collect(),
        false => vec![content.to_owned()],
    }
}
