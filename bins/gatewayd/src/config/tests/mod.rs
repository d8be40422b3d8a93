//! What is accepted, what is refused and in which words.

mod apis;
mod editors;
mod problems;
mod security;
mod values;
mod workflows;

use std::path::{Path, PathBuf};

use super::*;

/// A folder with files and an environment.
struct Scene {
    folder: tempfile::TempDir,
    request: Request,
    environment: Vec<(&'static str, &'static str)>,
}

impl Scene {
    /// Nothing is there, and `serve` was said.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let request = Request {
            folder: folder.path().to_owned(),
            executable: PathBuf::from("/opt/gatewayd"),
            opens_port: true,
            stdout: Stdout::Free,
            ..Request::default()
        };
        Self { folder, request, environment: Vec::new() }
    }

    /// One file, named with `--config`.
    fn with(name: &str, text: &str) -> Self {
        Self::new().config(name, text)
    }

    fn config(mut self, name: &str, text: &str) -> Self {
        self.request.files.push(PathBuf::from(name));
        self.file(name, text)
    }

    fn file(self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    fn flags(mut self, flags: Flags) -> Self {
        self.request.flags = flags;
        self
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn load(&self) -> Result<Loaded, Problems> {
        let variables =
            self.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        load(&self.request, &variables.collect()).outcome
    }

    #[track_caller]
    fn good(&self) -> Loaded {
        self.load().unwrap_or_else(|problems| panic!("refused:\n{problems}"))
    }

    /// The lines that are printed, the folder's name taken out.
    #[track_caller]
    fn problems(&self) -> Vec<String> {
        let problems = self.load().map(|loaded| panic!("accepted: {loaded:#?}")).unwrap_err().to_string();
        let folder = self.path().display().to_string();
        problems.lines().map(|line| line.replace(&folder, "FOLDER")).collect()
    }
}

fn only(config: &Config) -> &Downstream {
    assert_eq!(config.downstreams.len(), 1);
    &config.downstreams[0]
}

fn command(downstream: &Downstream) -> &Command {
    match &downstream.reach {
        Reach::Command(command) => command,
        other => panic!("no command: {other:?}"),
    }
}

fn remote(downstream: &Downstream) -> &Remote {
    match &downstream.reach {
        Reach::Url(remote) => remote,
        other => panic!("no url: {other:?}"),
    }
}

fn api(downstream: &Downstream) -> &Api {
    match &downstream.reach {
        Reach::Api(api) => api,
        other => panic!("no API: {other:?}"),
    }
}

fn notes(loaded: &Loaded) -> Vec<String> {
    loaded.notes.iter().map(ToString::to_string).collect()
}
