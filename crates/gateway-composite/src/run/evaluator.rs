use std::{panic::resume_unwind, sync::Arc, thread::available_parallelism};

use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{
    error::TemplateError,
    template::{Context, Effort},
};

/// Evaluates templates. What takes more than a moment is done on threads of its own, of which it takes a few. Clones
/// share those.
#[derive(Debug, Clone)]
pub(super) struct Evaluator {
    free: Arc<Semaphore>,
    /// One of a run waits for a thread at a time, so that runs take turns, however much each has to do.
    turn: Arc<Semaphore>,
    threads: usize,
}

impl Evaluator {
    /// One that takes up to half of the machine.
    pub(super) fn new() -> Self {
        Self::of(available_parallelism().map_or(1, |count| count.get() / 2))
    }

    fn of(threads: usize) -> Self {
        let threads = threads.max(1);
        Self { free: Arc::new(Semaphore::new(threads)), turn: Arc::new(Semaphore::new(1)), threads }
    }

    /// The same for another run.
    pub(super) fn for_run(&self) -> Self {
        Self { turn: Arc::new(Semaphore::new(1)), ..self.clone() }
    }

    /// How many evaluations have a thread of their own now.
    pub(super) fn working(&self) -> usize {
        self.threads - self.free.available_permits()
    }

    /// What `work` comes to with the templates that it expands in the context that it is given. It is done in place if
    /// that is a matter of a moment; else it is begun anew on another thread, when one is free.
    ///
    /// Cancel-safe: dropping the future ends the work before the next expression, each of which is bounded.
    ///
    /// # Errors
    /// Those of the work.
    ///
    /// # Panics
    /// If the work does.
    pub(super) async fn evaluate<T, W>(&self, context: &Context, work: W) -> Result<T, TemplateError>
    where
        T: Send + 'static,
        W: Fn(&Context) -> Result<T, TemplateError> + Send + 'static,
    {
        if !context.is_large() {
            let effort = Arc::new(Effort::little());
            let done = work(&context.with_effort(effort.clone()));
            if !effort.is_stopped() {
                return done;
            }
        }
        let _turn = self.turn.acquire().await.map_err(|_| broken_off())?;
        let permit = self.free.clone().acquire_owned().await.map_err(|_| broken_off())?;
        let wanted = Wanted(Arc::new(Effort::whole()));
        let context = context.with_effort(wanted.0.clone());
        let work = move || {
            let _permit = permit;
            work(&context)
        };
        match spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime ends.
                Err(_) => Err(broken_off()),
            },
        }
    }
}

fn broken_off() -> TemplateError {
    let (place, reason) = (String::new(), "it was broken off: the gateway ends".to_owned());
    TemplateError { place, reason, is_missing: false }
}

/// Somebody waits for it.
struct Wanted(Arc<Effort>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.stop();
    }
}
