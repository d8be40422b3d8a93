use std::sync::Arc;

use gateway_domain::{JsonKind, RawJson, printable};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::{
    Ending, Time, failed,
    item::{Failures, Item},
    tally::{Done, Tally},
};
use crate::{
    definition::ErrorAction,
    error::StepError,
    plan::{PlannedLoop, PlannedStep},
    run::{budget::Held, shared::Shared},
    template::{Context, ForEachScope, RESULT_LIMIT, count},
};

/// How much of something that is no array is shown (C-59); a mark may stand behind it.
const FOUND_LIMIT: usize = 99;

/// Calls a tool for each item of a collection (C-59 to C-64). If it fails or takes too long, what there is of its
/// output stays: the items that had ended.
pub(super) async fn run(
    shared: &Arc<Shared>,
    step: &Arc<PlannedStep>,
    each: &Arc<PlannedLoop>,
    context: &Context,
    time: Time,
    retries: &mut u32,
) -> Ending {
    let Collection { items, held: _held } = match time.keep(collection(shared, each, context)).await {
        Ok(collection) => collection,
        Err(error) => return error.into(),
    };
    let mut tally = Tally::new(&items);
    let work = Work { shared, step, each, context, items: &items };
    let mut running = JoinSet::new();
    let done = time.keep(work.all(&mut running, &mut tally)).await;
    // What is left is cancelled before any other step begins.
    running.shutdown().await;
    *retries += tally.retries();
    let output = shared.charge_bytes(tally.unpaid()).and_then(|()| tally.output());
    match (done, output) {
        (Ok(()), Ok(output)) => Ending::Completed { output, content: None, skips_remaining: false },
        (Ok(()), Err(error)) => error.into(),
        (Err(error), output) => Ending::Failed { error, partial: output.ok() },
    }
}

struct Collection {
    /// Parts of one text.
    items: Vec<RawJson>,
    /// That text.
    held: Held,
}

/// The items, if there are not too many (C-59, C-60).
async fn collection(shared: &Shared, each: &PlannedLoop, context: &Context) -> Result<Collection, StepError> {
    let tree = each.collection.clone();
    let value = shared.evaluate(context, move |context| tree.expand(context, None, RESULT_LIMIT)).await;
    let value = value.map_err(|error| failed("collection", error))?;
    let held = shared.hold_bytes(value.as_bytes().len())?;
    let list = list(&value).ok_or_else(|| {
        let text = value.to_text();
        let found = printable(text.as_deref().unwrap_or(value.as_str()), FOUND_LIMIT);
        StepError::Collection { found }
    })?;
    let limit = each.max_iterations;
    match list.elements(usize::try_from(limit).unwrap_or(usize::MAX)) {
        Some(items) => Ok(Collection { items, held }),
        None => Err(StepError::TooManyItems { count: count(&list), limit }),
    }
}

/// The list that a value is, or that its text says.
fn list(value: &RawJson) -> Option<RawJson> {
    let list = match value.to_text() {
        Some(text) => RawJson::parse(text.into_owned()).ok()?,
        None => value.clone(),
    };
    (list.kind() == JsonKind::Array).then_some(list)
}

/// A loop over its items.
struct Work<'a> {
    shared: &'a Arc<Shared>,
    step: &'a Arc<PlannedStep>,
    each: &'a Arc<PlannedLoop>,
    context: &'a Context,
    items: &'a [RawJson],
}

impl Work<'_> {
    /// Works on all items in their order, so many at once as there may be.
    ///
    /// # Errors
    /// The first failure that is not forgiven. Other items still run then.
    async fn all(&self, running: &mut JoinSet<Done>, tally: &mut Tally<'_>) -> Result<(), StepError> {
        // From 1 to 50: definitions are checked for that (C-61).
        let (parallel, failures) = (self.each.max_parallel, self.failures());
        let mut waiting = 0..self.items.len();
        loop {
            for index in waiting.by_ref().take(parallel - running.len()) {
                let work = self.item(index).work(failures);
                running.spawn(self.shared.calling().during(work).in_current_span());
            }
            let Some(done) = running.join_next().await else { return Ok(()) };
            let done = done.map_err(|_| StepError::Internal)?;
            let index = done.index;
            let failure = tally.note(done);
            self.shared.advance(&self.step.id, tally.ended(), self.items.len());
            match failure {
                // These end the run, whatever is forgiven.
                Some(error @ (StepError::LimitExceeded { .. } | StepError::Internal)) => return Err(error),
                Some(cause) if failures == Failures::End => {
                    return Err(StepError::Item { index, cause: Box::new(cause) });
                }
                _ => {}
            }
        }
    }

    /// What the failure of an item means (C-63).
    fn failures(&self) -> Failures {
        let handlers = [&self.step.on_error, &self.each.on_error];
        match handlers.iter().any(|it| it.action == ErrorAction::Continue) {
            true => Failures::Forgiven,
            false => Failures::End,
        }
    }

    fn item(&self, index: usize) -> Item {
        let (item_var, item) = (self.each.item_var.clone(), self.items[index].clone());
        Item {
            shared: self.shared.clone(),
            step: self.step.id.clone(),
            each: self.each.clone(),
            context: self.context.with_item(&ForEachScope { item_var, item, index }),
            index,
        }
    }
}
