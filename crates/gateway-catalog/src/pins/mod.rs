//! Tools as they were when somebody looked at them (security.md §2.5, T17).
//!
//! A [`Lock`] keeps what tools looked like, by the names they have on `/mcp`. [`Pins`] tells of each tool of a list
//! that is read whether it still does, and in quarantine keeps those away that do not: from everybody, as if they
//! were not there. [`diff`] shows what is different, for whoever accepts it.
//!
//! Definitions are judged as their downstream wrote them, before [`clean`](crate::clean): what cannot be seen is a
//! change too. The whole definition counts: every member, `annotations` and `_meta` included.
//!
//! Only tools are pinned. Prompts and resources are chosen by people and applications, not by a model.

mod canonical;
mod diff;
mod live;
mod lock;
#[cfg(test)]
mod tests;
mod text;

pub use self::{
    canonical::canonical,
    diff::{Change, diff},
    live::{PinMode, Pins, Verdict},
    lock::{Lock, Locked},
    text::{LockBounds, LockError, LockFault},
};
