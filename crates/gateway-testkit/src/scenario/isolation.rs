//! A counter whose state belongs to a session or a process.

use std::{collections::BTreeSet, fmt::Write as _, io};

use super::{Bench, folder::Folder, gateway::Gateway, report::Report};
use crate::{
    Era, Profile,
    client::{HttpClient, Speaks},
    http::HttpFake,
    message::members,
};

pub(crate) async fn run(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let mut report = Report::default();
    let legacy = || HttpFake::start(Profile { era: Era::Legacy, ..Profile::default() });
    for clients in [2, 32] {
        let (own, shared) = (legacy(), legacy());
        let config = config(folder, &own.url(), &shared.url());
        let gateway = Gateway::start(bench, folder, &config).await?;
        for era in ["legacy", "modern"] {
            let clients = connect(&gateway, clients, era).await?;
            for name in ["own", "ownurl"] {
                apart(&mut report, name, era, &clients).await?;
            }
            for name in ["shared", "sharedurl"] {
                together(&mut report, name, era, &clients).await?;
            }
        }
    }
    report.figure(format!("2 and 32 clients, {CALLS} calls each, both eras, stdio and HTTP"));
    Ok(report)
}

/// A client is known by its key, so that modern ones can be told apart as well.
fn config(folder: &Folder, own: &str, shared: &str) -> String {
    let pool = "pool = { max = 80 }\n";
    let mut text = folder.fake("own", "--era legacy", &format!("sharing = \"per_client\"\n{pool}"));
    text += &folder.fake("shared", "--era legacy", "sharing = \"shared\"\n");
    // Writing to a String does not fail.
    let _ = write!(text, "[downstreams.ownurl]\nurl = {own:?}\nsharing = \"per_client\"\n{pool}");
    let _ = write!(text, "[downstreams.sharedurl]\nurl = {shared:?}\nsharing = \"shared\"\n");
    for number in 0..32 {
        let _ = write!(text, "[clients.client{number}]\nkey = \"{}\"\nallow = [\"*\"]\n", key(number));
    }
    text
}

fn key(number: usize) -> String {
    format!("key-of-client-number-{number:02}")
}

async fn connect(gateway: &Gateway, count: usize, era: &str) -> io::Result<Vec<HttpClient>> {
    let speaks = if era == "legacy" { Speaks::legacy() } else { Speaks::modern() };
    let mut clients = Vec::new();
    for number in 0..count {
        let client = HttpClient::new(gateway.url(), speaks.clone())?;
        let client = client.with_header("authorization", &format!("Bearer {}", key(number)));
        client.shake_hands().await?;
        clients.push(client);
    }
    Ok(clients)
}

/// Each client counts alone, although all count in turn.
async fn apart(report: &mut Report, name: &str, era: &str, clients: &[HttpClient]) -> io::Result<()> {
    for call in 1..=CALLS {
        for (number, client) in clients.iter().enumerate() {
            let count = count(client, name).await?;
            report.demand(count == Ok(call), || {
                format!("{name}: {era} client {number} of {} got {count:?} for {call}", clients.len())
            });
        }
    }
    Ok(())
}

/// All count together: no number is missing and none comes twice, after what others have counted before.
async fn together(report: &mut Report, name: &str, era: &str, clients: &[HttpClient]) -> io::Result<()> {
    let mut seen = BTreeSet::new();
    for _ in 0..CALLS {
        for client in clients {
            match count(client, name).await? {
                Ok(count) => report.demand(seen.insert(count), || format!("{name}: {count} came twice")),
                Err(text) => report.demand(false, || format!("{name}, {era}: {text}")),
            }
        }
    }
    let total = CALLS * clients.len() as u64;
    let span = seen.last().zip(seen.first()).map_or(0, |(last, first)| last - first + 1);
    report.demand(span == total, || format!("{name}: {total} calls of {era} clients counted {seen:?}"));
    Ok(())
}

async fn count(client: &HttpClient, name: &str) -> io::Result<Result<u64, String>> {
    let answer = client.call(&client.next_id(), &format!("{name}__counter"), "{}").await?;
    let count = answer
        .result_member("structuredContent")
        .and_then(|content| members(&content)?.get("count")?.get().parse().ok());
    Ok(count.ok_or(answer.text))
}

const CALLS: u64 = 4;
