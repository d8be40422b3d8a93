//! Where a scenario keeps its files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::stdio;

/// A folder of one scenario, gone with it unless kept.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    kept: bool,
}

impl Folder {
    pub(crate) fn new(scenario: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("gatewayd-{scenario}-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self { path, kept: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.path.join(name).to_string_lossy().into_owned()
    }

    /// `TESTKIT_RUN=…`, which every process of this scenario has in its environment.
    pub(crate) fn marker(&self) -> String {
        format!("{MARKER}={}", self.path.display())
    }

    /// `[downstreams.NAME]` with a stdio fake that records its starts and requests; `more` are further keys.
    pub(crate) fn fake(&self, name: &str, switches: &str, more: &str) -> String {
        let mut switches: Vec<_> = switches.split_whitespace().map(str::to_owned).collect();
        switches.extend(["--starts-file".to_owned(), self.file(&format!("{name}.starts"))]);
        switches.extend(["--requests-file".to_owned(), self.file(&format!("{name}.requests"))]);
        self.command(name, &stdio::command(switches), more)
    }

    /// The same with a command of one's own.
    pub(crate) fn command(&self, name: &str, command: &[String], more: &str) -> String {
        let run = self.path.display().to_string();
        format!("[downstreams.{name}]\ncommand = {command:?}\nenv = {{ {MARKER} = {run:?} }}\n{more}\n")
    }

    /// Pids of the starts so far, oldest first.
    pub(crate) fn starts(&self, name: &str) -> Vec<u32> {
        let text = fs::read_to_string(self.path.join(format!("{name}.starts"))).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// The requests so far, oldest first.
    pub(crate) fn requests(&self, name: &str) -> Vec<Taken> {
        let text = fs::read_to_string(self.path.join(format!("{name}.requests"))).unwrap_or_default();
        text.lines().filter_map(Taken::parse).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            // A folder for temporary files is emptied by others too.
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

/// A request a stdio fake took.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) pid: u32,
    pub(crate) method: String,
    /// Raw arguments of a call.
    pub(crate) arguments: String,
}

impl Taken {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        let pid = words.next()?.parse().ok()?;
        let method = words.next()?.to_owned();
        Some(Self { pid, method, arguments: words.next().unwrap_or_default().to_owned() })
    }
}

const MARKER: &str = "TESTKIT_RUN";
