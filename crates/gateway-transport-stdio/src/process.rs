//! A running process with its tasks, and how it ends.

use std::{sync::Arc, time::Duration};

use gateway_domain::{DownstreamFault, DownstreamName, DownstreamObserver};
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use crate::{
    StdioConfig,
    group::{Exit, Group},
    launch,
    link::Link,
    reader::{Reader, Silence},
    stderr::{self, Rate, Tail},
    text::Censor,
    writer,
};

/// A process that is supervised. Dropping it ends the process group in the background.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) link: Arc<Link>,
    pub(crate) tail: Arc<Tail>,
    pub(crate) censor: Arc<Censor>,
    pid: u32,
    stop: watch::Sender<Stop>,
    ended: watch::Receiver<bool>,
}

/// How soon a process is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Run,
    /// All stages of the ladder, beginning with the end of stdin.
    InOrder,
    /// SIGTERM at once: there is no session that could end in order.
    Now,
}

impl Process {
    /// Starts the process and its tasks; `alive` is held until its group is gone. The error is for the
    /// operator.
    ///
    /// Cancel-safe: nothing is left then.
    pub(crate) async fn start(
        name: &DownstreamName,
        config: &StdioConfig,
        observer: &Arc<dyn DownstreamObserver>,
        alive: watch::Receiver<()>,
    ) -> Result<Self, String> {
        let launched = launch::launch(config, alive).await?;
        let (link, outgoing) = Link::new(name.clone(), config);
        let censor = Arc::new(Censor::new(config));
        let tail = Tail::new(config, Arc::clone(&censor));
        let (stop, stopping) = watch::channel(Stop::Run);
        let (ending, ended) = watch::channel(false);
        let pid = launched.group.pid();
        let reader = Reader::new(Arc::clone(&link), config, Arc::clone(&censor), Arc::clone(observer));
        let rate = Rate::new(config);
        let supervisor = Supervisor {
            group: launched.group,
            link: Arc::clone(&link),
            tail: Arc::clone(&tail),
            observer: Arc::clone(observer),
            reader: tokio::spawn(reader.run(launched.stdout)),
            stderr: tokio::spawn(stderr::drain(launched.stderr, Arc::clone(&tail), name.clone(), rate)),
            writer: tokio::spawn(writer::write(Arc::clone(&link), outgoing, launched.stdin)),
            stage: config.stage(),
            stopping,
        };
        tokio::spawn(async move {
            supervisor.run().await;
            ending.send_replace(true);
        });
        tracing::debug!(downstream = %name, pid, "started a process");
        Ok(Self { link, tail, censor, pid, stop, ended })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Ends the process in order and waits until its group is gone. Idempotent; dropping the future does
    /// not stop the end.
    pub(crate) async fn close(&self) {
        self.end(Stop::InOrder).await;
    }

    /// The same without waiting for the process to end by itself.
    pub(crate) async fn abandon(&self) {
        self.end(Stop::Now).await;
    }

    async fn end(&self, how: Stop) {
        self.ask(how);
        // An error means that the runtime took the supervisor away, and the group with it.
        drop(self.ended.clone().wait_for(|ended| *ended).await);
    }

    fn ask(&self, how: Stop) {
        self.link.close(DownstreamFault::Closed);
        self.stop.send_if_modified(|stop| {
            let sooner = how > *stop;
            *stop = how.max(*stop);
            sooner
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.ask(if self.link.has_session() { Stop::InOrder } else { Stop::Now });
    }
}

/// Why the end has come.
enum Cause {
    Asked(Stop),
    Exit(Exit),
    Reader(Silence),
    Writer,
}

struct Supervisor {
    group: Group,
    link: Arc<Link>,
    tail: Arc<Tail>,
    observer: Arc<dyn DownstreamObserver>,
    reader: JoinHandle<Silence>,
    stderr: JoinHandle<std::io::Result<()>>,
    writer: JoinHandle<std::io::Error>,
    stage: Duration,
    stopping: watch::Receiver<Stop>,
}

impl Supervisor {
    async fn run(mut self) {
        match self.cause().await {
            Cause::Asked(how) => {
                self.descend(how).await;
                self.link.fail(DownstreamFault::Closed);
            }
            Cause::Exit(exit) => {
                self.refuse_more(&exit.to_string());
                // Who is left has its pipes, and would keep the end of its stdout from being seen.
                self.group.terminate();
                self.lost(exit.to_string()).await;
            }
            Cause::Reader(Silence::Noise(lines)) => {
                self.lost(format!("{lines} lines in a row on its stdout are no messages")).await;
            }
            Cause::Reader(Silence::Error(error)) => self.lost(format!("its stdout: {error}")).await,
            Cause::Reader(Silence::End) => self.hung_up("it closed its stdout").await,
            Cause::Writer => self.hung_up("it closed its stdin").await,
        }
        self.reader.abort();
        self.stderr.abort();
        self.writer.abort();
        self.group.end().await;
    }

    async fn cause(&mut self) -> Cause {
        tokio::select! {
            exit = self.group.exited() => Cause::Exit(exit),
            // A task that panicked is as good as a stream that ended.
            silence = &mut self.reader => Cause::Reader(silence.unwrap_or(Silence::End)),
            _ = &mut self.writer => Cause::Writer,
            stop = stopped(&mut self.stopping) => Cause::Asked(stop),
        }
    }

    /// A closed pipe is mostly the first that is seen of an exit.
    async fn hung_up(&mut self, what: &str) {
        self.refuse_more(what);
        let reason = match timeout(SETTLE, self.group.exited()).await {
            Ok(exit) => exit.to_string(),
            Err(_) => what.to_owned(),
        };
        self.lost(reason).await;
    }

    /// A session that has ended takes no more requests, which can then go to another session at once. During
    /// an opening the next request is let in: it fails with the last words of the process.
    fn refuse_more(&self, reason: &str) {
        if self.link.has_session() {
            self.link.close(DownstreamFault::Ended { reason: reason.to_owned() });
        }
    }

    /// The end that nobody asked for: what was answered before is delivered, the rest fails.
    async fn lost(&mut self, reason: String) {
        drop(timeout(SETTLE, self.streams_end()).await);
        let reason = match self.tail.last_line() {
            Some(line) => format!("{reason}; last line on stderr: {line}"),
            None => reason,
        };
        if self.link.fail(DownstreamFault::Ended { reason: reason.clone() }) {
            tracing::warn!(downstream = %self.link.name, "a session is lost: {reason}");
            self.observer.session_lost(&reason);
        }
        self.descend(Stop::InOrder).await;
    }

    /// The ladder: end of stdin, SIGTERM to all, each with its time; SIGKILL follows in any case.
    async fn descend(&mut self, how: Stop) {
        self.writer.abort();
        if how == Stop::InOrder {
            let stopping = &mut self.stopping;
            tokio::select! {
                _ = timeout(self.stage, self.group.exited()) => {}
                () = hurried(stopping) => {}
            }
        }
        self.group.terminate();
        // The leader may be gone while others still have its pipes and tidy up.
        drop(
            timeout(self.stage, async {
                self.group.terminated().await;
                streams_end(&mut self.reader, &mut self.stderr).await;
            })
            .await,
        );
    }

    async fn streams_end(&mut self) {
        streams_end(&mut self.reader, &mut self.stderr).await;
    }
}

async fn streams_end(reader: &mut JoinHandle<Silence>, stderr: &mut JoinHandle<std::io::Result<()>>) {
    // A handle must not be asked again once it has answered.
    if !reader.is_finished() {
        drop(reader.await);
    }
    if !stderr.is_finished() {
        drop(stderr.await);
    }
}

async fn stopped(stopping: &mut watch::Receiver<Stop>) -> Stop {
    // The sender tells before it goes.
    stopping.wait_for(|stop| *stop != Stop::Run).await.map_or(Stop::InOrder, |stop| *stop)
}

async fn hurried(stopping: &mut watch::Receiver<Stop>) {
    if stopping.wait_for(|stop| *stop == Stop::Now).await.is_err() {
        std::future::pending().await
    }
}

/// How long the news of an exit and the last words of the process may take to arrive.
const SETTLE: Duration = Duration::from_millis(250);
