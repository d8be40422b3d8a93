use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, COOKIE, HOST, USER_AGENT},
};

use super::{
    Asked, cookie, encode, header,
    query::Member,
    value::{check_present, unfit},
};
use crate::{
    engine::{CallError, inputs::is_of_http},
    ir::{Location, Param},
};

/// JSON before anything else; an API that has nothing else to offer may say so.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, */*;q=0.8");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("gatewayd/", env!("CARGO_PKG_VERSION")));

/// The most that all headers are together, in bytes.
const LONGEST: usize = 64 * 1024;

/// Headers that say how a message is carried: they follow from the connection and the body, whatever anybody says.
const FRAMING: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers of a request: those of arguments, over which go static ones and credentials, over which go those of the
/// call.
pub(super) fn write(
    asked: &Asked<'_>,
    content_type: Option<HeaderValue>,
    per_call: &[(HeaderName, HeaderValue)],
) -> Result<HeaderMap, CallError> {
    let mut headers = HeaderMap::new();
    set(&mut headers, ACCEPT, ACCEPTED)?;
    set(&mut headers, USER_AGENT, AGENT)?;
    for (param, value) in asked.params(Location::Header)? {
        let name = HeaderName::from_bytes(param.name.as_bytes()).ok().filter(|name| !is_of_http(name));
        let value = header::value(param, &value)?;
        check_present(param, value.is_some())?;
        if let (Some(name), Some(value)) = (name, value) {
            set(&mut headers, name, value)?;
        }
    }
    if let Some(value) = cookies(asked)? {
        set(&mut headers, COOKIE, value)?;
    }
    replace(&mut headers, asked.extras.headers.iter().filter(|(name, _)| name != COOKIE))?;
    replace(&mut headers, per_call.iter().filter(|(name, _)| !is_of_another(name)))?;
    if let Some(content_type) = content_type {
        set(&mut headers, CONTENT_TYPE, content_type)?;
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > LONGEST {
        return Err(CallError::Arguments {
            reason: format!("the headers would be longer than {LONGEST} bytes"),
        });
    }
    Ok(headers)
}

/// Headers of a call come from somebody else's request, as when a client's are passed on. What belongs to that one's
/// connection (RFC 9110 §7.6.1), server or body is not for the API.
fn is_of_another(name: &HeaderName) -> bool {
    name == HOST
        || name == CONTENT_ENCODING
        || name == "http2-settings"
        || name.as_str().starts_with("proxy-")
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) -> Result<(), CallError> {
    headers.try_insert(name, value).map(|_| ()).map_err(|_| too_many())
}

fn too_many() -> CallError {
    CallError::Request { reason: "it would have too many headers".into() }
}

/// Puts headers in the place of those that have the same names; several of one name stay several.
fn replace<'a>(
    headers: &mut HeaderMap,
    by: impl Iterator<Item = &'a (HeaderName, HeaderValue)>,
) -> Result<(), CallError> {
    let by: Vec<_> = by.filter(|(name, _)| !FRAMING.contains(&name.as_str())).collect();
    for (name, _) in &by {
        headers.remove(name);
    }
    for (name, value) in by {
        headers.try_append(name, value.clone()).map_err(|_| too_many())?;
    }
    Ok(())
}

/// One line of cookies, the operator's first.
fn cookies(asked: &Asked<'_>) -> Result<Option<HeaderValue>, CallError> {
    let own =
        |(name, value): &(String, String)| format!("{}={}", encode::component(name), encode::cookie(value));
    let lines = asked.extras.headers.iter().filter(|(name, _)| name == COOKIE);
    let lines = lines.filter_map(|(_, line)| line.to_str().ok().map(str::to_owned));
    let mut cookies: Vec<String> = lines.chain(asked.extras.cookies.iter().map(own)).collect();
    for (param, value) in asked.params(Location::Cookie)? {
        let (members, between) = cookie::param(param, &value)?;
        check_present(param, !members.is_empty())?;
        check_free(param, &members, asked)?;
        cookies.extend(members.into_iter().map(|member| member.text).reduce(|a, b| a + between + &b));
    }
    if cookies.is_empty() {
        return Ok(None);
    }
    let line = cookies.join("; ");
    if line.len() > header::LONGEST {
        return Err(CallError::Arguments { reason: "the cookies would be too long".into() });
    }
    let mut value = HeaderValue::try_from(line)
        .map_err(|_| CallError::Request { reason: "its cookies would not be a header".into() })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Refuses an object whose members would become credentials or another cookie.
fn check_free(param: &Param, members: &[Member], asked: &Asked<'_>) -> Result<(), CallError> {
    let lines = asked.extras.headers.iter().filter(|(name, _)| name == COOKIE);
    let fixed: Vec<_> = lines.flat_map(|(_, line)| cookie::names(line)).collect();
    let is_taken = |name: &str| {
        fixed.iter().any(|other| other == name)
            || asked.extras.cookies.iter().any(|(other, _)| other == name)
            || asked.inputs.reserved().cookies.contains(name)
            || asked.declared(Location::Cookie, param).any(|other| other == name)
    };
    let mut free = members.iter().filter(|member| member.is_free).map(|member| member.key.as_str());
    match free.find(|name| name.is_empty() || is_taken(name)) {
        None => Ok(()),
        Some("") => Err(unfit(&param.name, "must not have a member without a name: no cookie is without")),
        Some(_) => Err(unfit(&param.name, "must not have a member that is called like another cookie")),
    }
}
