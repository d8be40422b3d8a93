use std::process::ExitCode;

use tokio::signal::unix::Signal;

use crate::{
    command::{self, Terminal},
    edge,
    gateway::Gateway,
    reload::{Reloader, Start},
};

/// Serves one client over stdin and stdout until it closes stdin.
pub(super) async fn run(
    start: Start,
    client: Option<&str>,
    stop: impl Future<Output = ()> + Send + 'static,
    hangup: Signal,
    terminal: Terminal,
) -> anyhow::Result<ExitCode> {
    let config = &start.loaded.config;
    let (users, caller) = command::actor(config, client)?;
    let gateway = Gateway::start_to_serve(config, users)?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let config = edge::config(config, None);
    let reloader = Reloader::new(start, gateway.topology(), None, None);
    let (ports, reload) = (gateway.ports(), reloader.run(hangup, terminal));
    let served = command::beside(reload, stop, async |stop| {
        gateway_server::stdio::serve(config, ports, caller, input, output, stop).await
    });
    let served = served.await;
    gateway.close().await;
    served?;
    Ok(ExitCode::SUCCESS)
}
