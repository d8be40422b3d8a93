//! Ten thousand reconnects of a change stream leave nothing behind. Alone in its process, whose memory is
//! measured.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has to stop")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use gateway_domain::{
    ClientCapabilities, DownstreamName, DownstreamObserver, Era, ListKind, Session, SessionProfile,
};
use gateway_protocol::Implementation;
use gateway_transport_http::{HttpConfig, HttpFactory};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// So many sessions, so that their rests pass side by side.
const SESSIONS: usize = 20;

/// What a server of short streams has seen of each session.
type Seen = [Streams; SESSIONS];

#[derive(Default)]
struct Streams {
    streams: AtomicUsize,
    /// Streams that are open, and the most there ever were.
    open: AtomicUsize,
    most: AtomicUsize,
    resumed: AtomicUsize,
}

/// A legacy server whose streams carry one event and end: most in order, every tenth with its connection.
async fn serve(listener: TcpListener, seen: Arc<Seen>) {
    let opened = Arc::<AtomicUsize>::default();
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(talk(stream, seen.clone(), opened.clone()));
    }
}

/// The session that a request names.
fn session(request: &str) -> usize {
    let (_, rest) = request.split_once("mcp-session-id: s-").unwrap();
    rest.split_once('\r').unwrap().0.parse().unwrap()
}

async fn talk(mut stream: TcpStream, seen: Arc<Seen>, opened: Arc<AtomicUsize>) {
    stream.set_nodelay(true).unwrap();
    let mut piece = [0; 8192];
    // Requests are short and come in one piece.
    while let Ok(count) = stream.read(&mut piece).await {
        let request = String::from_utf8_lossy(&piece[..count]).into_owned();
        let written = match request.split(' ').next() {
            Some("GET") => short_stream(&mut stream, &request, &seen[session(&request)]).await,
            Some("POST") if request.contains("\"initialize\"") => {
                let result =
                    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}}}"#;
                let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
                let number = opened.fetch_add(1, SeqCst);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s-{number}\r\n"
                );
                let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).await
            }
            Some("POST" | "DELETE") => {
                stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await
            }
            _ => return,
        };
        if written.is_err() {
            return;
        }
    }
}

async fn short_stream(stream: &mut TcpStream, request: &str, seen: &Streams) -> std::io::Result<()> {
    let number = seen.streams.fetch_add(1, SeqCst);
    seen.most.fetch_max(seen.open.fetch_add(1, SeqCst) + 1, SeqCst);
    if request.contains(&format!("last-event-id: e-{}\r\n", number.wrapping_sub(1))) {
        seen.resumed.fetch_add(1, SeqCst);
    }
    let event = format!("id: e-{number}\nretry: 1\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\n\n");
    let length = event.len();
    let begun = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{event}\r\n"
    );
    let written = stream.write_all(begun.as_bytes()).await;
    seen.open.fetch_sub(1, SeqCst);
    written?;
    if number % 10 == 9 {
        return Err(std::io::ErrorKind::ConnectionReset.into());
    }
    stream.write_all(b"0\r\n\r\n").await
}

#[derive(Default)]
struct Observer(AtomicUsize);

impl DownstreamObserver for Observer {
    fn list_changed(&self, _: ListKind) {
        self.0.fetch_add(1, SeqCst);
    }
    fn session_lost(&self, reason: &str) {
        panic!("lost: {reason}");
    }
}

fn sum(seen: &Seen, of: fn(&Streams) -> &AtomicUsize) -> usize {
    seen.iter().map(|session| of(session).load(SeqCst)).sum()
}

async fn reach(seen: &Seen, streams: usize) {
    let waiting = async {
        while sum(seen, |session| &session.streams) < streams {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), waiting).await.unwrap();
}

/// Memory in KiB, open files, and tasks.
fn holds() -> (usize, usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let memory = memory.trim().trim_end_matches(" kB").parse().unwrap();
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    (memory, files, tokio::runtime::Handle::current().metrics().num_alive_tasks())
}

#[tokio::test]
async fn ten_thousand_reconnects_leave_nothing_behind() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let seen = Arc::<Seen>::default();
    tokio::spawn(serve(listener, seen.clone()));
    let mut config = HttpConfig::new(url, Implementation::new("test", "Test", "1"));
    config.max_reconnect_delay = Duration::ZERO;
    let observer = Arc::<Observer>::default();
    let factory = HttpFactory::new(DownstreamName::parse("fake").unwrap(), config, observer.clone()).unwrap();
    let profile = SessionProfile {
        era: Era::Legacy,
        capabilities: ClientCapabilities::none(),
        ..SessionProfile::default()
    };
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(factory.open(&profile).await.unwrap());
    }

    reach(&seen, 1000).await;
    let (memory, files, tasks) = holds();
    reach(&seen, 11_000).await;
    let (memory_after, files_after, tasks_after) = holds();
    assert!(memory_after < memory + 2048, "from {memory} to {memory_after} KiB");
    // Connections that have ended a moment ago may still be counted, on both sides.
    assert!(files_after <= files + 2 * SESSIONS, "from {files} to {files_after} files");
    assert!(tasks_after <= tasks + 2 * SESSIONS, "from {tasks} to {tasks_after} tasks");
    let resumed = sum(&seen, |session| &session.resumed);
    assert!(resumed >= 11_000 - SESSIONS, "each behind the last event of the one before: {resumed}");
    assert!(observer.0.load(SeqCst) >= 11_000 - 2 * SESSIONS);
    assert!(seen.iter().all(|session| session.most.load(SeqCst) == 1), "one stream of a session at a time");
    assert!(sessions.iter().all(|session| session.is_open()));
    println!("{memory} KiB, then {memory_after} KiB; {files} files, then {files_after}");

    for session in &sessions {
        session.close().await;
    }
    let streams = sum(&seen, |session| &session.streams);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(sum(&seen, |session| &session.streams), streams, "nobody listens any more");
}
