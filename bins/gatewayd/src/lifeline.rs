//! The lifeline watcher: this program in another mode, which ends the children if the gateway is killed.

use std::{io, path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::Context as _;
use gateway_transport_stdio::lifeline::{self, Lifeline};
use tokio::signal::unix::{SignalKind, signal};

/// Starts the watcher. Must be called within the runtime.
pub(crate) fn start() -> Option<Arc<Lifeline>> {
    Lifeline::start(program(), vec!["gatewayd".into(), "lifeline".into()])
        .inspect_err(|error| {
            // A gateway that works is better than none.
            tracing::error!(%error, "no lifeline: if the gateway is killed, processes of its downstreams are left");
        })
        .ok()
}

/// What runs here, even after its file was replaced by another version.
fn program() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    if link.exists() { link } else { std::env::current_exe().unwrap_or(link) }
}

/// Is the watcher: ends what the gateway leaves behind when its pipe on stdin closes.
pub(crate) fn watch() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context("no runtime")?;
    let _context = runtime.enter();
    // A signal that is listened for does not end the process; nobody needs to hear it.
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let _ignored = kinds.map(signal);
    // Else it would be `exe` in a list of processes.
    drop(std::fs::write("/proc/self/comm", "gatewayd-watch"));
    let left = lifeline::watch(io::stdin().lock(), &lifeline::WatchConfig::default());
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
