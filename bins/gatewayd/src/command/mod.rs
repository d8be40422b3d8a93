//! What the commands do. Results go to stdout; everything said about them to stderr (design §11).

mod call;
mod check;
mod serve;
mod stdio;
mod tools;

use std::{fmt, io::Write as _, process::ExitCode, time::Duration};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::{cli, config::Config, gateway::Gateway};

/// The exit code of a command that ran and found something wrong.
pub(crate) const FAILED: u8 = 1;
/// The exit code of wrong usage or configuration.
pub(crate) const USAGE: u8 = 2;

/// Runs the command.
pub(crate) async fn run(command: cli::Command, config: &Config) -> anyhow::Result<ExitCode> {
    // Before anything is started: whatever is, has to be ended in order.
    let stop = termination()?;
    match command {
        cli::Command::Serve(_) => serve::run(config, stop).await,
        cli::Command::Stdio(_) => stdio::run(config, stop).await,
        cli::Command::Check(report) => check::run(config, report.json, stop).await,
        cli::Command::Tools(report) => tools::run(config, report.json, stop).await,
        cli::Command::Call(call) => call::run(config, &call, stop).await,
        // Handled before any configuration is read.
        cli::Command::DemoServer | cli::Command::Lifeline => Ok(ExitCode::from(USAGE)),
    }
}

/// Completes at the first SIGTERM, SIGINT or SIGHUP. Later ones change nothing: stopping is bounded anyway.
fn termination() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    // The terminal has gone; without this the children would be left to find out by themselves.
    let mut hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
            _ = hangup.recv() => tracing::info!("SIGHUP: stopping"),
            _ = interrupt.recv() => tracing::info!("SIGINT: stopping"),
        }
    })
}

/// Runs `work` on a started gateway and ends the gateway whatever comes of it; `None` if the command was
/// told to stop.
async fn with_gateway<T>(
    config: &Config,
    stop: impl Future<Output = ()>,
    work: impl AsyncFnOnce(&Gateway) -> T,
) -> anyhow::Result<Option<T>> {
    let gateway = Gateway::start(config)?;
    let done = tokio::select! {
        done = work(&gateway) => Some(done),
        () = stop => None,
    };
    gateway.close().await;
    Ok(done)
}

/// How long a command that reports waits for downstreams to start: as long as the slowest may take.
pub(crate) fn patience(config: &Config) -> Duration {
    let bound = |downstream: &crate::config::Downstream| match &downstream.reach {
        crate::config::Reach::Command(command) => command.startup_timeout + downstream.list_timeout,
        crate::config::Reach::Url(remote) => remote.connect_timeout * 3 + downstream.list_timeout,
    };
    let enabled = config.downstreams.iter().filter(|downstream| downstream.enabled);
    enabled.map(bound).max().unwrap_or_default() + Duration::from_secs(1)
}

/// Writes a result to stdout. A reader that has gone away is no failure of ours.
pub(crate) fn print(result: impl fmt::Display) -> std::io::Result<()> {
    match writeln!(std::io::stdout().lock(), "{result}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Says something to the person at the terminal. There is nowhere to report that it failed.
pub(crate) fn say(line: impl fmt::Display) {
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}
