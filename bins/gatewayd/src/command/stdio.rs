use std::process::ExitCode;

use crate::{config::Config, gateway, gateway::Gateway};

/// Serves one client over stdin and stdout until it closes stdin.
pub(super) async fn run(
    config: &Config,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<ExitCode> {
    let gateway = Gateway::start(config)?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let config = gateway::server_config(config);
    let served = gateway_server::stdio::serve(config, gateway.ports(), input, output, stop).await;
    gateway.close().await;
    served?;
    Ok(ExitCode::SUCCESS)
}
