//! The API over TCP and TLS.

mod client;
mod config;
mod connector;
mod failure;
mod tls;

pub use client::NetworkClient;
pub use config::{ClientConfig, ClientConfigError};
