use std::{process::ExitCode, sync::Arc};

use gateway_server::stdio::Face;
use tokio::{signal::unix::Signal, sync::Notify};

use crate::{
    command::{self, Terminal},
    edge,
    gateway::Gateway,
    reload::{Front, Reloader, Start},
};

/// Serves one client over stdin and stdout until it closes stdin, or is none of the configuration any more.
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
    let face = Face::new(edge::config(config, None), gateway.ports());
    let gone = Arc::new(Notify::new());
    let front =
        Front::Stdio { rulings: face.rulings(), client: client.map(str::to_owned), gone: gone.clone() };
    let reload = Reloader::new(start, gateway.topology(), front, None).run(hangup, terminal);
    let stop = async move {
        tokio::select! {
            () = stop => {}
            () = gone.notified() => {}
        }
    };
    let served = command::beside(reload, stop, async |stop| face.serve(caller, input, output, stop).await);
    let served = served.await;
    gateway.close().await;
    served?;
    Ok(ExitCode::SUCCESS)
}
