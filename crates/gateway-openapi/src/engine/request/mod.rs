//! Requests out of arguments (E-16 to E-21, E-W1 to E-W3, security.md T16).

mod base;

use bytes::Bytes;
use gateway_domain::RawObject;
use http::{HeaderName, HeaderValue};

pub use self::base::{BaseUrl, BaseUrlError};
use super::{CallError, Extras, Inputs};
use crate::ir::Operation;

/// The request that asks for `operation` with these arguments, which [`Inputs::check`] has taken. Its URI is absolute.
///
/// `per_call_headers` win over those of `extras` (E-50), and both over what arguments say.
///
/// # Errors
/// [`CallError::Arguments`], [`CallError::Encoding`] or [`CallError::Request`].
pub fn build(
    base: &BaseUrl,
    operation: &Operation,
    inputs: &Inputs,
    arguments: &RawObject,
    extras: &Extras,
    per_call_headers: &[(HeaderName, HeaderValue)],
) -> Result<http::Request<Bytes>, CallError> {
    let _ = (base, operation, inputs, arguments, extras, per_call_headers);
    Err(CallError::Request { reason: "not built".into() })
}
