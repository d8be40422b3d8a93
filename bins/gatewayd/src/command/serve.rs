use std::{process::ExitCode, sync::Arc};

use gateway_server::{Bound, Server};
use tokio::signal::unix::Signal;

use crate::{
    command::{self, Terminal},
    decisions::Users,
    edge,
    gateway::Gateway,
    outgoing,
    reload::{Front, Reloader, Start},
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
    let fetch = outgoing::fetch(config)?;
    let verifier = edge::verifier(config, &fetch)?;
    let bound = Bound::bind(edge::config(config, verifier.clone().map(|verifier| verifier as _))).await?;
    let gateway = Gateway::start_to_serve(config, Users::Clients)?;
    let mut ports = gateway.ports();
    if let Some(verifier) = &verifier {
        ports.metrics.push(verifier.clone());
        let verifier = verifier.clone();
        ports.ready.push(Arc::new(move || verifier.is_ready()));
    }
    let connections = gateway.topology().connections();
    ports.pages = Some(connections.clone());
    let server = Server::new(bound, ports);
    connections.prove_by(server.settings());
    let scheme = if start.loaded.config.security.tls.is_some() { "https" } else { "http" };
    command::say(format_args!("listening on {scheme}://{}/mcp", server.local_addr()));
    let reloader = Reloader::new(start, gateway.topology(), Front::Http(server.settings()), verifier);
    let reload = reloader.run(hangup, terminal);
    command::beside(reload, stop, async |stop| server.run(stop).await).await;
    gateway.close().await;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
