//! Who may do what, as the whole program has it: real clients in front of it, real servers behind it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot run has failed")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]
#![expect(clippy::disallowed_types, reason = "tests look into messages")]

mod audit;
mod pins;
mod policy;
mod profiles;
mod rates;
mod redaction;
mod reload;
#[path = "../gateway/secrets.rs"]
mod secrets;
mod spawn;
#[path = "../gateway/support.rs"]
#[expect(dead_code, reason = "what only the other tests use")]
mod support;
#[path = "../gateway/telling.rs"]
mod telling;
mod world;
