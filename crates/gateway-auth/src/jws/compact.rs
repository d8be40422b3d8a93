use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_domain::RawObject;

use super::Header;
use crate::reason::Reason;

/// What a token looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// It begins with a JSON object in base64url, as JWTs do.
    Jwt,
    /// It tells nothing.
    Opaque,
}

/// Sorts a token.
///
/// # Errors
/// Characters that are not those of RFC 6750's `b64token`.
pub(crate) fn form(token: &str) -> Result<Form, Reason> {
    let body = token.trim_end_matches('=');
    let is_token68 = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if body.is_empty() || !body.bytes().all(is_token68) {
        return Err(Reason::Malformed);
    }
    let is_object = |first: &str| {
        URL_SAFE_NO_PAD.decode(first).is_ok_and(|json| json.trim_ascii_start().starts_with(b"{"))
    };
    let is_jwt = token.split_once('.').is_some_and(|(first, _)| is_object(first));
    Ok(if is_jwt { Form::Jwt } else { Form::Opaque })
}

/// The parts of a token, decoded; nothing of it is checked but its form.
#[derive(Debug)]
pub(crate) struct Compact<'a> {
    /// What is signed.
    pub(crate) message: &'a str,
    /// How it says that it is signed.
    pub(crate) header: Header,
    /// What it says.
    pub(crate) claims: RawObject,
    /// The signature.
    pub(crate) signature: Vec<u8>,
}

impl<'a> Compact<'a> {
    /// Takes a token apart.
    pub(crate) fn parse(token: &'a str) -> Result<Self, Reason> {
        let (message, signature) = token.rsplit_once('.').ok_or(Reason::Malformed)?;
        let (header, claims) = message.split_once('.').ok_or(Reason::Malformed)?;
        let header = Header::parse(&object(header)?)?;
        if claims.contains('.') {
            return Err(Reason::Malformed);
        }
        let claims = object(claims)?;
        Ok(Self { message, header, claims, signature: decode(signature)? })
    }
}

fn object(part: &str) -> Result<RawObject, Reason> {
    RawObject::parse(decode(part)?).map_err(|_| Reason::Malformed)
}

/// Strict: no padding, no other alphabet, no stray bits, so that each token has one spelling.
fn decode(part: &str) -> Result<Vec<u8>, Reason> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Reason::Malformed)
}
