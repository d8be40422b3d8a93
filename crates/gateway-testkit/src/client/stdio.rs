//! The client over the stdin and stdout of a child.

use std::{
    collections::HashMap,
    io,
    process::{ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    sync::{Notify, oneshot},
};

use super::{Answer, Speaks, closed, initialize_params, request_text};
use crate::{engine::locked, message::Message};

/// A client of a process it started. Dropping it kills the process.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use gateway_testkit::{client::{Speaks, StdioClient}, stdio};
/// let client = StdioClient::start(&stdio::command(["--shuffle"]), Speaks::modern()).await?;
/// let answer = client.call("\"\"", "echo", r#"{"n":1.0}"#).await?;
/// assert_eq!(answer.id().as_deref(), Some("\"\""));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StdioClient {
    child: tokio::sync::Mutex<Child>,
    stdin: tokio::sync::Mutex<Option<ChildStdin>>,
    pid: u32,
    speaks: Speaks,
    ids: AtomicU64,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<HashMap<String, (usize, oneshot::Sender<Answer>)>>,
    /// Everything that is not an answer somebody waits for, in order.
    others: Mutex<Vec<String>>,
    stderr: Mutex<String>,
    news: Notify,
}

impl StdioClient {
    /// Starts the process with the environment of this one and, in the legacy era, shakes hands.
    pub async fn start(argv: &[String], speaks: Speaks) -> io::Result<Self> {
        let (program, args) = argv.split_first().ok_or_else(|| closed("an argv needs a program"))?;
        let mut command = Command::new(program);
        command.args(args);
        Self::spawn(command, speaks).await
    }

    /// As [`start`](Self::start), for a command with an environment, folder or group of its own.
    pub async fn spawn(mut command: Command, speaks: Speaks) -> io::Result<Self> {
        let client = Self::spawn_silently(&mut command, speaks)?;
        if let Speaks::Legacy(revision) = &client.speaks {
            client.raw_request("\"init\"", "initialize", &initialize_params(revision, "{}")).await?;
            client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        }
        Ok(client)
    }

    /// Starts the process and sends nothing.
    pub fn spawn_silently(command: &mut Command, speaks: Speaks) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let shared = Arc::new(Shared::default());
        let stdout = child.stdout.take().ok_or_else(|| closed("no stdout"))?;
        let stderr = child.stderr.take().ok_or_else(|| closed("no stderr"))?;
        tokio::spawn(read_answers(stdout, Arc::clone(&shared)));
        tokio::spawn(read_stderr(stderr, Arc::clone(&shared)));
        Ok(Self {
            pid: child.id().unwrap_or_default(),
            stdin: tokio::sync::Mutex::new(child.stdin.take()),
            child: tokio::sync::Mutex::new(child),
            speaks,
            ids: AtomicU64::new(1),
            shared,
        })
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Writes one line as it is.
    pub async fn send(&self, line: &str) -> io::Result<()> {
        let mut guard = self.stdin.lock().await;
        let stdin = guard.as_mut().ok_or_else(|| closed("stdin is closed"))?;
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
        stdin.flush().await
    }

    /// Sends a request with this raw id (`1`, `"1"`, `""`) and waits for its answer. `params` is a raw object;
    /// the modern envelope is added. Fails if stdout ends first; never times out by itself. Dropping it forgets
    /// the request.
    pub async fn request(&self, id: &str, method: &str, params: &str) -> io::Result<Answer> {
        self.raw_request(id, method, &self.speaks.params(params)).await
    }

    /// `tools/call` with raw arguments.
    pub async fn call(&self, id: &str, tool: &str, arguments: &str) -> io::Result<Answer> {
        self.request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)).await
    }

    /// An id not used before by [`next_id`](Self::next_id), as raw text.
    pub fn next_id(&self) -> String {
        self.ids.fetch_add(1, Ordering::Relaxed).to_string()
    }

    async fn raw_request(&self, id: &str, method: &str, params: &str) -> io::Result<Answer> {
        let (tx, rx) = oneshot::channel();
        let seen = locked(&self.shared.others).len();
        locked(&self.shared.waiting).insert(id.to_owned(), (seen, tx));
        self.send(&request_text(id, method, params)).await?;
        rx.await.map_err(|_| closed("stdout ended before the answer"))
    }

    /// Everything so far that was no awaited answer: notifications, server requests, noise, answers to ids that
    /// nobody (or nobody any more) waits for.
    pub fn others(&self) -> Vec<String> {
        locked(&self.shared.others).clone()
    }

    /// Waits until one of [`others`](Self::others) holds `text`, and returns it.
    pub async fn wait_for(&self, text: &str, at_most: Duration) -> io::Result<String> {
        self.seen(text, at_most, || self.others()).await
    }

    /// Waits until a line of [`stderr`](Self::stderr) holds `text`, and returns it.
    pub async fn wait_for_stderr(&self, text: &str, at_most: Duration) -> io::Result<String> {
        self.seen(text, at_most, || self.stderr().lines().map(str::to_owned).collect()).await
    }

    async fn seen(
        &self,
        text: &str,
        at_most: Duration,
        lines: impl Fn() -> Vec<String>,
    ) -> io::Result<String> {
        let look = async {
            loop {
                let mut news = std::pin::pin!(self.shared.news.notified());
                // Counts from here on: what comes while we look wakes us.
                news.as_mut().enable();
                if let Some(line) = lines().into_iter().find(|line| line.contains(text)) {
                    return line;
                }
                news.await;
            }
        };
        tokio::time::timeout(at_most, look).await.map_err(|_| closed(&format!("{text} never came")))
    }

    /// What the child wrote to stderr so far, at most the first MiB.
    pub fn stderr(&self) -> String {
        locked(&self.shared.stderr).clone()
    }

    /// Closes the child's stdin.
    pub async fn close_stdin(&self) {
        drop(self.stdin.lock().await.take());
    }

    /// Waits for the child to end.
    pub async fn exited(&self, at_most: Duration) -> io::Result<ExitStatus> {
        let mut child = self.child.lock().await;
        tokio::time::timeout(at_most, child.wait()).await.map_err(|_| closed("the child lives on"))?
    }
}

async fn read_answers(stdout: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut lines = BufReader::new(stdout).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let text = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
        let waiting = Message::parse(&text)
            .filter(|m| m.method.is_none())
            .and_then(|m| locked(&shared.waiting).remove(&m.id?));
        match waiting {
            Some((seen, sender)) => {
                let before = locked(&shared.others)[seen..].to_vec();
                // Who asked may have given up.
                drop(sender.send(Answer { status: 200, text, before, ..Answer::default() }));
            }
            None => locked(&shared.others).push(text),
        }
        shared.news.notify_waiters();
    }
    locked(&shared.waiting).clear();
}

async fn read_stderr(stderr: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut lines = BufReader::new(stderr).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let mut text = locked(&shared.stderr);
        if text.len() < 1 << 20 {
            text.push_str(&String::from_utf8_lossy(&line));
            text.push('\n');
        }
        drop(text);
        shared.news.notify_waiters();
    }
}
