use std::process::ExitCode;

use gateway_domain::{Caller, Directory as _, ListKind, RawJson, RawObject, View, printable};

use crate::{
    cli,
    command::{FAILED, actor, patience, print, say, with_gateway, workflows},
    config::Config,
    gateway::Gateway,
};

/// Prints the catalogue as a client would see it.
pub(super) async fn run(
    config: &Config,
    asked: &cli::Tools,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<ExitCode> {
    let (users, caller) = actor(config, asked.client.as_deref())?;
    let listed = with_gateway(Gateway::start(config, users)?, stop, async |gateway| {
        gateway.catalog.settled(patience(config)).await;
        let tools = list(gateway, &caller).await;
        let workflows = workflows::Report::of(gateway, &caller);
        (tools, gateway.catalog.downstreams(), workflows)
    });
    let Some((tools, downstreams, workflows)) = listed.await else { return Ok(ExitCode::from(FAILED)) };
    let tools = tools?;
    match asked.report.json {
        true => print(format_args!(r#"{{"tools":{}}}"#, RawJson::array(tools)))?,
        false => tools.into_iter().filter_map(line).try_for_each(print)?,
    }
    let bad = downstreams.iter().filter(|status| !super::check::is_good(status)).map(super::check::sentence);
    let missing: Vec<_> = bad.chain(workflows.sentences()).collect();
    missing.iter().for_each(say);
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

pub(super) async fn list(gateway: &Gateway, caller: &Caller) -> Result<Vec<RawJson>, gateway_domain::Error> {
    let exchange = super::call::exchange(caller);
    let mut tools = Vec::new();
    let mut cursor = None;
    loop {
        let page =
            gateway.offered.list(ListKind::Tools, &View::All, caller, &exchange, cursor.as_deref()).await?;
        tools.extend(page.items.elements(usize::MAX).unwrap_or_default());
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(tools),
        }
    }
}

/// Name and the first line of the description.
fn line(definition: RawJson) -> Option<String> {
    let definition = RawObject::try_from(definition).ok()?;
    let name = definition.get_text("name")?;
    let description = definition.get_text("description").unwrap_or_default();
    let first = description.lines().next().unwrap_or_default();
    Some(format!("{name}\t{}", printable(first, 100)).trim_end().to_owned())
}
