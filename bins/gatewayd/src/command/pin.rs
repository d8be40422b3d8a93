use std::{
    io::{BufRead as _, IsTerminal as _, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::Context as _;
use gateway_catalog::{Lock, Locked, diff};
use gateway_domain::{Directory as _, DownstreamStatus};

use crate::{
    cli,
    command::{FAILED, check, patience, print, say, with_gateway},
    config::{self, Config},
    decisions::Users,
    gateway::Gateway,
};

/// Shows what is different about tools since they were accepted, and accepts it if that is wanted.
pub(super) async fn run(
    config: &Config,
    asked: &cli::Pin,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<ExitCode> {
    let listed = with_gateway(Gateway::start(&unpinned(config), Users::Operator)?, stop, async |gateway| {
        gateway.catalog.settled(patience(config)).await;
        (gateway.catalog.whole_lock().await, gateway.catalog.downstreams())
    });
    let Some(((found, unread), downstreams)) = listed.await else { return Ok(ExitCode::from(FAILED)) };
    let pins = &config.security.pins;
    let is_missing = |status: &&DownstreamStatus| !check::is_good(status) || unread.contains(&status.name);
    let missing: Vec<_> = downstreams.iter().filter(is_missing).collect();
    let current = with_missing(&pins.accepted, found, &missing);
    let changes = diff(&pins.accepted, &current);
    changes.iter().try_for_each(print)?;
    missing.iter().for_each(|status| say(format_args!("{}; its tools stay as they are", reason(status))));
    let path = pins.lock.as_path();
    if changes.is_empty() && path.exists() {
        say(format_args!("{} is up to date: {} tools", path.display(), current.len()));
        return Ok(ExitCode::SUCCESS);
    }
    if asked.check {
        say(format_args!("{} is not up to date", path.display()));
        return Ok(ExitCode::from(FAILED));
    }
    if !(asked.accept || agrees(changes.len(), path)?) {
        say("nothing is accepted");
        return Ok(ExitCode::from(FAILED));
    }
    write(path, &current.render()).with_context(|| format!("{} cannot be written", path.display()))?;
    say(format_args!("{} tools are pinned in {}", current.len(), path.display()));
    Ok(ExitCode::SUCCESS)
}

/// Whatever is pinned, all tools are looked at, as they are.
fn unpinned(config: &Config) -> Config {
    let mut config = config.clone();
    config.security.pins.mode = config::PinMode::Off;
    config.security.pins.cleans = false;
    config
}

/// What was accepted of downstreams that say nothing now is not given up.
fn with_missing(accepted: &Lock, found: Lock, missing: &[&DownstreamStatus]) -> Lock {
    let is_missing = |tool: &Locked| missing.iter().any(|status| status.name.as_str() == tool.downstream());
    let kept = accepted.iter().filter(|(_, tool)| is_missing(tool));
    let found = found.iter().filter(|(_, tool)| !is_missing(tool));
    Lock::new(kept.chain(found).map(|(name, tool)| (name.to_owned(), tool.clone())))
}

fn reason(status: &DownstreamStatus) -> String {
    match check::is_good(status) {
        true => format!("downstream `{}` shows its tools only to its callers", status.name),
        false => check::sentence(status),
    }
}

/// Asks at the terminal.
fn agrees(changes: usize, path: &Path) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        say("there is nobody to ask; say --accept");
        return Ok(false);
    }
    let mut stderr = std::io::stderr();
    write!(stderr, "accept {changes} changes into {}? [y/N] ", path.display())?;
    stderr.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Replaces the file whole.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}
