//! A gateway in between.

use std::{
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
};

use gateway_testkit::client::peer::{Manner, Peer};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::cell::Wire;

/// The program, which nothing of the test's environment configures.
fn gatewayd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatewayd"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GATEWAY") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    command.kill_on_drop(true);
    command
}

/// `gatewayd serve`, or nothing where the client starts its own `gatewayd stdio`.
pub(crate) struct Gateway {
    /// Killed when dropped.
    _child: Option<Child>,
    url: Option<String>,
    log: Arc<Mutex<String>>,
    folder: std::path::PathBuf,
}

impl Gateway {
    /// With the `gateway.toml` in this folder.
    pub(crate) async fn start(face: Wire, folder: &Path) -> Self {
        let log = Arc::<Mutex<String>>::default();
        let (mut child, mut url) = (None, None);
        if face == Wire::Http {
            let (started, listening) = serve(folder, Arc::clone(&log)).await;
            (child, url) = (Some(started), Some(listening));
        }
        Self { _child: child, url, log, folder: folder.to_owned() }
    }

    /// `view` is a path such as `/d`, which only HTTP has.
    pub(crate) async fn connect(&self, manner: Manner, view: &str) -> Peer {
        match &self.url {
            Some(url) => Peer::http(&format!("{url}{view}"), manner).await.unwrap(),
            None => {
                let mut command = gatewayd();
                command.arg("stdio").arg("--config").arg(self.folder.join("gateway.toml"));
                let log = std::fs::File::create(self.folder.join("log")).unwrap();
                command.current_dir(&self.folder).stderr(log);
                Peer::stdio(command, manner).await.unwrap()
            }
        }
    }

    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    pub(crate) fn log(&self) -> String {
        let file = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        self.log.lock().unwrap().clone() + &file
    }
}

async fn serve(folder: &Path, log: Arc<Mutex<String>>) -> (Child, String) {
    let mut command = gatewayd();
    command.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    loop {
        let Some(line) = lines.next_line().await.unwrap() else {
            panic!("gatewayd ended without listening: {}", log.lock().unwrap());
        };
        if let Some(url) = line.strip_prefix("listening on ") {
            let url = url.to_owned();
            tokio::spawn(async move {
                while let Ok(Some(line)) = lines.next_line().await {
                    keep(&log, &line);
                }
            });
            return (child, url);
        }
        keep(&log, &line);
    }
}

fn keep(log: &Mutex<String>, line: &str) {
    let mut log = log.lock().unwrap();
    log.push_str(line);
    log.push('\n');
}
