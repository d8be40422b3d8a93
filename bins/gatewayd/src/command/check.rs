use std::{process::ExitCode, sync::Arc};

use gateway_domain::{Caller, Directory as _, DownstreamState, DownstreamStatus, RawJson};
use gateway_openapi::downstream::Report;

use crate::{
    command::{FAILED, operations::Operations, patience, print, say, with_gateway, workflows},
    config::Config,
    decisions::Users,
    gateway::Gateway,
};

/// Starts every downstream once and reports on them and on the workflows over them.
pub(super) async fn run(
    config: &Config,
    json: bool,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<ExitCode> {
    let settled = with_gateway(Gateway::start(config, Users::Operator)?, stop, async |gateway| {
        gateway.catalog.settled(patience(config)).await;
        // Has lists read that are not for everybody, since workflows may need their tools. What is wrong with a list is
        // said of its downstream.
        drop(super::tools::list(gateway, &Caller::anonymous()).await);
        let topology = gateway.topology();
        let checked = |status: DownstreamStatus| Checked { report: topology.report(&status.name), status };
        let downstreams = gateway.catalog.downstreams().into_iter().map(checked).collect::<Vec<_>>();
        (downstreams, workflows::Report::of(gateway, &Caller::anonymous()))
    });
    let Some((downstreams, workflows)) = settled.await else { return Ok(ExitCode::from(FAILED)) };
    let statuses = downstreams.iter().map(|checked| &checked.status);
    let bad = statuses.filter(|status| !is_good(status)).map(sentence);
    let bad: Vec<_> = bad.chain(workflows.sentences()).collect();
    match json {
        true => print(report(&downstreams, &workflows, &bad, config))?,
        false => {
            let lines = downstreams.iter().map(|checked| line(checked, config));
            lines.chain(workflows.lines()).try_for_each(print)?;
        }
    }
    bad.iter().for_each(say);
    Ok(if bad.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// What is known of a downstream in the end.
struct Checked {
    status: DownstreamStatus,
    /// Of an API: what became of its operations.
    report: Option<Arc<Report>>,
}

impl Checked {
    fn operations<'a>(&'a self, config: &Config) -> Option<Operations<'a>> {
        let config = config.downstreams.iter().find(|downstream| downstream.name == self.status.name)?;
        Some(Operations::new(self.report.as_deref()?, &self.status, config))
    }
}

/// Whether there is nothing to mend: in use, or switched off on purpose.
pub(super) fn is_good(status: &DownstreamStatus) -> bool {
    matches!(status.state, DownstreamState::Ready | DownstreamState::Disabled)
}

/// What is wrong with a downstream, and where to look.
pub(super) fn sentence(status: &DownstreamStatus) -> String {
    let reason = status.reason.as_deref().unwrap_or("it has not answered yet");
    format!("downstream `{}` is {}: {}", status.name, status.state, printable(reason))
}

fn line(checked: &Checked, config: &Config) -> String {
    let status = &checked.status;
    let mut line = format!("{}\t{}", status.name, status.state);
    if let Some(protocol) = &status.protocol {
        line += &format!("\t{protocol}\t{} tools", status.tools);
    }
    if let Some(started) = status.started {
        line += &format!("\t{} ms", started.as_millis());
    }
    if let Some(reason) = &status.reason {
        line += &format!("\t{}", printable(reason));
    }
    for (alias, original) in &status.aliases {
        line += &format!("\n\toffered as {alias}: {}", printable(original));
    }
    for (name, reason) in &status.dropped {
        line += &format!("\n\tleft out {}: {}", printable(name), printable(reason));
    }
    line += &checked.operations(config).map(|operations| operations.lines()).unwrap_or_default();
    line
}

fn report(downstreams: &[Checked], workflows: &workflows::Report, bad: &[String], config: &Config) -> String {
    let rows: Vec<_> = downstreams.iter().map(|checked| row(checked, config)).collect();
    let (rows, workflows) = (rows.join(","), workflows.json());
    let problems = RawJson::array(bad.iter().map(|problem| RawJson::string(problem)));
    format!(r#"{{"downstreams":[{rows}],"workflows":{workflows},"problems":{problems}}}"#)
}

fn row(checked: &Checked, config: &Config) -> String {
    let status = &checked.status;
    let text = |value: Option<&str>| {
        value.map_or_else(|| "null".to_owned(), |value| RawJson::string(value).to_string())
    };
    let server = status.server.as_ref().map_or("null", RawJson::as_str);
    let aliases: Vec<_> = status
        .aliases
        .iter()
        .map(|(alias, original)| format!("{}:{}", RawJson::string(alias), RawJson::string(original)))
        .collect();
    let started = status.started.map_or_else(|| "null".to_owned(), |started| started.as_millis().to_string());
    let operations = checked.operations(config);
    let operations = operations.map(|operations| format!(r#","operations":{}"#, operations.json()));
    let operations = operations.unwrap_or_default();
    format!(
        concat!(
            r#"{{"name":{},"state":{},"reason":{},"protocol":{},"server":{},"tools":{},"prompts":{},"resources":{},"#,
            r#""aliases":{{{}}},"started_ms":{}{}}}"#
        ),
        text(Some(status.name.as_str())),
        text(Some(status.state.as_str())),
        text(status.reason.as_deref()),
        text(status.protocol.as_deref()),
        server,
        status.tools,
        status.prompts,
        status.resources,
        aliases.join(","),
        started,
        operations,
    )
}

/// What downstreams say may be long and may try to steer a terminal.
fn printable(text: &str) -> String {
    gateway_domain::printable(text, 500)
}
