use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gateway_domain::{
    Caller, ClientCapabilities, DownstreamError, DownstreamName, DownstreamObserver, DownstreamSession, Era,
    Error, Event, EventSink, Exchange, ListKind, Outcome, Params, RawObject, SessionKey, SessionProfile,
};
use gateway_protocol::Implementation;
use gateway_testkit::stdio;
use gateway_transport_stdio::{StdioConfig, StdioFactory, StdioSession};

/// Longer than anything here takes on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Hears what the downstream says.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    pub(crate) changes: AtomicUsize,
    pub(crate) losses: Mutex<Vec<String>>,
}

impl DownstreamObserver for Ear {
    fn list_changed(&self, _: ListKind) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    fn session_lost(&self, reason: &str) {
        self.losses.lock().unwrap().push(reason.to_owned());
    }
}

/// Keeps the events of a call.
#[derive(Debug, Default)]
pub(crate) struct Events(pub(crate) Mutex<Vec<String>>);

impl EventSink for Events {
    fn emit(&self, event: Event) {
        let (Event::Progress(params) | Event::Log(params)) = event;
        self.0.lock().unwrap().push(params.as_str().to_owned());
    }
}

pub(crate) fn us() -> Implementation {
    Implementation::new("test", "Test", "1")
}

/// A fake with these switches, stages of the end of 300 ms and the settings that `change` makes.
pub(crate) fn config(switches: &str, change: impl FnOnce(&mut StdioConfig)) -> StdioConfig {
    let mut config = StdioConfig::new(stdio::command(switches.split_whitespace()), us());
    config.terminate = Duration::from_millis(300);
    change(&mut config);
    config
}

pub(crate) fn factory(config: StdioConfig) -> (StdioFactory, Arc<Ear>) {
    let ear = Arc::new(Ear::default());
    let name = DownstreamName::parse("fake").unwrap();
    (StdioFactory::new(name, config, Arc::clone(&ear) as Arc<dyn DownstreamObserver>).unwrap(), ear)
}

pub(crate) fn profile(era: Era) -> SessionProfile {
    SessionProfile { era, capabilities: ClientCapabilities::none(), ..SessionProfile::default() }
}

/// A session in this era with a fake with these switches.
pub(crate) async fn open(era: Era, switches: &str) -> StdioSession {
    factory(config(switches, |_| {})).0.open(&profile(era)).await.unwrap()
}

pub(crate) fn exchange(events: Option<Arc<Events>>) -> Exchange {
    let capabilities = ClientCapabilities::none();
    let session = SessionKey::Modern { caller: Caller::anonymous(), capabilities: capabilities.clone() };
    let mut exchange = Exchange::quiet(Era::Modern, session, capabilities);
    exchange.wants_progress = events.is_some();
    if let Some(events) = events {
        exchange.events = events;
    }
    exchange
}

pub(crate) fn params(arguments: &str) -> Params {
    let text = format!(r#"{{"name":"fake__x","arguments":{arguments}}}"#);
    Params { object: RawObject::parse(text).unwrap(), meta: None }
}

pub(crate) async fn call(session: &StdioSession, tool: &str, arguments: &str) -> Result<Outcome, Error> {
    session.call_tool(tool, &[], &params(arguments), &exchange(None)).await
}

/// The call's result; anything else fails the test.
pub(crate) async fn result(session: &StdioSession, tool: &str, arguments: &str) -> RawObject {
    complete(call(session, tool, arguments).await)
}

pub(crate) fn complete(outcome: Result<Outcome, Error>) -> RawObject {
    match outcome {
        Ok(Outcome::Complete(result)) => result,
        other => panic!("no result: {other:?}"),
    }
}

/// What the fake tells of itself.
pub(crate) async fn report(session: &StdioSession) -> RawObject {
    result(session, "report", "{}").await.get_object("structuredContent").unwrap()
}

/// The downstream's fault; anything else fails the test.
pub(crate) fn fault<T: std::fmt::Debug>(outcome: Result<T, Error>) -> DownstreamError {
    match outcome {
        Err(Error::Downstream(error)) => *error,
        other => panic!("no downstream error: {other:?}"),
    }
}

/// Running processes whose command line has this text; zombies have none.
pub(crate) fn processes(marker: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries
        .filter(|path| {
            std::fs::read(path.join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
        })
        .collect()
}

/// A text that no other process has on its command line.
pub(crate) fn marker(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let waited = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(SOON, waited).await.is_ok(), "it never came true that {what}");
}
