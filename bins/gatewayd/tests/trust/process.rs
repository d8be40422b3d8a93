//! A `gatewayd` process under test.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gateway_testkit::client::{Answer, HttpClient, Speaks};

use crate::secrets::{self, Secrets};

/// Long enough for a machine that is busy; nothing here waits for it when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with a `gateway.toml` in it.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn with(config: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("gateway.toml", config);
        folder
    }

    /// Puts a file in the place of the one there, as editors do.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let (path, new) = (self.path().join(name), self.path().join("new"));
        std::fs::write(&new, content).unwrap();
        std::fs::rename(new, &path).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// The program in this folder. Nothing of the test's environment configures it, and what it keeps is here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatewayd"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GATEWAY") || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env("HOME", self.path()).env("XDG_STATE_HOME", self.path().join("state"));
        command
    }
}

/// `gatewayd serve`, killed when dropped. Fails its test if it has told a secret of its configuration.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
    log: Arc<Mutex<String>>,
    output: Arc<Mutex<String>>,
    secrets: Secrets,
}

impl Serving {
    pub(crate) fn start(folder: &Folder) -> Self {
        Self::with(folder, &[])
    }

    /// Starts it with these variables and waits until it listens.
    pub(crate) fn with(folder: &Folder, variables: &[(&str, &str)]) -> Self {
        let mut command = folder.command(&["serve", "--watch-interval", "50ms"]);
        if let Some(level) = Secrets::log_level() {
            command.env("RUST_LOG", level);
        }
        let secrets = Secrets::of(folder.path(), variables);
        command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let output = Arc::<Mutex<String>>::default();
        let kept = output.clone();
        std::thread::spawn(move || {
            let mut all = String::new();
            drop(stdout.read_to_string(&mut all));
            *kept.lock().unwrap() = all;
        });
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut head = String::new();
        let url = loop {
            let Some(Ok(line)) = lines.next() else { panic!("gatewayd ended without listening:\n{head}") };
            head += &line;
            head.push('\n');
            if let Some(url) = line.strip_prefix("listening on ") {
                break url.to_owned();
            }
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
        Self { child, url, log, output, secrets }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// What it has written to stdout, once it has ended.
    pub(crate) fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let rest = self.url.split("://").nth(1).unwrap();
        rest.split('/').next().unwrap().replace("0.0.0.0", "127.0.0.1").parse().unwrap()
    }

    /// `http://HOST` and this path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// A client with this in `Authorization: Bearer`, which has not sent anything.
    pub(crate) fn client(&self, speaks: Speaks, token: &str) -> HttpClient {
        HttpClient::new(&self.at("/mcp"), speaks)
            .unwrap()
            .with_header("authorization", &format!("Bearer {token}"))
    }

    /// One call of a modern client.
    pub(crate) async fn call(&self, token: &str, tool: &str, arguments: &str) -> Answer {
        self.client(Speaks::modern(), token).call("1", tool, arguments).await.unwrap()
    }

    /// The tools that a modern client is shown, as text.
    pub(crate) async fn tools(&self, token: &str) -> Answer {
        self.client(Speaks::modern(), token).request("1", "tools/list", "{}").await.unwrap()
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn terminate(&mut self) {
        signal(self.pid(), "-TERM");
        let end = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "it does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds().await {
            assert!(Instant::now() < end, "{what} does not come true:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn logged(&self, what: &str, times: usize) {
        self.until(what, async || self.log().matches(what).count() >= times).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let is_plain = self.url.starts_with("http:") && !std::thread::panicking();
        let metrics = if is_plain { secrets::metrics(self.address()) } else { String::new() };
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
        if !std::thread::panicking() {
            self.secrets.look_for(&self.log(), &metrics);
        }
    }
}

pub(crate) fn signal(process: u32, which: &str) {
    assert!(Command::new("kill").args([which, &process.to_string()]).status().unwrap().success());
}

/// `[downstreams.NAME]` with a fake server.
pub(crate) fn fake(name: &str, switches: &[&str]) -> String {
    let command = gateway_testkit::stdio::command(switches);
    format!("[downstreams.{name}]\ncommand = {command:?}\n")
}
