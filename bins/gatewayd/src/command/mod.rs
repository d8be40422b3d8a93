//! What the commands do. Results go to stdout; everything said about them to stderr (design §11).

mod call;
mod check;
mod login;
mod operations;
mod pin;
mod serve;
mod stdio;
mod terminal;
mod tools;
mod workflows;

use std::{fmt, io::Write as _, process::ExitCode, time::Duration};

use anyhow::Context as _;
use gateway_domain::Caller;
use gateway_openapi::source::Place;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::JoinSet,
};

pub(crate) use self::terminal::Terminal;
use crate::{cli, config::Config, decisions::Users, gateway::Gateway, reload::Start};

/// The exit code of a command that ran and found something wrong.
pub(crate) const FAILED: u8 = 1;
/// The exit code of wrong usage or configuration.
pub(crate) const USAGE: u8 = 2;

/// Runs the command.
pub(crate) async fn run(command: cli::Command, start: Start) -> anyhow::Result<ExitCode> {
    outlive_full_files()?;
    // Before anything is started: whatever is, has to be ended in order.
    let stays = matches!(command, cli::Command::Serve(_) | cli::Command::Stdio(_));
    let terminal = Terminal::of_process();
    let (stop, hangup) = (termination(stays.then_some(terminal))?, hangup()?);
    let config = &start.loaded.config;
    match command {
        cli::Command::Serve(_) => Box::pin(serve::run(start, stop, hangup, terminal)).await,
        cli::Command::Stdio(stdio) => {
            Box::pin(stdio::run(start, stdio.client.as_deref(), stop, hangup, terminal)).await
        }
        cli::Command::Check(report) => check::run(config, report.json, stop).await,
        cli::Command::Tools(tools) => tools::run(config, &tools, stop).await,
        cli::Command::Call(call) => call::run(config, &call, stop).await,
        cli::Command::Pin(pin) => pin::run(config, &pin, stop).await,
        cli::Command::Login(login) => login::run(config, &login.name, stop).await,
        // Handled before any configuration is read.
        cli::Command::DemoServer | cli::Command::Lifeline => Ok(ExitCode::from(USAGE)),
    }
}

/// Who a command acts as, and whose rules hold: a client of the configuration, or the operator.
///
/// # Errors
/// There is no such client.
fn actor(config: &Config, client: Option<&str>) -> anyhow::Result<(Users, Caller)> {
    let Some(name) = client else { return Ok((Users::Operator, Caller::anonymous())) };
    match config.clients.iter().any(|client| client.name == name) {
        true => Ok((Users::Clients, Caller::client(name))),
        false => anyhow::bail!("there is no client `{name}` in the configuration"),
    }
}

/// A file that has reached the size it may have (`RLIMIT_FSIZE`) cannot be written from now on, as on a full disk, instead
/// of ending the gateway with SIGXFSZ.
///
/// The signal is caught and not ignored: programs that are started would inherit that.
fn outlive_full_files() -> anyhow::Result<()> {
    // Stays caught when the receiver is dropped.
    signal(SignalKind::from_raw(libc::SIGXFSZ)).map(drop).context("cannot listen for SIGXFSZ")
}

/// Completes at the first SIGTERM, SIGINT or SIGHUP. Later ones change nothing: stopping is bounded anyway.
/// With a terminal, SIGHUP means to stop only if that is gone; else it means to read the configuration again.
fn termination(terminal: Option<Terminal>) -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut hangup = hangup()?;
    Ok(async move {
        let gone = async {
            while hangup.recv().await.is_some() {
                if terminal.is_none_or(Terminal::is_gone) {
                    return;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
            () = gone => tracing::info!("SIGHUP: stopping"),
            _ = interrupt.recv() => tracing::info!("SIGINT: stopping"),
        }
    })
}

/// Runs `serve` with a future that is ready when `stop` is, and `reload` beside it until then. That has ended
/// when this returns: what is closed next must not be changed any more.
async fn beside<T>(
    reload: impl Future<Output = ()> + Send + 'static,
    stop: impl Future<Output = ()>,
    serve: impl AsyncFnOnce(std::pin::Pin<&mut dyn Future<Output = ()>>) -> T,
) -> T {
    let mut reloading = JoinSet::new();
    // A task of its own, so that neither holds the other up.
    let handle = reloading.spawn(reload);
    let stop = async {
        stop.await;
        handle.abort();
    };
    let served = serve(std::pin::pin!(stop)).await;
    reloading.shutdown().await;
    served
}

fn hangup() -> anyhow::Result<Signal> {
    signal(SignalKind::hangup()).context("cannot listen for SIGHUP")
}

/// Runs `work` on a started gateway and ends the gateway whatever comes of it; `None` if the command was
/// told to stop.
async fn with_gateway<T>(
    gateway: Gateway,
    stop: impl Future<Output = ()>,
    work: impl AsyncFnOnce(&Gateway) -> T,
) -> Option<T> {
    let done = tokio::select! {
        done = work(&gateway) => Some(done),
        () = stop => None,
    };
    gateway.close().await;
    done
}

/// How long a command that reports waits for downstreams to start: as long as the slowest may take.
pub(crate) fn patience(config: &Config) -> Duration {
    let bound = |downstream: &crate::config::Downstream| match &downstream.reach {
        crate::config::Reach::Command(command) => command.startup_timeout + downstream.list_timeout,
        crate::config::Reach::Url(remote) => remote.connect_timeout * 3 + downstream.list_timeout,
        crate::config::Reach::Api(_) => Place::TIME_LIMIT + downstream.list_timeout,
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
