//! Legacy sessions and their streams in numbers.

use std::time::Duration;

use gateway_domain::SessionKey;
use gateway_testkit::client::{HttpClient, Speaks};
use tokio::{runtime::Handle, time::Instant};

use crate::support::{QUIET, Served, start, until};

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Lets an hour or so pass for timers, not for sockets.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// What `/metrics` says of one gauge.
async fn gauge(server: &Served, name: &str) -> u64 {
    let admin = server.admin.unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    let scraped = crate::support::raw(admin, &request).await.body;
    let line = scraped.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {scraped}"))
}

/// Opens a session over the client's connection and gives its id.
async fn open(client: &HttpClient) -> String {
    client.shake_hands().await.unwrap();
    client.session().unwrap()
}

#[tokio::test]
async fn ten_thousand_sessions_that_nobody_ends_are_ended_and_one_more_takes_the_place_of_the_oldest() {
    const SESSIONS: usize = 10_000;
    let server = start(|config| config.admin_listen = Some("127.0.0.1:0".parse().unwrap())).await;
    let client = HttpClient::new(&server.url(), Speaks::legacy()).unwrap();
    let ended = || server.world.ended.lock().unwrap().clone();
    let first = open(&client).await;
    let second = open(&client).await;
    let base = tasks();
    for _ in 2..SESSIONS {
        open(&client).await;
    }
    assert_eq!(gauge(&server, "gateway_sessions").await, SESSIONS as u64);
    assert_eq!(ended(), [], "there is room for so many");

    // The first has been used since; the second has been idle for longest.
    client.use_session(Some(&first));
    assert_eq!(client.call("1", "files__echo", "{}").await.unwrap().status, 200);
    let last = open(&client).await;
    let key = |id: &str| SessionKey::Legacy { id: id.into() };
    until(|| ended() == [key(&second)]).await;
    for (id, status) in [(&first, 200), (&second, 404), (&last, 200)] {
        client.use_session(Some(id));
        assert_eq!(client.call("1", "files__echo", "{}").await.unwrap().status, status);
    }
    assert_eq!(gauge(&server, "gateway_sessions").await, SESSIONS as u64);

    // All are forgotten within the time to be idle and a thirtieth of it.
    pass(Duration::from_secs(31 * 60)).await;
    let waiting = async {
        while server.world.ended.lock().unwrap().len() <= SESSIONS {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap();
    let mut keys: Vec<_> = ended().into_iter().map(|key| format!("{key:?}")).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), SESSIONS + 1, "each has been ended downstream, and once");
    assert_eq!(gauge(&server, "gateway_sessions").await, 0);
    until(|| tasks() <= base + 2).await;
}

#[tokio::test]
async fn ten_thousand_streams_of_one_session_leave_nothing_behind() {
    const STREAMS: usize = 10_000;
    let server = start(|config| config.admin_listen = Some("127.0.0.1:0".parse().unwrap())).await;
    let client = HttpClient::new(&server.url(), Speaks::legacy()).unwrap();
    let id = open(&client).await;
    // No connection is left, so whatever is more is left behind.
    client.close_idle();
    tokio::time::sleep(QUIET).await;
    let base = tasks();
    let begun = Instant::now();
    for stream in 0..STREAMS {
        // The server has to see the end of the one before.
        loop {
            let answer = client.listen().await.unwrap();
            if answer.status == 200 {
                break;
            }
            assert_eq!(answer.status, 409, "one at a time");
            tokio::task::yield_now().await;
            assert!(begun.elapsed() < Duration::from_secs(300), "{stream} streams were opened");
        }
    }
    until(|| tasks() <= base).await;
    assert_eq!(gauge(&server, "gateway_sessions").await, 1);
    assert_eq!(server.world.ended.lock().unwrap().len(), 0);
    assert_eq!(client.session().unwrap(), id);

    // It still hears, and is idle once it does not.
    let mut stream = loop {
        let answer = client.listen().await.unwrap();
        if answer.status == 200 {
            break answer;
        }
        tokio::task::yield_now().await;
    };
    server.world.change();
    assert!(stream.next().await.unwrap().unwrap().contains("list_changed"));
    drop(stream);
    until(|| tasks() <= base).await;
    pass(Duration::from_secs(31 * 60)).await;
    until(|| server.world.ended.lock().unwrap().len() == 1).await;
    assert_eq!(client.call("1", "files__echo", "{}").await.unwrap().status, 404);
}
