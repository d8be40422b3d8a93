//! The locks of the hand-off of places. In this crate's own tests a scheduler decides at each of them who goes
//! on, so that all orders are tried (`interleaving`).

#[cfg(not(test))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(test)]
pub(crate) use crate::interleaving::{Mutex, MutexGuard};
