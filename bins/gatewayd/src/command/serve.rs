use std::process::ExitCode;

use gateway_server::{Bound, Server};
use tokio::signal::unix::Signal;

use crate::{
    command::{self, Terminal},
    gateway,
    gateway::Gateway,
    reload::{Reloader, Start},
};

/// Serves over HTTP until told to stop, then drains.
pub(super) async fn run(
    start: Start,
    stop: impl Future<Output = ()>,
    hangup: Signal,
    terminal: Terminal,
) -> anyhow::Result<ExitCode> {
    let config = &start.loaded.config;
    // Before anything is started: a port that is taken must not cost ten processes.
    let bound = Bound::bind(gateway::server_config(config)).await?;
    let gateway = Gateway::start_to_serve(config)?;
    let server = Server::new(bound, gateway.ports());
    command::say(format_args!("listening on http://{}/mcp", server.local_addr()));
    let reloader = Reloader::new(start, gateway.topology(), Some(server.settings()));
    let reload = reloader.run(hangup, terminal);
    command::beside(reload, stop, async |stop| server.run(stop).await).await;
    gateway.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
