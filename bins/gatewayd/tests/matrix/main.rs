//! Feature × era pair × transport of the downstream × face of the gateway. Each cell asserts the exchange as both ends
//! saw it, and that every message the gateway wrote keeps to the published schema.
//!
//! Each feature also runs without a gateway, client against server, where that makes sense: a test whose ends do not
//! agree proves nothing. Variables narrow a run down:
//!
//! | Variable | Effect |
//! |---|---|
//! | `MATRIX_ROUTE=direct\|gateway` | only cells without, or with, a gateway |
//! | `MATRIX_ONLY=TEXT` | only cells whose name holds TEXT, such as `legacy client, modern server over stdio, http face` |
//! | `MATRIX_LIMIT=N` | cells at a time (6) |
//! | `MATRIX_CALLS=N` | interleaved calls of two like clients (2,000; the whole scenario is 100,000) |
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot run has failed")]
#![expect(clippy::disallowed_types, reason = "tests look into messages")]
#![expect(clippy::print_stderr, reason = "a failed cell shows the gateway's log")]

mod cell;
mod fake;
mod features;
mod gateway;
mod handles;
mod load;
mod world;
