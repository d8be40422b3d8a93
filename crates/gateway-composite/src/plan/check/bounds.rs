//! Numbers and times that are bounded, wherever they stand.

use std::time::Duration;

use crate::definition::{Place, Problem};

/// The longest time that can be written: beyond it a slip of the pen is likelier than a wish.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether a time is one that can be waited for.
pub(super) fn time(place: &Place, given: Option<Duration>) -> Option<Problem> {
    let given = humantime::format_duration(given.filter(|given| *given > LONGEST)?);
    Some(place.problem(format!("is {given}, but may be at most 24h")))
}

/// Whether a number is at most this large.
pub(super) fn count(place: &Place, given: u32, most: u32) -> Option<Problem> {
    match given {
        _ if given <= most => None,
        // It may have been larger still before it was read.
        u32::MAX => Some(place.problem(format!("is too large; it may be at most {most}"))),
        _ => Some(place.problem(format!("is {given}, but may be at most {most}"))),
    }
}
