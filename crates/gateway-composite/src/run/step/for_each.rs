use std::sync::Arc;

use gateway_domain::{RawJson, RawObject, printable};
use tokio::{task::JoinSet, time::timeout};
use tracing::Instrument as _;

use super::{
    Ending,
    call::WRITTEN_LIMIT,
    failed, holds,
    tally::{Done, Tally},
    tried,
};
use crate::{
    definition::ErrorAction,
    error::StepError,
    plan::{Act, PlannedLoop, PlannedStep},
    run::shared::Shared,
    template::{ForEachScope, Scope},
};

/// How much of something that is no array is shown (C-59); a mark may stand behind it.
const FOUND_LIMIT: usize = 99;
/// How many items are worked on at once, whatever the step says (C-61).
const MOST_PARALLEL: usize = 50;

/// Calls a tool for each item of a collection (C-59 to C-64). If it fails or takes too long, what there is of its
/// output stays: the items that had ended.
pub(super) async fn run(
    shared: &Arc<Shared>,
    step: &Arc<PlannedStep>,
    each: &PlannedLoop,
    scope: &Scope,
    retries: &mut u32,
) -> Ending {
    let items = match items(each, scope) {
        Ok(items) => items,
        Err(error) => return error.into(),
    };
    let mut tally = Tally::new(items.len());
    let work = Work { shared, step, each, scope, items: &items };
    let mut running = JoinSet::new();
    let done = timeout(step.timeout, work.all(&mut running, &mut tally)).await;
    // What is left is cancelled before any other step begins.
    running.shutdown().await;
    *retries += tally.retries();
    let done = done.unwrap_or(Err(StepError::TimedOut { after: step.timeout }));
    let output = tally.output().and_then(|output| {
        // The items stand in it once more; what the tools gave is paid for.
        shared.charge_bytes(items.iter().map(|item| item.as_bytes().len()).sum())?;
        Ok(output)
    });
    match (done, output) {
        (Ok(()), Ok(output)) => Ending::Completed { output, content: None, skips_remaining: false },
        (Ok(()), Err(error)) => error.into(),
        (Err(error), output) => Ending::Failed { error, partial: output.ok() },
    }
}

/// The items, if there are not too many (C-59, C-60).
fn items(each: &PlannedLoop, scope: &Scope) -> Result<Vec<RawJson>, StepError> {
    let value = each.collection.expand(scope, None, WRITTEN_LIMIT);
    let value = value.map_err(|error| failed("collection", error))?;
    let items = value.elements(usize::MAX).or_else(|| {
        let written = RawJson::parse(value.to_text()?.into_owned()).ok()?;
        written.elements(usize::MAX)
    });
    let items = items.ok_or_else(|| {
        let text = value.to_text();
        let found = printable(text.as_deref().unwrap_or(value.as_str()), FOUND_LIMIT);
        StepError::Collection { found }
    })?;
    match u32::try_from(items.len()) {
        Ok(count) if count <= each.max_iterations => Ok(items),
        _ => Err(StepError::TooManyItems { count: items.len(), limit: each.max_iterations }),
    }
}

/// A loop over its items.
struct Work<'a> {
    shared: &'a Arc<Shared>,
    step: &'a Arc<PlannedStep>,
    each: &'a PlannedLoop,
    scope: &'a Scope,
    items: &'a [RawJson],
}

impl Work<'_> {
    /// Works on all items in their order, so many at once as there may be.
    ///
    /// # Errors
    /// The first failure that is not forgiven. Other items still run then.
    async fn all(&self, running: &mut JoinSet<Done>, tally: &mut Tally) -> Result<(), StepError> {
        let parallel = self.each.max_parallel.clamp(1, MOST_PARALLEL);
        let forgives = self.forgives();
        let mut waiting = 0..self.items.len();
        loop {
            for index in waiting.by_ref().take(parallel - running.len()) {
                let work = one(self.shared.clone(), self.step.clone(), self.scope_of(index), forgives);
                running.spawn(self.shared.calling().during(work).in_current_span());
            }
            let Some(done) = running.join_next().await else { return Ok(()) };
            let done = done.map_err(|_| StepError::Internal)?;
            let index = done.index;
            let failure = tally.note(&self.items[index], done)?;
            self.shared.advance(&self.step.id, tally.ended(), self.items.len());
            match failure {
                // These end the run, whatever is forgiven.
                Some(error @ (StepError::LimitExceeded { .. } | StepError::Internal)) => return Err(error),
                Some(cause) if !forgives => return Err(StepError::Item { index, cause: Box::new(cause) }),
                _ => {}
            }
        }
    }

    /// Whether all items are worked on, whatever becomes of single ones (C-63).
    fn forgives(&self) -> bool {
        [&self.step.on_error, &self.each.on_error].iter().any(|it| it.action == ErrorAction::Continue)
    }

    fn scope_of(&self, index: usize) -> Scope {
        let item = self.items[index].clone();
        let for_each = ForEachScope { item_var: self.each.item_var.clone(), item, index };
        Scope { for_each: Some(for_each), ..self.scope.clone() }
    }
}

/// Does the inner step for one item, under its own condition, time limit and retries (C-64, C-W14).
async fn one(shared: Arc<Shared>, step: Arc<PlannedStep>, scope: Scope, forgives: bool) -> Done {
    let index = scope.for_each.as_ref().map_or(0, |item| item.index);
    // Only loops come here.
    let Act::ForEach(each) = &step.act else { return Done::skipped(index, RawObject::empty()) };
    let default = || each.default_results.clone().unwrap_or_default();
    let mut retries = 0;
    let called = match holds(each.condition.as_ref(), &scope) {
        Ok(false) => return Done::skipped(index, default()),
        Err(error) => Err(error),
        Ok(true) => {
            let called = tried(&shared, &step.id, &each.call, &each.on_error, &scope, &mut retries);
            match each.timeout {
                Some(after) => timeout(after, called).await.unwrap_or(Err(StepError::TimedOut { after })),
                None => called.await,
            }
        }
    };
    match called {
        Ok(answer) => Done::completed(index, answer.output, retries),
        Err(error) => {
            let output = if forgives { default() } else { RawObject::empty() };
            Done::failed(index, output, in_loop(error), retries)
        }
    }
}

/// The place of a template of the inner step, from the loop on.
fn in_loop(error: StepError) -> StepError {
    match error {
        StepError::Template(error) => failed("step", error),
        error => error,
    }
}
