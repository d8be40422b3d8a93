//! Client sessions that nobody ends, and an event stream that is opened again and again.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    Bench,
    caller::{Outcome, ask},
    figures::{seconds, spread},
    folder::Folder,
    gateway::{Gateway, ROOM},
    report::Report,
};
use crate::client::{HttpClient, Speaks};

/// Sessions opened, used once and never deleted; twice, so that what is kept can be told from what is lost.
pub(crate) async fn abandoned(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let mut report = Report::default();
    let idle = bench.span(Duration::from_secs(30), Duration::from_secs(6));
    let gateway = Gateway::start(bench, folder, &config(folder, idle)).await?;
    open(&gateway, 200, true).await?;
    sleep(Duration::from_secs(2)).await;
    let (base, before) = (gateway.census(), sessions(&gateway).await?);
    report.figure(format!("base {base}"));
    for _ in 0..2 {
        let count = bench.count(10_000, 200);
        let begun = Instant::now();
        open(&gateway, count, false).await?;
        let (opened, peak, most) = (begun.elapsed(), gateway.census(), sessions(&gateway).await?);
        let (begun, mut left) = (Instant::now(), most);
        while left > before && begun.elapsed() < idle + SWEEP {
            sleep(Duration::from_millis(500)).await;
            left = sessions(&gateway).await?;
        }
        let (gone, idle) = (seconds(begun.elapsed()), seconds(idle));
        let (end, _) = gateway.slim_at(&base, SWEEP).await;
        report.figure(format!("{count} opened in {}, {most} at once, peak {peak}", seconds(opened)));
        report.figure(format!("{left} left after {gone} (idle time {idle}), end {end}"));
        report.demand(most > before, || format!("{most} sessions after {count} were opened: nothing counts"));
        report.demand(left <= before, || format!("{left} sessions are left, {before} were there before"));
        report.demand(end.is_back_at(&base), || "it does not come back to base".to_owned());
        report.demand(end.is_slim(&base), || format!("memory: base {} KiB, end {} KiB", base.rss, end.rss));
    }
    Ok(report)
}

/// A stream of one session, opened anew each time it is closed.
pub(crate) async fn reconnects(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let (mut report, mut times, mut taken) = (Report::default(), Vec::new(), 0);
    let gateway = Gateway::start(bench, folder, &config(folder, Duration::from_secs(600))).await?;
    let client = gateway.client(Speaks::legacy()).await?;
    for _ in 0..200 {
        reconnect(&client).await?;
    }
    let base = gateway.census();
    let count = bench.count(10_000, 200);
    for _ in 0..count {
        let begun = Instant::now();
        taken += reconnect(&client).await?;
        times.push(begun.elapsed());
    }
    let (end, back) = gateway.back_at(&base, Duration::from_secs(10)).await;
    let connections = gateway.metric("gateway_connections").await?;
    let connections = connections.ok_or_else(|| io::Error::other("no metric gateway_connections"))?;
    report.figure(format!(
        "{count} reconnects in {}, {taken} told that the stream is taken",
        spread(&mut times)
    ));
    report.figure(format!("base {base}, end {end}, {connections} connections"));
    report.demand(back.is_some(), || "it does not come back to base".to_owned());
    report.demand(end.is_slim(&base), || format!("memory: base {} KiB, end {} KiB", base.rss, end.rss));
    report.demand(connections <= 3.0, || format!("{connections} connections are open"));
    Ok(report)
}

/// Opens the stream and leaves it; how often it was refused, because the old one was not yet given up.
async fn reconnect(client: &HttpClient) -> io::Result<u32> {
    for refused in 0..200 {
        let stream = client.listen().await?;
        match stream.status {
            200 => return Ok(refused),
            409 => sleep(Duration::from_millis(5)).await,
            status => return Err(io::Error::other(format!("the stream was refused with {status}"))),
        }
    }
    Err(io::Error::other("the stream stays taken a second after its connection was closed"))
}

fn config(folder: &Folder, idle: Duration) -> String {
    let fakes = folder.fake("modern", "--era modern", "")
        + &folder.fake("shared", "--era legacy", "sharing = \"shared\"");
    format!("{fakes}{ROOM}session_idle = \"{}ms\"\n", idle.as_millis())
}

async fn sessions(gateway: &Gateway) -> io::Result<f64> {
    let found = gateway.metric("gateway_sessions").await?;
    found.ok_or_else(|| io::Error::other("no metric gateway_sessions"))
}

/// So many sessions with one call each, some at a time.
async fn open(gateway: &Gateway, count: u32, delete: bool) -> io::Result<()> {
    let opened = Arc::new(AtomicU32::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let (client, opened) = (HttpClient::new(gateway.url(), Speaks::legacy())?, Arc::clone(&opened));
        workers.spawn(async move {
            while let number = opened.fetch_add(1, Ordering::Relaxed)
                && number < count
            {
                client.shake_hands().await?;
                let tool = if number.is_multiple_of(2) { "modern__echo" } else { "shared__echo" };
                let outcome = ask(&client, tool, "{}").await;
                if outcome != Outcome::Done {
                    return Err(io::Error::other(format!("session {number}: {outcome:?}")));
                }
                if delete {
                    client.delete().await?;
                }
            }
            Ok(())
        });
    }
    workers.join_all().await.into_iter().collect()
}

const WORKERS: usize = 32;

/// How much later than at its idle time a session may be swept.
const SWEEP: Duration = Duration::from_secs(15);
