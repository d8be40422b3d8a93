use std::process::ExitCode;

use tokio::signal::unix::Signal;

use crate::{
    command::{self, Terminal},
    gateway,
    gateway::Gateway,
    reload::{Reloader, Start},
};

/// Serves one client over stdin and stdout until it closes stdin.
pub(super) async fn run(
    start: Start,
    stop: impl Future<Output = ()> + Send + 'static,
    hangup: Signal,
    terminal: Terminal,
) -> anyhow::Result<ExitCode> {
    let config = &start.loaded.config;
    let gateway = Gateway::start_to_serve(config)?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let config = gateway::server_config(config);
    let reloader = Reloader::new(start, gateway.topology(), None);
    let (ports, reload) = (gateway.ports(), reloader.run(hangup, terminal));
    let served = command::beside(reload, stop, async |stop| {
        gateway_server::stdio::serve(config, ports, input, output, stop).await
    });
    let served = served.await;
    gateway.close().await;
    served?;
    Ok(ExitCode::SUCCESS)
}
