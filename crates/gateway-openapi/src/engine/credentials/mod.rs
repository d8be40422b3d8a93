//! Security schemes of an API, fed with what the operator configured (E-W10). Nothing here comes from arguments.

mod credential;
mod error;
mod grant;
mod secret;
mod selection;
mod supply;
mod token_url;
mod tokens;

#[cfg(test)]
mod tests;

pub use credential::{ClientAuthentication, ClientCredentials, Credential};
pub use error::CredentialError;
pub use secret::Secret;
pub use selection::Credentials;
