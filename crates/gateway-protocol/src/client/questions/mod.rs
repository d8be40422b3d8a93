//! What a legacy server asks in mid-call (protocol.md §20.6), as state machines without I/O: the transport reads,
//! writes and waits; these say what a request of the server becomes, for which call it is, how it looks as
//! `inputRequests`, and which messages answer it.

mod attribution;
mod open;
mod question;
mod relay;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use attribution::{Attribution, Candidate, Owner, attribute, attribute_log, may_ask};
pub use open::Questions;
pub use question::{Asked, Question};
pub use relay::Relay;

/// How long after a question more are waited for, so that a client is asked all at once.
pub const GATHER: Duration = Duration::from_millis(30);

/// How long a client may take to say its roots outside any call.
pub const ROOTS_WAIT: Duration = Duration::from_secs(5);

/// The most questions of one call that are open at once.
pub const OPEN_LIMIT: usize = 16;

/// The most bytes they may have together.
pub const OPEN_BYTES: usize = 16 << 20;

/// The most events that are kept for a call that waits for answers.
pub const KEPT_EVENTS: usize = 256;

/// The most bytes they may have together.
pub const KEPT_BYTES: usize = 4 << 20;
