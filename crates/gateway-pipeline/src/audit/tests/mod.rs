mod calls;
mod files;
mod log;
mod overload;

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{CallerError, Error, Outcome, RawObject};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::*;
use crate::testing::object;

const MILLI: Duration = Duration::from_millis(1);

/// A sink that keeps what it is given and does as it is told.
#[derive(Debug, Clone)]
struct Memory {
    state: Arc<Mutex<State>>,
    is_wedged: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    text: String,
    /// When something was written, and how many lines.
    writes: Vec<(Instant, usize)>,
    syncs: Vec<Instant>,
    reopened: usize,
    /// How often writing fails from now on.
    failures: usize,
    /// How many bytes are taken before it fails.
    takes: usize,
    sync_fails: bool,
    /// How long a write takes.
    delay: Duration,
}

impl Memory {
    fn new() -> Self {
        Self { state: Arc::default(), is_wedged: watch::Sender::new(false) }
    }

    fn wedge(&self, is_wedged: bool) {
        self.is_wedged.send_replace(is_wedged);
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap())
    }

    fn records(&self) -> Vec<RawObject> {
        self.with(|state| state.text.lines().map(object).collect())
    }

    fn text(&self, member: &str) -> Vec<String> {
        let shown =
            |record: &RawObject| record.get(member).map_or_else(|| "-".to_owned(), |value| value.to_string());
        self.records().iter().map(shown).collect()
    }
}

#[async_trait]
impl Sink for Memory {
    async fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.is_wedged.subscribe().wait_for(|is_wedged| !is_wedged).await.unwrap();
        sleep(self.with(|state| state.delay)).await;
        self.with(|state| {
            let fails = state.failures > 0;
            let take = if fails { state.takes.min(lines.len()) } else { lines.len() };
            let taken = String::from_utf8(lines.drain(..take).collect()).unwrap();
            state.writes.push((Instant::now(), taken.lines().count()));
            state.text.push_str(&taken);
            state.failures = state.failures.saturating_sub(1);
            if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        })
    }

    async fn sync(&mut self) -> io::Result<()> {
        self.with(|state| {
            state.syncs.push(Instant::now());
            if state.sync_fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        })
    }

    async fn reopen(&mut self) -> io::Result<()> {
        self.with(|state| state.reopened += 1);
        Ok(())
    }
}

fn started(config: &AuditConfig) -> (AuditLog, Memory) {
    let memory = Memory::new();
    (AuditLog::start(config, vec![Box::new(memory.clone())]), memory)
}

/// Room for this many records of success and this many others.
fn room(ordinary: usize, reserve: usize) -> AuditConfig {
    let queue = ordinary + reserve;
    // Half a record more, for what is lost in dividing.
    let high_water = (ordinary as f64 + 0.5) / queue as f64;
    AuditConfig { queue, high_water, ..AuditConfig::default() }
}

fn unrecorded(executed: bool) -> Error {
    CallerError::Unrecorded { executed }.into()
}

fn unknown(name: &str) -> Error {
    CallerError::UnknownTool { name: name.to_owned() }.into()
}

fn counts(log: &AuditLog) -> [u64; 4] {
    let AuditCounts { written, shed, unrecordable, sink_errors } = log.counts();
    [written, shed, unrecordable, sink_errors]
}

#[track_caller]
fn error(result: Result<Outcome, Error>) -> Error {
    result.map(|outcome| panic!("{outcome:?}")).unwrap_err()
}
