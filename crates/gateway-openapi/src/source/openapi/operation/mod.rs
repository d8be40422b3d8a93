//! One operation.

mod bodies;
mod forms;
mod parameters;
mod reader;
mod requirements;
mod responses;
mod template;
#[cfg(test)]
mod tests;

pub(super) use reader::{Draft, Inputs, PathItem, Reader};
pub(super) use requirements::schemes;
pub(super) use template::Template;
