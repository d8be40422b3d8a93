//! Tokens of authorization servers, got by the gateway as their client (protocol.md §18.3, security.md §1.6 and §5.2).
//!
//! [`OauthCredentials`] are those of one downstream. A token comes from a person who authorized the gateway ([`login`]
//! for the operator, [`ConnectPages`] for users) and is kept in a [`TokenStore`], or from a grant without a person
//! and is kept in memory. It is sent to that downstream alone.

mod address;
mod assertion;
mod challenge;
mod client;
mod config;
mod credentials;
mod desk;
mod discovery;
mod documents;
mod error;
mod exchange;
mod form;
mod grant;
mod held;
mod login;
mod loopback;
mod page;
mod pages;
mod provider;
mod random;
mod renewal;
mod scopes;
mod store;
mod tickets;
mod trust;
mod wire;

pub use assertion::SigningKey;
pub use config::{ClientIdentity, Confidant, Mode, OauthConfig, OauthLimits, Probe};
pub use credentials::OauthCredentials;
pub use error::OauthError;
pub use exchange::{Actor, Exchange};
pub use login::LoginReport;
pub use loopback::login;
pub use pages::{ConnectPages, PageAnswer, PageRequest, ProveUser, UserPages};
pub use provider::Provider;
pub use store::{FileStore, MemoryStore, Slot, StoreError, StoreKey, TokenStore};
