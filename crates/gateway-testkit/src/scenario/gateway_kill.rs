//! The gateway is killed under load.

use std::{collections::BTreeSet, io, time::Duration};

use tokio::time::sleep;

use super::{
    Bench, crowd,
    figures::{millis, spread},
    folder::Folder,
    gateway::Gateway,
    process::{lives, marked, until},
    report::Report,
};

pub(crate) async fn run(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let (mut report, mut gone, mut most) = (Report::default(), Vec::new(), 0);
    let rounds = bench.count(20, 2);
    for round in 1..=rounds {
        let mut gateway = Gateway::start(bench, folder, &crowd::config(folder)).await?;
        crowd::warm(&gateway).await?;
        let running = crowd::load(&gateway).await?.start();
        sleep(Duration::from_millis(1500)).await;
        let mut run: BTreeSet<u32> = marked(&folder.marker()).into_iter().collect();
        most = most.max(run.len());
        // Each server has two grandchildren.
        report.demand(run.len() >= 3 * crowd::SERVERS.len(), || {
            format!("round {round}: only {} processes were there to survive", run.len())
        });
        gateway.kill();
        let took = until(Duration::from_secs(5), || {
            run.extend(marked(&folder.marker()));
            !run.iter().any(|pid| lives(*pid))
        })
        .await;
        gone.extend(took);
        report.demand(took.is_some(), || {
            let left = run.iter().filter(|pid| lives(**pid)).count();
            format!("round {round}: {left} of {} processes live on after 5 s", run.len())
        });
        drop(running.stop().await);
    }
    report.figure(format!("{rounds} kills, up to {most} processes, all gone in {}", spread(&mut gone)));
    let slowest = gone.last().copied().unwrap_or_default();
    report.figure(format!("slowest {} ms", millis(slowest)));
    Ok(report)
}
