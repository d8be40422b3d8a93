//! More idle clients than a downstream may have processes.

use std::{io, time::Duration};

use super::{
    Bench,
    caller::{Outcome, ask},
    figures::spread,
    folder::Folder,
    gateway::Gateway,
    report::Report,
};
use crate::client::Speaks;
use tokio::time::Instant;

pub(crate) async fn run(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let gateway = Gateway::start(bench, folder, &folder.fake("own", "--era legacy", "")).await?;
    let (mut report, mut clients, mut times) = (Report::default(), Vec::new(), Vec::new());
    for _ in 0..CLIENTS {
        clients.push(gateway.client(Speaks::legacy()).await?);
    }
    for round in 1..=2 {
        for (number, client) in clients.iter().enumerate() {
            let begun = Instant::now();
            let outcome = ask(client, "own__echo", r#"{"n":1}"#).await;
            times.push(begun.elapsed());
            report
                .demand(outcome == Outcome::Done, || format!("round {round}, client {number}: {outcome:?}"));
        }
    }
    let census = gateway.census();
    report.figure(format!("{CLIENTS} clients twice, {}, {} processes", spread(&mut times), census.marked));
    let slowest = times.last().copied().unwrap_or_default();
    report.demand_in_time(slowest <= Duration::from_secs(5), || "a client waited longer than 5 s".to_owned());
    Ok(report)
}

/// The default pool has 16.
const CLIENTS: usize = 20;
