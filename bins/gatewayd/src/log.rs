//! The log: lines on stderr that never hold up what is logged about.
//!
//! Whoever started the gateway may not read its stderr. A full pipe then blocks one thread, which does
//! nothing else; lines that find its queue full are counted and, once there is room, reported.

use std::{
    io::{self, IsTerminal as _, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::config::{Log, LogFormat};

/// How many lines may wait.
const WAITING: usize = 4096;
/// How long the last lines are waited for at the end.
const FLUSH: Duration = Duration::from_millis(500);

/// Begins to log; `RUST_LOG` comes before the configured level. Dropping the guard writes what waits.
pub(crate) fn start(log: &Log) -> Guard {
    let configured = || EnvFilter::new(&log.level);
    let filter = match std::env::var("RUST_LOG") {
        Ok(wanted) if !wanted.is_empty() => EnvFilter::builder().parse(&wanted).unwrap_or_else(|error| {
            crate::command::say(format_args!("note: RUST_LOG is ignored: {error}"));
            configured()
        }),
        _ => configured(),
    };
    let (lines, guard) = writer(io::stderr());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines);
    match log.format {
        LogFormat::Json => builder.with_ansi(false).json().init(),
        LogFormat::Text => builder.with_target(false).with_ansi(io::stderr().is_terminal()).init(),
    }
    guard
}

fn writer(output: impl Write + Send + 'static) -> (Lines, Guard) {
    let (sender, receiver) = sync_channel(WAITING);
    let lost = Arc::new(AtomicU64::new(0));
    let counter = lost.clone();
    let thread =
        std::thread::Builder::new().name("log".to_owned()).spawn(move || write(output, &receiver, &counter));
    // Without a thread there is no log, which is better than no gateway.
    (Lines { sender: sender.clone(), lost }, Guard { sender, thread: thread.ok() })
}

enum Entry {
    Line(Vec<u8>),
    /// Everything before has been written.
    End(SyncSender<()>),
}

fn write(mut output: impl Write, entries: &Receiver<Entry>, lost: &AtomicU64) {
    for entry in entries {
        match entry {
            Entry::Line(line) => {
                // There is nowhere to report that the log cannot be written.
                drop(output.write_all(&line));
                let missing = lost.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    drop(writeln!(output, "{missing} lines of the log were dropped: stderr was not read"));
                }
            }
            Entry::End(done) => {
                drop(output.flush());
                let _ = done.try_send(());
                return;
            }
        }
    }
}

/// Takes one line at a time.
#[derive(Clone)]
struct Lines {
    sender: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(Entry::Line(line.to_vec())) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Writes what waits when dropped, for a bounded time.
pub(crate) struct Guard {
    sender: SyncSender<Entry>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let (done, written) = sync_channel(1);
        if self.thread.take().is_some() && self.sender.try_send(Entry::End(done)).is_ok() {
            // If stderr is stuck its thread ends with the process.
            let _ = written.recv_timeout(FLUSH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes on what is written; stuck until somebody takes it.
    struct Stuck(SyncSender<Vec<u8>>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let sent = self.0.send(bytes.to_vec());
            sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stuck_reader_holds_up_nobody_and_what_is_lost_is_counted() {
        let (pipe, reader) = sync_channel(0);
        let (mut lines, _guard) = writer(Stuck(pipe));
        for n in 0..WAITING + 100 {
            writeln!(lines, "line {n}").unwrap();
        }
        let first = String::from_utf8(reader.recv().unwrap()).unwrap();
        assert!(first.starts_with("line "), "{first}");
        let reported = reader.iter().any(|bytes| String::from_utf8_lossy(&bytes).contains("dropped"));
        assert!(reported);
    }

    #[test]
    fn what_waits_is_written_before_the_end() {
        let (pipe, reader) = sync_channel(WAITING);
        let (mut lines, guard) = writer(Stuck(pipe));
        lines.write_all(b"last words").unwrap();
        drop(guard);
        assert_eq!(reader.try_recv().unwrap(), b"last words");
    }
}
