use std::process::ExitCode;

use gateway_server::{Bound, Server};

use crate::{command, config::Config, gateway, gateway::Gateway};

/// Serves over HTTP until told to stop, then drains.
pub(super) async fn run(config: &Config, stop: impl Future<Output = ()>) -> anyhow::Result<ExitCode> {
    // Before anything is started: a port that is taken must not cost ten processes.
    let bound = Bound::bind(gateway::server_config(config)).await?;
    let gateway = Gateway::start(config)?;
    let server = Server::new(bound, gateway.ports());
    command::say(format_args!("listening on http://{}/mcp", server.local_addr()));
    server.run(stop).await;
    gateway.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
