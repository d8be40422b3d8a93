use std::fmt::Write as _;

use gateway_domain::{RawJson, RawObject};

use crate::{error::StepError, state::StepStatus};

/// How many bytes stand around the parts of one item, at most; and around all of them.
const FRAME: usize = 100;

/// What became of one item of a loop.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) index: usize,
    pub(super) became: Became,
    pub(super) output: RawObject,
    pub(super) retries: u32,
}

/// How the work on an item ended.
#[derive(Debug)]
pub(super) enum Became {
    /// Its output is the tool's.
    Completed,
    /// Its condition is false.
    Skipped,
    Failed(StepError),
}

/// What has become of a loop's items so far.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    items: &'a [RawJson],
    /// By their places in the collection; `None`: not ended.
    ended: Vec<Option<Ended>>,
    completed: usize,
    failed: usize,
    skipped: usize,
    retries: u32,
}

#[derive(Debug)]
struct Ended {
    status: StepStatus,
    output: RawObject,
    /// As JSON.
    error: Option<RawJson>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(items: &'a [RawJson]) -> Self {
        let ended = items.iter().map(|_| None).collect();
        Self { items, ended, completed: 0, failed: 0, skipped: 0, retries: 0 }
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
    pub(super) fn note(&mut self, done: Done) -> Option<StepError> {
        self.retries = self.retries.saturating_add(done.retries);
        let (status, count, error) = match done.became {
            Became::Completed => (StepStatus::Completed, &mut self.completed, None),
            Became::Skipped => (StepStatus::Skipped, &mut self.skipped, None),
            Became::Failed(error) => (StepStatus::Failed, &mut self.failed, Some(error)),
        };
        *count += 1;
        let said = error.as_ref().map(|error| RawJson::string(&error.to_string()));
        self.ended[done.index] = Some(Ended { status, output: done.output, error: said });
        error
    }

    /// How much of the output is paid for by nobody yet, in bytes: what tools gave is paid for, and let go of as the
    /// output is written.
    pub(super) fn unpaid(&self) -> usize {
        let items = self.items.iter().zip(&self.ended);
        let items = items.filter_map(|(item, ended)| {
            let ended = ended.as_ref()?;
            let output = match ended.status {
                StepStatus::Completed => 0,
                _ => ended.output.as_str().len(),
            };
            Some(item.as_bytes().len() + output + ended.error_text().len() + FRAME)
        });
        FRAME + items.sum::<usize>()
    }

    /// The output (C-62): the items that have ended, in the order of the collection; how many items there are; and how
    /// many of them were completed and failed. Those whose condition is false are neither.
    ///
    /// # Errors
    /// [`StepError::TooDeep`].
    pub(super) fn output(self) -> Result<RawObject, StepError> {
        let outputs = self.ended.iter().flatten().filter(|ended| ended.status == StepStatus::Completed);
        let paid: usize = outputs.map(|ended| ended.output.as_str().len()).sum();
        let mut text = String::with_capacity(self.unpaid() + paid);
        let (count, completed, failed) = (self.items.len(), self.completed, self.failed);
        let mut separator = r#"{"iterations":["#;
        for (index, (item, ended)) in self.items.iter().zip(self.ended).enumerate() {
            let Some(ended) = ended else { continue };
            let (status, output, error) = (ended.status.as_str(), ended.output.as_str(), ended.error_text());
            let _infallible = write!(
                text,
                r#"{separator}{{"index":{index},"item":{item},"status":"{status}","output":{output},"error":{error}}}"#
            );
            separator = ",";
        }
        if separator != "," {
            text.push_str(separator);
        }
        let _infallible = write!(text, r#"],"count":{count},"completed":{completed},"failed":{failed}}}"#);
        RawObject::parse(text).map_err(|_| StepError::TooDeep)
    }
}

impl Ended {
    fn error_text(&self) -> &str {
        self.error.as_ref().map_or("null", RawJson::as_str)
    }
}
