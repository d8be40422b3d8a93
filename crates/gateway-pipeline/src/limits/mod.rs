//! How often, and how many at once, by caller, tool and downstream.
//!
//! [`Limits`] is what all stages share. [`Counted`] takes what a call costs its caller, before it is known what the call
//! is for; [`Limited`] is the stage that knows. Rates are kept by token buckets, what is at once by
//! places with a bounded line of those who wait for one, in which callers take turns. Everything is decided before a
//! downstream hears of a call.

mod bucket;
mod buckets;
mod config;
mod line;
mod places;
mod shared;
mod stage;

#[cfg(test)]
mod tests;

pub use self::{
    config::{Concurrency, Limit, LimitsConfig, LimitsError, Rate, Rates},
    shared::Limits,
    stage::{Counted, Limited},
};
