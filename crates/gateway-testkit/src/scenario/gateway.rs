//! A `gatewayd` process under test.

use std::{
    fs, io,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::{
    Bench,
    folder::Folder,
    process::{Census, kill, until},
};
use crate::client::{HttpClient, Speaks, raw_until};

/// `gatewayd serve`, killed when dropped.
#[derive(Debug)]
pub(crate) struct Gateway {
    child: Child,
    url: String,
    marker: String,
}

impl Gateway {
    /// Starts it with this configuration and waits until it listens. Its log is `gateway.log` of the folder.
    pub(crate) async fn start(bench: &Bench, folder: &Folder, config: &str) -> io::Result<Self> {
        let (file, log) = (folder.path().join("gateway.toml"), folder.path().join("gateway.log"));
        fs::write(&file, config)?;
        let mut command = Command::new(&bench.gatewayd);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GATEWAY") || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&log)?);
        let mut gateway = Self { child: command.spawn()?, url: String::new(), marker: folder.marker() };
        until(Duration::from_secs(20), || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let line = text
                .split_inclusive('\n')
                .find_map(|line| line.strip_prefix("listening on ")?.strip_suffix('\n'));
            gateway.url = line.unwrap_or_default().to_owned();
            !gateway.url.is_empty() || !matches!(gateway.child.try_wait(), Ok(None))
        })
        .await;
        match gateway.url.is_empty() {
            true => Err(io::Error::other(format!("gatewayd does not listen, see {}", log.display()))),
            false => Ok(gateway),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A client that has shaken hands.
    pub(crate) async fn client(&self, speaks: Speaks) -> io::Result<HttpClient> {
        HttpClient::connect(&self.url, speaks).await
    }

    pub(crate) fn census(&self) -> Census {
        Census::of(self.child.id(), &self.marker)
    }

    /// Waits until fds, threads and processes are back at `base`; what it was at last, and how long it took.
    pub(crate) async fn back_at(&self, base: &Census, at_most: Duration) -> (Census, Option<Duration>) {
        self.census_when(at_most, |census| census.is_back_at(base)).await
    }

    /// The same, with its memory given back too.
    pub(crate) async fn slim_at(&self, base: &Census, at_most: Duration) -> (Census, Option<Duration>) {
        self.census_when(at_most, |census| census.is_back_at(base) && census.is_slim(base)).await
    }

    async fn census_when(
        &self,
        at_most: Duration,
        holds: impl Fn(&Census) -> bool,
    ) -> (Census, Option<Duration>) {
        let mut last = self.census();
        let took = until(at_most, || {
            last = self.census();
            holds(&last)
        })
        .await;
        (last, took)
    }

    /// The value of one line of `/metrics`, named as it stands there.
    pub(crate) async fn metric(&self, name: &str) -> io::Result<Option<f64>> {
        let host = self.url.trim_start_matches("http://").split('/').next().unwrap_or_default();
        let addr: SocketAddr = host.parse().map_err(io::Error::other)?;
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = raw_until(addr, request.as_bytes(), Duration::from_secs(5)).await?;
        let text = String::from_utf8_lossy(&answer);
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.and_then(|value| value.trim().parse().ok()))
    }

    /// `kill -9`, and waits for it.
    pub(crate) fn kill(&mut self) {
        kill(self.child.id());
        drop(self.child.wait());
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended already.
        self.kill();
    }
}

/// Limits that callers by the hundred from one address do not reach.
pub(crate) const ROOM: &str = "[limits]\nconnections = 5000\nconnections_per_peer = 5000\nin_flight = 5000\n\
    in_flight_per_caller = 5000\nsessions = 20000\nsessions_per_caller = 20000\n";
