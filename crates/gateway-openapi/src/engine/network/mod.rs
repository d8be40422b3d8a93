//! The API over TCP and TLS.

mod client;
mod config;
mod failure;

pub use client::NetworkClient;
pub use config::{ClientConfig, ClientConfigError};
