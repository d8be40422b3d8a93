use std::fmt;

use http::Uri;

use super::encode::{decode, is_dotted};

/// Where an API is: scheme, authority and the path that all of its paths are below. Comes from the operator, never from
/// a document or from arguments (E-45).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaseUrl {
    uri: Uri,
    origin: String,
    prefix: String,
}

/// Why a text is no base URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a base URL: {reason}")]
pub struct BaseUrlError {
    reason: &'static str,
}

impl BaseUrl {
    /// Reads `http://host/prefix` or `https://host/prefix`. Slashes at the end are cut (E-19).
    ///
    /// # Errors
    /// [`BaseUrlError`]: another scheme, no host, user information, a query, a fragment, dot segments, or characters
    /// that stand in no URL.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("it does not begin with http:// or https://"))?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(wrong("only http and https are spoken"));
        }
        if rest.contains('?') || rest.contains('#') {
            return Err(wrong("it must not have a query or a fragment"));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        check_authority(authority)?;
        let prefix = path.trim_end_matches('/');
        check_prefix(prefix)?;
        let origin = format!("{scheme}://{}", authority.to_ascii_lowercase());
        let uri = format!("{origin}{prefix}").parse().map_err(|_| wrong("it is not a URL"))?;
        Ok(Self { uri, origin, prefix: prefix.to_owned() })
    }

    /// The whole. Its path has no slash at its end, unless it is `/`.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The path without slashes at its end; may be empty.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Scheme and authority, as a URL begins.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }
}

/// Without a slash at its end.
impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.prefix)
    }
}

fn wrong(reason: &'static str) -> BaseUrlError {
    BaseUrlError { reason }
}

/// A host name, an IPv4 address or an IPv6 address in brackets, and perhaps a port.
fn check_authority(authority: &str) -> Result<(), BaseUrlError> {
    if authority.contains('@') {
        return Err(wrong("it must not have user information; credentials are configured apart"));
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => {
            host.parse::<std::net::Ipv6Addr>().map_err(|_| wrong("its address is not one of IPv6"))?;
            (host, port.strip_prefix(':').or_else(|| (!port.is_empty()).then_some("none")))
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':');
    if host.is_empty() || !host.bytes().all(is_name) {
        return Err(wrong("it has no host, or one with characters that no host has"));
    }
    let is_port = |port: &str| {
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    match port {
        Some(port) if !is_port(port) => Err(wrong("its port is not one")),
        _ => Ok(()),
    }
}

fn check_prefix(prefix: &str) -> Result<(), BaseUrlError> {
    let is_path = |b: u8| b.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@%".contains(&b);
    if !prefix.bytes().all(is_path) {
        return Err(wrong("its path has characters that must be percent-encoded"));
    }
    let mut segments = prefix.split('/').skip(1);
    if segments
        .any(|segment| segment.is_empty() || is_dotted(segment.as_bytes()) || is_dotted(&decode(segment)))
    {
        return Err(wrong("its path has empty or dot segments"));
    }
    Ok(())
}
