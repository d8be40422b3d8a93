use std::process::ExitCode;

use gateway_domain::{Caller, Directory as _, RawJson, RawObject, View};

use crate::{
    command::{FAILED, patience, print, say},
    config::Config,
    gateway::Gateway,
};

/// Prints the catalogue as a client would see it.
pub(super) async fn run(config: &Config, json: bool) -> anyhow::Result<ExitCode> {
    let gateway = Gateway::start(config)?;
    gateway.catalog.settled(patience(config)).await;
    let listed = list(&gateway).await;
    gateway.close().await;
    let tools = listed?;
    match json {
        true => print(format_args!(r#"{{"tools":{}}}"#, RawJson::array(tools)))?,
        false => tools.into_iter().filter_map(line).try_for_each(print)?,
    }
    let mut missing = 0;
    for status in gateway.catalog.downstreams().iter().filter(|status| !super::check::is_good(status)) {
        missing += 1;
        say(super::check::sentence(status));
    }
    Ok(if missing == 0 { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

async fn list(gateway: &Gateway) -> Result<Vec<RawJson>, gateway_domain::Error> {
    let mut tools = Vec::new();
    let mut cursor = None;
    loop {
        let page = gateway.catalog.tools(&View::All, &Caller::anonymous(), cursor.as_deref()).await?;
        tools.extend(page.tools.elements(usize::MAX).unwrap_or_default());
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
    // What a server writes may try to steer the terminal.
    let shown: String = first.chars().filter(|c| !c.is_control()).take(100).collect();
    Some(format!("{name}\t{shown}").trim_end().to_owned())
}
