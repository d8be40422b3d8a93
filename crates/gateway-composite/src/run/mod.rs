//! Running workflows (C-42 to C-54, C-59 to C-72).
//!
//! [`Composer`] enters a run in the `register`, where it takes one of the
//! `places`, and spawns its `course`: arguments, steps, output, record. The
//! `schedule` spawns each step when the `agenda` says so and keeps what it came to; `step` does it. What steps share
//! is in [`shared::Shared`]: the `circumstances` of the latest request, the `desk` for questions, `progress`, the
//! `budget`, the tools that are pinned, what is `calling`, and the `evaluator` of templates. Only the `ledger` changes
//! the record, and the `scribe` saves it.

mod agenda;
mod budget;
mod calling;
mod circumstances;
mod composer;
mod context;
mod course;
mod desk;
mod evaluator;
mod ledger;
mod members;
mod output;
mod places;
mod progress;
mod register;
mod result;
mod running;
mod schedule;
mod scribe;
mod shared;
mod step;

pub use self::{
    composer::{Composer, ComposerConfig},
    context::RunContext,
    result::WorkflowResult,
    running::{Run, Turn},
};
