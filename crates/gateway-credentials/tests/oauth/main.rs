//! The gateway as a client of authorization servers (protocol.md §18.3, security.md §1.6 and §5.2).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod enterprise;
mod exchange;
mod fake;
mod flows;
mod jwt_bearer;
mod loopback;
mod pages;
