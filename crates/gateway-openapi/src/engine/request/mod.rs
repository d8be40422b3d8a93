//! Requests out of arguments (E-16 to E-21, E-W1 to E-W3, security.md T16).

mod base;
mod body;
mod cookie;
mod encode;
mod head;
mod header;
mod path;
mod query;
#[cfg(test)]
mod tests;
mod uri;
mod value;

use bytes::Bytes;
use gateway_domain::{RawJson, RawObject};
use http::{HeaderName, HeaderValue, Method, header::CONTENT_LENGTH};

pub use self::base::{BaseUrl, BaseUrlError};
pub(super) use self::{cookie::names as cookie_names, encode::has_dots};
use super::{CallError, Extras, Inputs, inputs::Origin};
use crate::ir::{Location, Operation, Param};

/// The request that asks for `operation` with these arguments, which [`Inputs::check`] has taken. Its URI is absolute,
/// with the scheme, the authority and the path of `base`, and as many segments as the operation's path has: values are
/// encoded, and refused where they could be read as something else even so.
///
/// `per_call_headers` win over those of `extras` (E-50), and both over what arguments say. A JSON body is the argument's
/// own bytes. `Accept` is `application/json, */*;q=0.8` unless one of them says otherwise.
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
    let asked = Asked { operation, inputs, arguments, extras };
    let uri = uri::write(base, &asked)?;
    let body = asked.body()?;
    let (content_type, bytes) = body.map_or((None, Bytes::new()), |(kind, bytes)| (Some(kind), bytes));
    let mut headers = head::write(&asked, content_type, per_call_headers)?;
    if bytes.is_empty() && expects_content(operation) {
        // RFC 9110 §8.6: some servers wait for a body, or refuse, where nothing says that there is none.
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let mut request = http::Request::new(bytes);
    *request.method_mut() = method(operation);
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

fn expects_content(operation: &Operation) -> bool {
    use crate::ir::Method as Ir;
    matches!(operation.method, Ir::Post | Ir::Put | Ir::Patch)
}

fn method(operation: &Operation) -> Method {
    use crate::ir::Method as Ir;
    match operation.method {
        Ir::Get => Method::GET,
        Ir::Post => Method::POST,
        Ir::Put => Method::PUT,
        Ir::Patch => Method::PATCH,
        Ir::Delete => Method::DELETE,
        Ir::Head => Method::HEAD,
    }
}

/// What a request is made of.
struct Asked<'a> {
    operation: &'a Operation,
    inputs: &'a Inputs,
    arguments: &'a RawObject,
    extras: &'a Extras,
}

impl<'a> Asked<'a> {
    /// The parameters at a place that have a value, in the order of the operation.
    fn params(&self, location: Location) -> Result<Vec<(&'a Param, RawJson)>, CallError> {
        let mut found = Vec::new();
        for (param, origin) in std::iter::zip(&self.operation.params, self.inputs.params()) {
            if param.location == location {
                let required = param.required || location == Location::Path;
                found.extend(self.value(origin, required)?.map(|value| (param, value)));
            }
        }
        Ok(found)
    }

    fn body(&self) -> Result<Option<(HeaderValue, Bytes)>, CallError> {
        let (Some(body), Some(origin)) = (&self.operation.body, self.inputs.body()) else { return Ok(None) };
        let Some(value) = self.value(origin, body.required)? else { return Ok(None) };
        match body::write(body, &value)? {
            None if body.required => {
                Err(CallError::Arguments { reason: "the body must not be null: it is required".into() })
            }
            written => Ok(written),
        }
    }

    fn value(&self, origin: &Origin, required: bool) -> Result<Option<RawJson>, CallError> {
        match origin {
            Origin::Fixed(value) => Ok(Some(value.clone())),
            Origin::Nowhere => Ok(None),
            Origin::Argument(name) => match self.arguments.get(name) {
                None if required => Err(CallError::Arguments { reason: format!("missing: {name}") }),
                value => Ok(value),
            },
        }
    }

    /// What parameters at this place are called by the operation, `but` one.
    fn declared(&self, location: Location, but: &Param) -> impl Iterator<Item = &'a str> {
        let others =
            self.operation.params.iter().filter(move |it| it.location == location && it.name != but.name);
        others.map(|param| param.name.as_str())
    }
}
