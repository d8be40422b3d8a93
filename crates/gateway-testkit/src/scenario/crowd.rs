//! Eight servers with grandchildren and two hundred callers of both eras.

use std::{io, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::{
    caller::{Load, Outcome, ask},
    folder::Folder,
    gateway::{Gateway, ROOM},
    process::until,
};
use crate::{
    client::{Speaks, StdioClient},
    stdio,
};

/// One kind of server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    era: &'static str,
    /// Whether each legacy client has a process of its own.
    pub(crate) per_client: bool,
}

const fn server(name: &'static str, era: &'static str, per_client: bool) -> Server {
    Server { name, era, per_client }
}

pub(crate) const SERVERS: [Server; 8] = [
    server("modern1", "modern", false),
    server("modern2", "modern", false),
    server("modern3", "modern", false),
    server("dual", "dual", false),
    server("shared1", "legacy", false),
    server("shared2", "legacy", false),
    server("own1", "legacy", true),
    server("own2", "legacy", true),
];

pub(crate) fn config(folder: &Folder) -> String {
    let servers = SERVERS.iter().map(|server| {
        let Server { name, era, per_client } = server;
        let grandchildren = "--grandchild --grandchild-session";
        let sharing = if *per_client { "per_client" } else { "shared" };
        let keys = format!("sharing = \"{sharing}\"\ncall_timeout = \"20s\"\npool = {{ idle_ttl = \"3s\" }}");
        folder.fake(name, &format!("--era {era} --start-delay {START_DELAY} {grandchildren}"), &keys)
    });
    format!("{}{ROOM}session_idle = \"5s\"\n", servers.collect::<String>())
}

/// Waits until each server has answered a call; fails after 30 s.
pub(crate) async fn warm(gateway: &Gateway) -> io::Result<()> {
    let client = gateway.client(Speaks::modern()).await?;
    for server in &SERVERS {
        let begun = Instant::now();
        let tool = format!("{}__echo", server.name);
        let mut outcome = ask(&client, &tool, "{}").await;
        while outcome != Outcome::Done {
            if begun.elapsed() > Duration::from_secs(30) {
                return Err(io::Error::other(format!("{} is not up: {outcome:?}", server.name)));
            }
            sleep(Duration::from_millis(100)).await;
            outcome = ask(&client, &tool, "{}").await;
        }
    }
    Ok(())
}

/// Eight legacy sessions and eight modern clients for all callers.
pub(crate) async fn load(gateway: &Gateway) -> io::Result<Load> {
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(Arc::new(gateway.client(Speaks::legacy()).await?));
        clients.push(Arc::new(gateway.client(Speaks::modern()).await?));
    }
    let targets = SERVERS.iter().map(|server| server.name.to_owned()).collect();
    Ok(Load { clients, targets, callers: 200, pace: Duration::from_millis(250), faithful: false })
}

/// From the start of a server to its first answer, without a gateway; the worst of some.
pub(crate) async fn start_time() -> io::Result<Duration> {
    let argv = stdio::command(["--start-delay", START_DELAY, "--lifetime", "20000"]);
    let mut worst = Duration::ZERO;
    for _ in 0..5 {
        let begun = Instant::now();
        let client = StdioClient::start(&argv, Speaks::legacy()).await?;
        client.call("1", "echo", "{}").await?;
        worst = worst.max(begun.elapsed());
    }
    Ok(worst)
}

/// How long the gateway takes to have no more processes than it rests with, at most 20 s.
pub(crate) async fn settle(gateway: &Gateway) {
    let mut last = (gateway.census().marked, Instant::now());
    until(Duration::from_secs(20), || {
        let marked = gateway.census().marked;
        if marked != last.0 {
            last = (marked, Instant::now());
        }
        last.1.elapsed() > Duration::from_secs(5)
    })
    .await;
}

const START_DELAY: &str = "100";
