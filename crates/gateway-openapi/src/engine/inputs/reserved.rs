use http::HeaderName;

use super::Reserved;
use crate::ir::{Location, Param};

/// Headers that say how a message is carried or where it goes, who asks, or what comes back.
const HEADERS: [&str; 44] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "authorization",
    "connection",
    "cookie",
    "cookie2",
    "date",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "last-event-id",
    "max-forwards",
    "origin",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    // With these, servers take another method or path for the one that was asked for.
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    // With these, they take another client or host for the one that asks or is asked.
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "client-ip",
    "fastly-client-ip",
    "true-client-ip",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-forwarded",
    "x-host",
    "x-http-host-override",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-remote-addr",
];

const FAMILIES: [&str; 7] = ["content-", "mcp-", "proxy-", "sec-", "x-envoy-", "x-forwarded-", "x-original-"];

const SET: &str = "it is set by the configuration";
const UNSET: &str = "it is for credentials, of which none are configured here";

/// Why the parameter is no input of a tool, if it is none (E-W11).
pub(super) fn reason(param: &Param, reserved: &Reserved) -> Option<&'static str> {
    let is_reserved = match param.location {
        Location::Path | Location::QueryString => false,
        Location::Query => reserves(&param.name, reserved.query.iter().map(String::as_str)),
        Location::Cookie => reserved.cookies.contains(&param.name),
        Location::Header => return header_reason(&param.name, reserved),
    };
    is_reserved.then(|| why(param.location, &param.name, reserved))
}

fn header_reason(name: &str, reserved: &Reserved) -> Option<&'static str> {
    let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
        return Some("no header can be called so");
    };
    if reserved.headers.contains(&name) {
        return Some(why(Location::Header, name.as_str(), reserved));
    }
    is_of_http(&name).then_some("the header is not the caller's to set")
}

/// Which of the two makes a reserved name so.
fn why(location: Location, name: &str, reserved: &Reserved) -> &'static str {
    let is_unset = |name: &str| reserved.unset.contains(&(location, name.to_owned()));
    let is_set = match location {
        Location::Query => {
            reserves(name, reserved.query.iter().map(String::as_str).filter(|name| !is_unset(name)))
        }
        _ => !is_unset(name),
    };
    if is_set { SET } else { UNSET }
}

/// Whether a header is HTTP's own, or says where a request comes from: none of these is ever taken from arguments.
pub(crate) fn is_of_http(name: &HeaderName) -> bool {
    let name = name.as_str();
    HEADERS.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether a member of the query is one of `names` to some server: case and brackets at the end are not told apart by
/// all of them.
pub(crate) fn reserves<'a>(member: &str, names: impl IntoIterator<Item = &'a str>) -> bool {
    let stem = |name: &'a str| name.split_once('[').map_or(name, |(stem, _)| stem);
    let member = member.split_once('[').map_or(member, |(stem, _)| stem);
    names.into_iter().any(|name| stem(name).eq_ignore_ascii_case(member))
}
