//! Documents and what references in them lead to.

mod identifiers;
mod node;
mod pointer;
mod resolver;
mod shelf;
#[cfg(test)]
mod tests;

pub(super) use node::{Item, Node};
pub(super) use resolver::Resolver;
pub(super) use shelf::{DocumentId, Shelf, Wanted};
