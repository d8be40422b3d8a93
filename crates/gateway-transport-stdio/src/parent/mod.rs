//! The parent of every server: a thread that lives as long as the gateway.
//!
//! It starts the processes, so that the parent-death signal, which follows the thread that started a process,
//! means the gateway (R-W18). It has orphans of their trees come back to the gateway, which is their
//! subreaper, ends what is left of a tree when its leader goes, also what has left the leader's group and
//! session, and reaps them all (security.md §3.2).
//!
//! The children of other code in this process are let alone as long as they stay in the gateway's session,
//! which no process of a tree can be in.

mod census;
mod rounds;
mod setup;
mod tree;

use std::{
    io,
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{mpsc, oneshot, watch};

use self::{rounds::Rounds, tree::Trees};
pub(crate) use self::{setup::isolate, tree::Leader};
use crate::lifeline::{self, Lifeline};

/// A process that has just been started.
pub(crate) struct Spawned {
    pub(crate) leader: Leader,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// What is to be started.
struct Request {
    command: Command,
    marker: Option<String>,
    lifeline: Option<Arc<Lifeline>>,
    alive: watch::Receiver<()>,
    reply: oneshot::Sender<io::Result<Spawned>>,
}

/// Starts a process as the leader of a session of its own; its three standard files must be pipes. `marker` is
/// what it has in [`lifeline::VARIABLE`](crate::lifeline::VARIABLE); `alive` is held until its tree is gone.
///
/// Cancel-safe: what is started for nobody is ended.
pub(crate) async fn spawn(
    mut command: Command,
    marker: Option<String>,
    lifeline: Option<Arc<Lifeline>>,
    alive: watch::Receiver<()>,
) -> io::Result<Spawned> {
    isolate(&mut command);
    setup::bind(&mut command, marker.as_deref().and_then(lifeline::tag));
    let (reply, spawned) = oneshot::channel();
    let request = Request { command, marker, lifeline, alive, reply };
    requests()?.send(request).await.map_err(|_| gone())?;
    spawned.await.map_err(|_| gone())?
}

/// The way to the thread, which is started for the first request.
fn requests() -> io::Result<mpsc::Sender<Request>> {
    static REQUESTS: Mutex<Option<mpsc::Sender<Request>>> = Mutex::new(None);
    let mut current = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(requests) = current.as_ref().filter(|requests| !requests.is_closed()) {
        return Ok(requests.clone());
    }
    let (requests, waiting) = mpsc::channel(WAITING);
    std::thread::Builder::new().name("stdio-parent".into()).spawn(move || live(waiting))?;
    Ok(current.insert(requests).clone())
}

/// The whole life of the thread. It ends only if it could not begin, without children then.
fn live(requests: mpsc::Receiver<Request>) {
    let begun = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let context = runtime.enter();
        let rounds = Rounds::begin(Trees::new())?;
        drop(context);
        runtime.block_on(rounds.run(requests));
        Ok(())
    });
    if let Err(error) = begun {
        tracing::error!(%error, "no server can be started: the thread that starts them cannot run");
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts processes is not there")
}

/// The most requests that wait for the thread; more wait for room.
const WAITING: usize = 64;
