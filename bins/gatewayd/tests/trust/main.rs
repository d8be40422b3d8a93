//! Who may do what, and what is proved to whom: the program as a whole between real clients, authorization servers,
//! and downstreams.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot run has failed")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]
#![expect(clippy::disallowed_types, reason = "tests look into messages")]

mod canary;
mod issuer;
mod login;
mod oauth;
mod outbound;
mod process;
#[path = "../gateway/secrets.rs"]
mod secrets;
#[path = "../gateway/telling.rs"]
mod telling;
mod tls;
mod web;
