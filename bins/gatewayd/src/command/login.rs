use std::process::ExitCode;

use crate::{
    command::{FAILED, say},
    config::Config,
    credentials, outgoing,
};

/// Has the operator allow the gateway to use a downstream.
pub(super) async fn run(
    config: &Config,
    name: &str,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<ExitCode> {
    let login = credentials::login(config, name, outgoing::fetch(config)?);
    tokio::select! {
        done = login => {
            say(done?);
            Ok(ExitCode::SUCCESS)
        }
        () = stop => Ok(ExitCode::from(FAILED)),
    }
}
