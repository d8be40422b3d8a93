//! Running workflows (C-42 to C-54, C-59 to C-72).

mod composer;
mod context;
mod members;
mod output;
mod result;
mod running;
mod shared;
mod step;

pub use self::{
    composer::{Composer, ComposerConfig},
    context::RunContext,
    result::WorkflowResult,
    running::{Run, Turn},
};
