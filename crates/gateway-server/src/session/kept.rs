//! The streams of a session's requests, which outlast their connections.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::oneshot;

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
    journals: Mutex<Vec<Place>>,
    /// The number of the last one; the session's own stream has 0.
    last: AtomicU64,
}

/// Of one stream.
#[derive(Debug)]
struct Place {
    journal: Arc<Journal>,
    /// Dropped with it: whoever waits for its time to be over waits no longer.
    _is_kept: oneshot::Sender<()>,
}

impl Kept {
    /// The stream of this number, if it is still there.
    pub(crate) fn find(&self, stream: u64) -> Option<Arc<Journal>> {
        let journals = self.journals();
        let place = journals.iter().find(|place| place.journal.stream() == stream);
        place.map(|place| place.journal.clone())
    }

    /// Lets go of all of them. Whoever reads one now reads it to its end.
    pub(crate) fn end(&self) {
        let journals = std::mem::take(&mut *self.journals());
        drop(journals);
    }

    /// With more than `most`, the oldest are not kept; those whose call still runs are the last to go. What is
    /// returned is done when this one goes.
    fn add(&self, journal: &Arc<Journal>, most: usize) -> oneshot::Receiver<()> {
        let (is_kept, gone) = oneshot::channel();
        let mut journals = self.journals();
        journals.push(Place { journal: journal.clone(), _is_kept: is_kept });
        let mut beyond = Vec::new();
        while journals.len() > most {
            let over = journals.iter().position(|place| place.journal.is_over());
            beyond.push(journals.remove(over.unwrap_or(0)));
        }
        drop(journals);
        drop(beyond);
        gone
    }

    fn forget(&self, stream: u64) {
        let mut journals = self.journals();
        let at = journals.iter().position(|place| place.journal.stream() == stream);
        let gone = at.map(|at| journals.remove(at));
        drop(journals);
        drop(gone);
    }

    fn journals(&self) -> MutexGuard<'_, Vec<Place>> {
        self.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a conversation of a session go on whoever reads it, and keeps what it says for a while after its end.
pub(crate) fn keep(edge: &Arc<Edge>, session: &Arc<Session>, conversation: Conversation) -> Reader {
    let limits = &edge.rules().config.limits;
    let stream = session.kept().last.fetch_add(1, Ordering::Relaxed) + 1;
    let journal = Journal::new(stream, edge.sessions.bounds());
    let gone = session.kept().add(&journal, limits.replay_streams);
    let reader = journal.read_after(0);
    let (edge, session, time) = (edge.clone(), session.clone(), limits.replay_time);
    tokio::spawn(async move {
        let stream = journal.stream();
        run(&edge, &session, journal, conversation).await;
        let mut ended = session.ended();
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = gone => {}
            _ = ended.wait_for(|ended| *ended) => {}
            // What is kept must not keep a gateway that shuts down.
            () = edge.reaches(Phase::Draining) => {}
        }
        session.kept().forget(stream);
    });
    reader
}

/// Lets it go on to its end.
async fn run(edge: &Edge, session: &Arc<Session>, journal: Arc<Journal>, mut conversation: Conversation) {
    let _in_use = session.enter();
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
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::{
        config::Limits,
        session::{Bounds, Shelf},
    };

    #[test]
    fn those_whose_calls_run_are_the_last_to_go_and_nobody_waits_for_those_that_went() {
        let bounds = Bounds::new(&Limits::default(), &Arc::new(Shelf::default()));
        let kept = Kept::default();
        let journals: Vec<_> = (1..=4).map(|stream| Journal::new(stream, bounds.clone())).collect();
        journals[1].close();
        let mut gone: Vec<_> = journals.iter().map(|journal| kept.add(journal, 2)).collect();
        let there: Vec<_> = (1..=4).map(|stream| kept.find(stream).is_some()).collect();
        assert_eq!(there, [false, false, true, true]);
        let waiting: Vec<_> =
            gone.iter_mut().map(|gone| gone.try_recv() == Err(TryRecvError::Empty)).collect();
        assert_eq!(waiting, there);
        kept.end();
        assert!(gone.iter_mut().all(|gone| gone.try_recv() == Err(TryRecvError::Closed)));
    }
}
