use gateway_domain::{RawJson, RawObject};

use crate::{
    error::StepError,
    run::members::{Members, literal},
    state::StepStatus,
};

/// What became of one item of a loop.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) index: usize,
    status: StepStatus,
    output: RawObject,
    error: Option<StepError>,
    retries: u32,
}

impl Done {
    pub(super) fn completed(index: usize, output: RawObject, retries: u32) -> Self {
        Self { index, status: StepStatus::Completed, output, error: None, retries }
    }

    pub(super) fn skipped(index: usize, output: RawObject) -> Self {
        Self { index, status: StepStatus::Skipped, output, error: None, retries: 0 }
    }

    pub(super) fn failed(index: usize, output: RawObject, error: StepError, retries: u32) -> Self {
        Self { index, status: StepStatus::Failed, output, error: Some(error), retries }
    }
}

/// What has become of a loop's items so far.
#[derive(Debug)]
pub(super) struct Tally {
    /// By their places in the collection; `None`: not ended.
    iterations: Vec<Option<RawObject>>,
    completed: usize,
    failed: usize,
    skipped: usize,
    retries: u32,
}

impl Tally {
    pub(super) fn new(items: usize) -> Self {
        Self { iterations: vec![None; items], completed: 0, failed: 0, skipped: 0, retries: 0 }
    }

    /// How many items have ended.
    pub(super) fn ended(&self) -> usize {
        self.completed + self.failed + self.skipped
    }

    /// How often anything was tried again.
    pub(super) fn retries(&self) -> u32 {
        self.retries
    }

    /// Takes note of an item that has ended, and gives its failure.
    ///
    /// # Errors
    /// [`StepError::TooDeep`].
    pub(super) fn note(&mut self, item: &RawJson, done: Done) -> Result<Option<StepError>, StepError> {
        self.retries = self.retries.saturating_add(done.retries);
        match done.status {
            StepStatus::Completed => self.completed += 1,
            StepStatus::Failed => self.failed += 1,
            StepStatus::Skipped | StepStatus::Pending | StepStatus::Running => self.skipped += 1,
        }
        let error =
            done.error.as_ref().map_or_else(|| literal("null"), |error| RawJson::string(&error.to_string()));
        let iteration = Members::new()
            .with("index", &literal(done.index))
            .with("item", item)
            .with("status", &RawJson::string(done.status.as_str()))
            .with("output", done.output.raw())
            .with("error", &error);
        self.iterations[done.index] = Some(iteration.finish()?);
        Ok(done.error)
    }

    /// The output (C-62): the items that have ended, in the order of the collection; how many items there are; and how
    /// many of them were completed and failed. Those whose condition is false are neither.
    ///
    /// # Errors
    /// [`StepError::TooDeep`].
    pub(super) fn output(self) -> Result<RawObject, StepError> {
        let items = self.iterations.len();
        let ended = self.iterations.into_iter().flatten().map(|iteration| iteration.raw().clone());
        let output = Members::new()
            .with("iterations", &RawJson::array(ended))
            .with("count", &literal(items))
            .with("completed", &literal(self.completed))
            .with("failed", &literal(self.failed));
        output.finish()
    }
}
