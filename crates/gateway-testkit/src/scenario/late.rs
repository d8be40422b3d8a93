//! Downstreams that come into being late, and one that does not speak until it is spoken to rightly.

use std::{io, os::unix::fs::symlink, time::Duration};

use tokio::time::{Instant, sleep};

use super::{
    Bench,
    caller::{Outcome, ask},
    figures::seconds,
    folder::Folder,
    gateway::Gateway,
    process::kill,
    report::Report,
};
use crate::{
    Profile,
    client::{HttpClient, Speaks},
    http::HttpFake,
    stdio,
};

pub(crate) async fn run(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let mut report = Report::default();
    let (program, fake) = (folder.file("not-yet"), HttpFake::start(Profile::default()));
    fake.close();
    let config = folder.command("command", std::slice::from_ref(&program), "")
        + &format!("[downstreams.address]\nurl = {:?}\n", fake.url())
        + &folder.fake("silent", "--era legacy --probe silent", "sharing = \"shared\"");
    let gateway = Gateway::start(bench, folder, &config).await?;
    let began = Instant::now();
    let silent = listed(&gateway, "silent", Duration::from_secs(12)).await?;
    report.figure(format!("a silent legacy server is listed after {}", told(silent)));
    report.demand(silent.is_some(), || "the silent legacy server is not listed within 12 s".to_owned());
    let client = gateway.client(Speaks::modern()).await?;
    restarted(&mut report, folder, &client).await;
    // Long enough for the gaps between tries to have grown.
    tokio::time::sleep_until(began + bench.span(Duration::from_secs(40), Duration::from_secs(8))).await;
    symlink(stdio::fake_mcp(), &program)?;
    fake.open();
    let (command, address) = tokio::try_join!(
        listed(&gateway, "command", Duration::from_secs(20)),
        listed(&gateway, "address", Duration::from_secs(20)),
    )?;
    report.figure(format!("a command is used {} after it appeared, a URL {}", told(command), told(address)));
    for (name, found) in [("command", command), ("address", address)] {
        report.demand(found.is_some(), || format!("{name} is not picked up within 20 s"));
        let outcome = ask(&client, &format!("{name}__echo"), "{}").await;
        report.demand(outcome == Outcome::Done, || format!("a call of {name}: {outcome:?}"));
    }
    Ok(report)
}

/// Once found to be legacy, it is not probed again.
async fn restarted(report: &mut Report, folder: &Folder, client: &HttpClient) {
    let outcome = ask(client, "silent__echo", "{}").await;
    report.demand(outcome == Outcome::Done, || format!("a call of silent: {outcome:?}"));
    for pid in folder.starts("silent") {
        kill(pid);
    }
    sleep(Duration::from_millis(500)).await;
    let begun = Instant::now();
    let outcome = ask(client, "silent__echo", "{}").await;
    let took = begun.elapsed();
    report.demand(outcome == Outcome::Done, || format!("a call after its restart: {outcome:?}"));
    report.demand_in_time(took < Duration::from_secs(3), || format!("it takes {} then", seconds(took)));
    let probes = folder.requests("silent").iter().filter(|taken| taken.method == "server/discover").count();
    report.figure(format!("after its restart it answers in {}, probed {probes} times in all", seconds(took)));
    report.demand(probes <= 1, || format!("it was probed {probes} times"));
}

/// How long until its tools are listed, without asking for anything that would hurry the gateway.
async fn listed(gateway: &Gateway, name: &str, at_most: Duration) -> io::Result<Option<Duration>> {
    let (begun, line) = (Instant::now(), format!("gateway_downstream_up{{downstream=\"{name}\"}}"));
    while begun.elapsed() < at_most {
        if gateway.metric(&line).await? == Some(1.0) {
            let client = gateway.client(Speaks::modern()).await?;
            let answer = client.request("1", "tools/list", "{}").await?;
            let found = answer.text.contains(&format!("\"{name}__echo\""));
            return Ok(found.then(|| begun.elapsed()));
        }
        sleep(Duration::from_millis(200)).await;
    }
    Ok(None)
}

fn told(time: Option<Duration>) -> String {
    time.map_or_else(|| "(never)".to_owned(), seconds)
}
