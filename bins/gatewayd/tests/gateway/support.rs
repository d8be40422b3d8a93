//! A `gatewayd` process under test.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gateway_testkit::client::HttpClient;

use crate::secrets::{self, Secrets};

/// The program, ready to be given arguments. Nothing of the test's environment configures it.
pub(crate) fn gatewayd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatewayd"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GATEWAY") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    command
}

/// A folder with a `gateway.toml` in it.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn with(config: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        std::fs::write(folder.config(), config).unwrap();
        folder
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.0.path().join("gateway.toml")
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        gatewayd().args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }
}

/// `gatewayd serve`, killed when dropped. Fails its test if it has told a secret of its configuration.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
    pub(crate) started_in: Duration,
    log: Arc<Mutex<String>>,
    secrets: Secrets,
}

impl Serving {
    /// Starts it and waits until it listens.
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Self {
        Self::start_in(folder, arguments, &[])
    }

    /// The same, with these variables besides.
    pub(crate) fn start_in(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = gatewayd();
        if let Some(level) = Secrets::log_level() {
            command.env("RUST_LOG", level);
        }
        Self::launch(command, folder, arguments, variables)
    }

    /// The same, by a command that becomes the program.
    pub(crate) fn launch(
        mut command: Command,
        folder: &Folder,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let begun = Instant::now();
        let secrets = Secrets::of(folder.0.path(), variables);
        command.envs(variables.iter().copied());
        command.arg("serve").arg("--listen").arg("127.0.0.1:0").args(arguments).current_dir(folder.0.path());
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut head = String::new();
        let url = loop {
            let Some(Ok(line)) = lines.next() else { panic!("gatewayd ended without listening:\n{head}") };
            if let Some(url) = line.strip_prefix("listening on ") {
                break url.to_owned();
            }
            head += &line;
            head.push('\n');
        };
        let log = Arc::new(Mutex::new(head));
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut log = kept.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        Self { child, url, started_in: begun.elapsed(), log, secrets }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Sends SIGTERM and waits for the end; the exit code, or `None` if it took longer.
    pub(crate) fn terminate(&mut self, at_most: Duration) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let end = Instant::now() + at_most;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::yield_now();
        }
        None
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let address = self.url.strip_prefix("http://").and_then(|rest| rest.split('/').next()?.parse().ok());
        let address = address.filter(|_| !std::thread::panicking());
        let metrics = address.map(secrets::metrics).unwrap_or_default();
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
        if !std::thread::panicking() {
            self.secrets.look_for(&self.log(), &metrics);
        }
    }
}

/// A TOML array of strings.
pub(crate) fn toml(argv: &[String]) -> String {
    format!("{argv:?}")
}

/// `[downstreams.NAME]` with a fake server.
pub(crate) fn fake(name: &str, switches: &[&str]) -> String {
    let command = toml(&gateway_testkit::stdio::command(switches));
    format!("[downstreams.{name}]\ncommand = {command}\n")
}

/// Long enough for a machine that is busy; nothing here waits for it when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const WATCHED: [&str; 2] = ["--watch-interval", "50ms"];
/// Puts another configuration in the place of the one there, as editors do.
pub(crate) fn write(folder: &Folder, config: &str) {
    let new = folder.config().with_extension("new");
    std::fs::write(&new, config).unwrap();
    std::fs::rename(new, folder.config()).unwrap();
}

pub(crate) async fn until(what: &str, serving: &Serving, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "{what} does not come true:\n{}", serving.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) async fn logged(serving: &Serving, what: &str, times: usize) {
    until(what, serving, async || serving.log().matches(what).count() >= times).await;
}

pub(crate) fn hang_up(process: u32) {
    assert!(Command::new("kill").args(["-HUP", &process.to_string()]).status().unwrap().success());
}

pub(crate) async fn has(client: &HttpClient, tool: &str) -> bool {
    let listed = client.request("\"list\"", "tools/list", "{}").await.unwrap();
    listed.text.contains(&format!(r#""name":"{tool}""#))
}
