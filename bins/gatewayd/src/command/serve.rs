use std::process::ExitCode;

use gateway_server::Server;

use crate::{command, config::Config, gateway, gateway::Gateway};

/// Serves over HTTP until told to stop, then drains.
pub(super) async fn run(config: &Config, stop: impl Future<Output = ()>) -> anyhow::Result<ExitCode> {
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
    server.run(stop).await;
    gateway.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
