//! The streams of a session's requests, which outlast their connections.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    Session,
    journal::{Journal, Reader},
};
use crate::{
    edge::{Edge, Phase},
    endpoint::Conversation,
};

/// Those of one session, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    journals: Mutex<Vec<Arc<Journal>>>,
    /// The number of the last one; the session's own stream has 0.
    last: AtomicU64,
}

impl Kept {
    /// The stream of this number, if it is still there.
    pub(crate) fn find(&self, stream: u64) -> Option<Arc<Journal>> {
        self.journals().iter().find(|journal| journal.stream() == stream).cloned()
    }

    /// Lets go of all of them. Whoever reads one now reads it to its end.
    pub(crate) fn end(&self) {
        let journals = std::mem::take(&mut *self.journals());
        drop(journals);
    }

    /// With more than `most`, the oldest are not kept.
    fn add(&self, journal: &Arc<Journal>, most: usize) {
        let mut journals = self.journals();
        journals.push(journal.clone());
        let beyond = journals.len().saturating_sub(most);
        let beyond: Vec<_> = journals.drain(..beyond).collect();
        drop(journals);
        drop(beyond);
    }

    fn forget(&self, stream: u64) {
        let mut journals = self.journals();
        let at = journals.iter().position(|journal| journal.stream() == stream);
        let gone = at.map(|at| journals.remove(at));
        drop(journals);
        drop(gone);
    }

    fn journals(&self) -> MutexGuard<'_, Vec<Arc<Journal>>> {
        self.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a conversation of a session go on whoever reads it, and keeps what it says for a while after its end.
pub(crate) fn keep(edge: &Arc<Edge>, session: &Arc<Session>, conversation: Conversation) -> Reader {
    let limits = &edge.rules().config.limits;
    let stream = session.kept().last.fetch_add(1, Ordering::Relaxed) + 1;
    let journal = Journal::new(stream, edge.sessions.bounds());
    session.kept().add(&journal, limits.replay_streams);
    let reader = journal.read_after(0);
    tokio::spawn(run(edge.clone(), session.clone(), journal, conversation, limits.replay_time));
    reader
}

async fn run(
    edge: Arc<Edge>,
    session: Arc<Session>,
    journal: Arc<Journal>,
    mut conversation: Conversation,
    time: Duration,
) {
    let in_use = session.enter();
    let stream = journal.stream();
    let talk = async {
        while let Some(message) = conversation.next().await {
            journal.say(message).await;
        }
    };
    tokio::select! {
        () = talk => {}
        () = edge.reaches(Phase::Closed) => {}
    }
    journal.close();
    drop((in_use, journal));
    let mut ended = session.ended();
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        _ = ended.wait_for(|ended| *ended) => {}
        // What is kept must not keep a gateway that shuts down.
        () = edge.reaches(Phase::Draining) => {}
    }
    session.kept().forget(stream);
}
