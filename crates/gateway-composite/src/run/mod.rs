//! Running workflows (C-42 to C-54, C-59 to C-72).

mod agenda;
mod budget;
mod circumstances;
mod composer;
mod context;
mod course;
mod desk;
mod ledger;
mod members;
mod output;
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
