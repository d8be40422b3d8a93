//! Fake MCP servers whose faults are switches, and a small client, for the tests of the other crates.
//!
//! It knows the wire and nothing of the gateway: it depends on no other crate of the workspace, so that it
//! cannot repeat the gateway's mistakes. What it sends is literal text; nothing is re-serialised.
//!
//! - [`stdio`]: a fake server as a child process; [`stdio::command`] gives the argv.
//! - [`http::HttpFake`]: a fake server on a loopback port; its faults are flipped while it runs.
//! - [`client`]: a client for both eras, and [`client::raw`] for what no client would send.
//! - [`fixtures`]: literal definitions and results to compare bytes with.
//! - [`Profile`]: what a fake offers.
//! - [`client::peer`]: a client of the whole protocol, which answers questions and keeps a record.
//! - [`schema`]: the published JSON Schemas, and whether what a record holds keeps to them.
//! - [`scenario`]: whole scenarios against a gateway program.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use gateway_testkit::{Profile, client::{HttpClient, Speaks}, fixtures, http::{HttpFake, Shape}};
//!
//! let fake = HttpFake::start(Profile { marker: Some("blue".into()), ..Profile::default() });
//! fake.set(|faults| faults.shape = Shape::Sse);
//! let client = HttpClient::connect(&fake.url(), Speaks::legacy()).await?;
//! let answer = client.call("\"1\"", "odd", "{}").await?;
//! assert_eq!(answer.result().as_deref(), Some(fixtures::ODD_RESULT));
//! assert_eq!(fake.requests_of("tools/call").len(), 1);
//! # std::io::Result::Ok(()) }).unwrap();
//! ```
#![expect(clippy::disallowed_types, reason = "a fake peer, not the data path")]
#![expect(clippy::panic, reason = "a test without its fake server has to stop")]

pub mod client;
pub mod fixtures;
pub mod http;
pub mod scenario;
pub mod schema;
pub mod stdio;
pub mod transcript;

mod behaviour;
mod changes;
mod engine;
mod events;
mod message;
mod offer;
mod profile;
mod reply;

pub use self::profile::{Era, LEGACY, MODERN, Paging, Probe, Profile};
