//! Servers are killed under load.

use std::{collections::HashMap, io, time::Duration};

use tokio::time::{Instant, sleep, sleep_until};

use super::{
    Bench,
    caller::Random,
    crowd::{self, SERVERS},
    figures::{millis, quantile, spread},
    folder::Folder,
    gateway::Gateway,
    process::{kill, lives},
    report::Report,
    verdict::{Kill, Verdict},
};
use crate::message::{members, string};

pub(crate) async fn run(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let own = crowd::start_time().await?;
    let gateway = Gateway::start(bench, folder, &crowd::config(folder)).await?;
    crowd::warm(&gateway).await?;
    crowd::settle(&gateway).await;
    let base = gateway.census();
    let running = crowd::load(&gateway).await?.start();
    sleep(Duration::from_secs(2)).await;
    let kills = kills(folder, running.began, bench.storm).await;
    sleep(Duration::from_secs(3)).await;
    let calls = running.stop().await;
    let per_client: Vec<bool> = SERVERS.iter().map(|server| server.per_client).collect();
    let verdict = Verdict::of(&calls, &kills, &executions(folder), &per_client, bench.unnoticed());
    let mut report = Report::default();
    let wanted = usize::try_from(bench.storm.as_secs()).unwrap_or(0);
    report.demand(kills.len() >= wanted, || format!("only {} servers could be killed", kills.len()));
    tell(&mut report, verdict, kills.len(), own);
    let (end, back) = gateway.back_at(&base, Duration::from_secs(30)).await;
    report.figure(format!("base {base}, end {end}"));
    report.demand(back.is_some(), || "30 s after the load the gateway holds more than before".to_owned());
    Ok(report)
}

fn tell(report: &mut Report, verdict: Verdict, kills: usize, own: Duration) {
    let Verdict {
        calls,
        done,
        refused,
        unrun,
        unrun_after,
        faults,
        mut recoveries,
        unrecovered,
        mut latencies,
    } = verdict;
    report.figure(format!(
        "{calls} calls, {kills} kills, {done} done, {refused} refused in flight (not run: {unrun:?}, {unrun_after} begun after the kill)"
    ));
    report.figure(format!("latency {}", spread(&mut latencies)));
    report.figure(format!("recovery {} (own start {} ms)", spread(&mut recoveries), millis(own)));
    for fault in faults {
        report.demand(false, || fault);
    }
    let late = quantile(&recoveries, 99);
    let told = recoveries.len();
    report.demand(told * 2 >= kills, || format!("the recovery of only {told} of {kills} could be seen"));
    report.demand(unrecovered == 0, || format!("{unrecovered} kills without a success afterwards"));
    report.demand_in_time(late <= own + Duration::from_secs(1), || {
        format!("p99 of recovery is {} ms", millis(late))
    });
}

/// One random server each half second.
async fn kills(folder: &Folder, began: Instant, during: Duration) -> Vec<Kill> {
    let (mut random, mut kills, begun) =
        (Random::new(u64::from(std::process::id())), Vec::new(), Instant::now());
    let mut next = begun;
    while begun.elapsed() < during {
        next += Duration::from_millis(500);
        sleep_until(next).await;
        let target = random.index(SERVERS.len());
        let living: Vec<u32> =
            folder.starts(SERVERS[target].name).into_iter().filter(|pid| lives(*pid)).collect();
        if living.is_empty() {
            continue;
        }
        let (at, pid) = (began.elapsed(), living[random.index(living.len())]);
        if kill(pid) {
            kills.push(Kill { at, pid, target });
        }
    }
    kills
}

/// Which processes ran each call, by its token.
fn executions(folder: &Folder) -> HashMap<String, Vec<u32>> {
    let mut ran: HashMap<String, Vec<u32>> = HashMap::new();
    for server in &SERVERS {
        for taken in folder.requests(server.name).into_iter().filter(|taken| taken.method == "tools/call") {
            let token = members(&taken.arguments).and_then(|members| string(members.get("token")?));
            if let Some(token) = token {
                ran.entry(token).or_default().push(taken.pid);
            }
        }
    }
    ran
}
