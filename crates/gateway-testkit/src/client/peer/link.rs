//! How a peer is connected.

use std::{
    io,
    process::Stdio,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::{AbortHandle, JoinSet},
};

use super::core::Core;
use crate::{
    client::{Answer, HttpClient, Messages, closed},
    engine::locked,
    transcript::Way,
};

#[derive(Debug)]
pub(super) enum Link {
    /// With everything that reads or writes in the background.
    Http(Arc<HttpClient>, Arc<Mutex<JoinSet<()>>>),
    Stdio(Box<Pipes>),
}

#[derive(Debug)]
pub(super) struct Pipes {
    stdin: Arc<tokio::sync::Mutex<ChildStdin>>,
    /// Killed when dropped.
    _child: Child,
    _reading: JoinSet<()>,
}

type Tasks = Arc<Mutex<JoinSet<()>>>;

impl Link {
    pub(super) fn http(client: Arc<HttpClient>) -> Self {
        Self::Http(client, Tasks::default())
    }

    pub(super) fn start(mut command: Command, core: &Arc<Core>) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().ok_or_else(|| closed("no stdin"))?;
        let stdout = child.stdout.take().ok_or_else(|| closed("no stdout"))?;
        let stdin = Arc::new(tokio::sync::Mutex::new(stdin));
        let mut reading = JoinSet::new();
        reading.spawn(read_lines(stdout, Arc::clone(core), Arc::clone(&stdin)));
        Ok(Self::Stdio(Box::new(Pipes { stdin, _child: child, _reading: reading })))
    }

    /// Over HTTP, what reads the answer.
    pub(super) async fn request(
        &self,
        core: &Arc<Core>,
        id: &str,
        method: &str,
        params: &str,
        text: &str,
    ) -> io::Result<Option<AbortHandle>> {
        let (client, tasks) = match self {
            Self::Stdio(pipes) => return write(&pipes.stdin, text).await.map(|()| None),
            Self::Http(client, tasks) => (Arc::clone(client), Arc::clone(tasks)),
        };
        let (core, owned) = (Arc::clone(core), (id.to_owned(), method.to_owned(), params.to_owned()));
        let (spawner, mut running) = (Arc::clone(&tasks), locked(&tasks));
        while running.try_join_next().is_some() {}
        Ok(Some(running.spawn(async move {
            let (id, method, params) = owned;
            let _given_up = GiveUp(&core, &id);
            match client.open(&id, &method, &params).await {
                Ok(messages) => read_stream(messages, &core, &client, &spawner, Some(&id)).await,
                Err(why) => core.fault(format!("{method}: {why}")),
            }
        })))
    }

    pub(super) async fn notify(&self, core: &Arc<Core>, method: &str, params: &str) -> io::Result<()> {
        match self {
            Self::Stdio(pipes) => {
                let params = core.manner.speaks_declaring().params(params);
                let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
                core.note(Way::Out, &text);
                write(&pipes.stdin, &text).await
            }
            Self::Http(client, _) => {
                let status = client.notify(method, params).await?.status;
                if status == 202 { Ok(()) } else { Err(io::Error::other(format!("{method}: {status}"))) }
            }
        }
    }

    pub(super) async fn open_stream(&self, core: &Arc<Core>) -> io::Result<()> {
        let Self::Http(client, tasks) = self else { return Ok(()) };
        let (opened, wait) = tokio::sync::oneshot::channel();
        let (core, client, spawner) = (Arc::clone(core), Arc::clone(client), Arc::clone(tasks));
        locked(tasks).spawn(async move {
            match client.listen().await {
                Ok(messages) => {
                    opened.send(messages.status).ok();
                    read_stream(messages, &core, &client, &spawner, None).await;
                }
                Err(why) => core.fault(format!("GET: {why}")),
            }
        });
        match wait.await {
            Ok(200) => Ok(()),
            Ok(status) => Err(io::Error::other(format!("the stream is refused with {status}"))),
            Err(_) => Err(closed("the stream did not open")),
        }
    }
}

/// Nobody waits longer than the stream lives.
struct GiveUp<'a>(&'a Core, &'a str);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.give_up(self.1);
    }
}

/// Until the end, or the answer to `id`.
async fn read_stream(
    mut messages: Messages<'_>,
    core: &Arc<Core>,
    client: &Arc<HttpClient>,
    tasks: &Tasks,
    id: Option<&str>,
) {
    let head = Answer { status: messages.status, headers: messages.headers.clone(), ..Answer::default() };
    loop {
        let text = match messages.next().await {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(why) => {
                // A listen stream may be cut; whoever waits for it learns that.
                broke(core, id, &why);
                return;
            }
        };
        if let Some(response) = core.take(&text, &head) {
            let (core, client) = (Arc::clone(core), Arc::clone(client));
            locked(tasks).spawn(async move { say(&core, &client, response).await });
        }
    }
}

fn broke(core: &Core, id: Option<&str>, why: &io::Error) {
    if id.is_some() {
        core.fault(format!("a stream broke: {why}"));
    }
}

/// Posts a response to what the server asked.
async fn say(core: &Core, client: &HttpClient, response: String) {
    match client.post(&response, &[]).await {
        Ok(answer) if answer.status == 202 => {}
        Ok(answer) => core.fault(format!("{response} was refused: {} {}", answer.status, answer.text)),
        Err(why) => core.fault(format!("{response} could not be said: {why}")),
    }
}

async fn read_lines(stdout: ChildStdout, core: Arc<Core>, stdin: Arc<tokio::sync::Mutex<ChildStdin>>) {
    let head = Answer { status: 200, ..Answer::default() };
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(response) = core.take(&line, &head)
            && let Err(why) = write(&stdin, &response).await
        {
            core.fault(format!("{response} could not be said: {why}"));
        }
    }
    core.give_all_up();
}

async fn write(stdin: &tokio::sync::Mutex<ChildStdin>, text: &str) -> io::Result<()> {
    let mut stdin = stdin.lock().await;
    stdin.write_all(format!("{text}\n").as_bytes()).await?;
    stdin.flush().await
}
