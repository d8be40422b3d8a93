use std::process::ExitCode;

use anyhow::Context as _;
use gateway_server::Server;
use tokio::signal::unix::{SignalKind, signal};

use crate::{command, config::Config, gateway, gateway::Gateway};

/// Serves over HTTP until SIGTERM or SIGINT, then drains.
pub(super) async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    // Before anything is started: a port that is taken must not cost ten processes.
    let gateway = Gateway::start(config)?;
    let server = match Server::bind(gateway::server_config(config), gateway.ports()).await {
        Ok(server) => server,
        Err(error) => {
            gateway.close().await;
            return Err(error.into());
        }
    };
    command::say(format_args!("listening on http://{}/mcp", server.local_addr()));
    server.run(termination()?).await;
    gateway.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Completes at the first SIGTERM or SIGINT. A second SIGINT ends the process at once.
pub(super) fn termination() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("SIGTERM: draining"),
            _ = interrupt.recv() => tracing::info!("SIGINT: draining"),
        }
    })
}
