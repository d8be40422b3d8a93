//! What is known about runs, and where it is kept (C-28, C-73 to C-76).

mod memory;

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;

pub use self::memory::MemoryStore;

/// How far a run is (C-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the words say it")]
pub enum RunStatus {
    Pending,
    Running,
    WaitingForElicitation,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

impl RunStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::WaitingForElicitation => "waiting_for_elicitation",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }

    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut)
    }
}

/// How far a step is (C-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the words say it")]
pub enum StepStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Skipped,
}

impl StepStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A run, as far as it is known from outside. Holds no arguments and no results, but its errors may quote them.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// A UUID.
    pub id: Arc<str>,
    /// The workflow's name.
    pub workflow: Arc<str>,
    /// Who called it.
    pub caller: String,
    /// How far it is.
    pub status: RunStatus,
    /// Its steps, in the order of the file.
    pub steps: Vec<StepRecord>,
    /// When it began.
    pub started: SystemTime,
    /// When this was last true.
    pub updated: SystemTime,
    /// Why it has no result, at most 1,000 characters.
    pub error: Option<String>,
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// Its id.
    pub id: Arc<str>,
    /// How far it is.
    pub status: StepStatus,
    /// How often it was tried again; of a loop, all its items together.
    pub retries: u32,
    /// Why it failed, at most 200 characters: there are many steps, and many records.
    pub error: Option<String>,
}

/// What is wrong with a request about a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// An empty id (C-73).
    #[error("the id of a run is empty")]
    EmptyId,
    /// No such run, or it was long ago.
    #[error("run `{id}` is not known")]
    NotFound {
        /// The id.
        id: Arc<str>,
    },
    /// It cannot be cancelled any more (C-76).
    #[error("run `{id}` has ended already: {}", .status.as_str())]
    Ended {
        /// The id.
        id: Arc<str>,
        /// How.
        status: RunStatus,
    },
    /// The store does not work.
    #[error("the store of runs failed: {reason}")]
    Store {
        /// Why.
        reason: String,
    },
}

/// Where records of runs are kept (C-73). What is stored and what is returned are copies.
///
/// A composer saves the records of one run one after the other. It gives each 5 seconds, and drops the future of one
/// that is not the last as soon as the run has ended.
#[async_trait]
pub trait StateStore: Send + Sync {
    /// Keeps a record in place of an earlier one of the same id. The last one wins: a record that is saved after this
    /// future has ended, or has been dropped, must not be replaced by this one later. Must be cancel-safe: dropped,
    /// either this record is kept or the one before.
    ///
    /// # Errors
    /// [`StateError::EmptyId`], [`StateError::Store`]. The run goes on all the same.
    async fn save(&self, record: &RunRecord) -> Result<(), StateError>;

    /// The record of this id.
    ///
    /// # Errors
    /// [`StateError::EmptyId`], [`StateError::NotFound`], [`StateError::Store`].
    async fn load(&self, id: &str) -> Result<RunRecord, StateError>;

    /// Forgets a record.
    ///
    /// # Errors
    /// As [`Self::load`].
    async fn delete(&self, id: &str) -> Result<(), StateError>;

    /// The records of runs that have not ended, oldest first.
    ///
    /// # Errors
    /// [`StateError::Store`].
    async fn list_active(&self) -> Result<Vec<RunRecord>, StateError>;
}
