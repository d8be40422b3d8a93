use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gateway_domain::{Error, InternalError};
use tokio::sync::watch;
use tracing::Instrument as _;

/// What one attempt comes to; empty while it runs.
type Outcome<T> = watch::Receiver<Option<Result<T, Error>>>;

/// One attempt at a time, whose outcome all share who came while it ran, a failure too: a crowd before
/// something that hangs waits once, not one after the other.
///
/// An attempt runs in a task of its own. Waiters may give up (R-W15); it goes on to its end all the same.
pub(crate) struct SingleFlight<T> {
    current: Arc<Mutex<Option<Outcome<T>>>>,
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self { current: Arc::default() }
    }
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    /// The outcome of the attempt that is running, or else of one that is begun now. An attempt may begin
    /// just after another has ended, so it has to look first whether there is still something to do.
    pub(crate) async fn join<F>(&self, attempt: impl FnOnce() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let mut outcome = self.running_or(attempt);
        let ended = outcome.wait_for(Option::is_some).await;
        match ended.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Err(InternalError { what: "opening a session panicked" }.into()),
        }
    }

    fn running_or<F>(&self, attempt: impl FnOnce() -> F) -> Outcome<T>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let mut current = lock(&self.current);
        // One that has panicked has let go of its end.
        if let Some(outcome) = current.as_ref().filter(|outcome| outcome.has_changed().is_ok()) {
            return outcome.clone();
        }
        let (sender, outcome) = watch::channel(None);
        *current = Some(outcome.clone());
        let (running, current) = (attempt(), self.current.clone());
        let run = async move {
            let ended = running.await;
            // Kept here it would keep a place in the pool.
            *lock(&current) = None;
            sender.send_replace(Some(ended));
        };
        tokio::spawn(run.in_current_span());
        outcome
    }
}

fn lock<T>(current: &Mutex<Option<Outcome<T>>>) -> MutexGuard<'_, Option<Outcome<T>>> {
    // Every critical section is one assignment.
    current.lock().unwrap_or_else(PoisonError::into_inner)
}
