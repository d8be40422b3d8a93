//! Who a browser thinks it talks to, and on whose behalf: the defence against DNS rebinding and
//! cross-site requests (security.md §2.1). Decided once for every path, before anything else.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri, Version, header, uri::Authority};

use crate::config::BindError;

/// Why a request is refused before anything is read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No usable `Host`: 400.
    Malformed,
    /// A host under which this server is not known: 403.
    Host,
    /// An origin that may not call: 403.
    Origin,
}

/// The hosts and origins that are let through, besides those that the address itself stands for.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    hosts: Vec<Host>,
    origins: Vec<Origin>,
    /// The origin of our own pages.
    own: Option<Origin>,
}

/// `host[:port]`, host in lower case, an IPv6 address without brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    name: String,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    scheme: String,
    host: Host,
}

impl Guard {
    /// # Errors
    /// [`BindError::Host`] or [`BindError::Origin`] for the first entry that is neither.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, BindError> {
        Ok(Self {
            hosts: hosts.iter().map(|entry| Host::entry(entry)).collect::<Result<_, _>>()?,
            origins: origins.iter().map(|entry| Origin::entry(entry)).collect::<Result<_, _>>()?,
            own: None,
        })
    }

    /// The same with pages of this origin.
    ///
    /// # Errors
    /// [`BindError::Origin`].
    pub(crate) fn with_pages_at(self, origin: Option<&str>) -> Result<Self, BindError> {
        Ok(Self { own: origin.map(Origin::entry).transpose()?, ..self })
    }

    /// Checks the head of a request that came to the address `bound`. The origin comes back if there is one.
    /// `of_pages`: it is for a page of ours, which our own pages may send to.
    pub(crate) fn check<'a>(
        &self,
        bound: SocketAddr,
        version: Version,
        uri: &Uri,
        headers: &'a HeaderMap,
        of_pages: bool,
    ) -> Result<Option<&'a str>, Refused> {
        // What is `:authority` in HTTP/2 is part of the target here.
        let authority = uri.authority().filter(|_| version == Version::HTTP_2);
        let host = single(headers, header::HOST)?.or_else(|| authority.map(Authority::as_str));
        let host = host.ok_or(Refused::Malformed)?;
        // In absolute form the target has a host of its own, and two readers may trust different ones.
        if uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(host)) {
            return Err(Refused::Malformed);
        }
        let host = Host::parse(host).ok_or(Refused::Malformed)?;
        if !self.knows(bound, &host) {
            return Err(Refused::Host);
        }
        let Some(origin) = single(headers, header::ORIGIN).map_err(|_| Refused::Origin)? else {
            return Ok(None);
        };
        let admitted =
            |parsed: &Origin| self.admits(bound, parsed) || (of_pages && self.own.as_ref() == Some(parsed));
        if Origin::parse(origin).as_ref().is_some_and(admitted) {
            Ok(Some(origin))
        } else {
            Err(Refused::Origin)
        }
    }

    fn knows(&self, bound: SocketAddr, host: &Host) -> bool {
        let configured =
            |known: &Host| known.name == host.name && (known.port.is_none() || known.port == host.port);
        if self.hosts.iter().any(configured) {
            return true;
        }
        let bound = bound.ip();
        match host.name.parse::<IpAddr>() {
            // A page can be rebound from its name to our address, never from an address.
            Ok(address) => {
                address == bound || bound.is_unspecified() || (bound.is_loopback() && address.is_loopback())
            }
            Err(_) => host.is_loopback() && (bound.is_loopback() || bound.is_unspecified()),
        }
    }

    fn admits(&self, bound: SocketAddr, origin: &Origin) -> bool {
        let web = matches!(origin.scheme.as_str(), "http" | "https");
        (web && bound.ip().is_loopback() && origin.host.is_loopback()) || self.origins.contains(origin)
    }
}

impl Host {
    /// One of the hosts that an operator allows.
    pub(crate) fn entry(text: &str) -> Result<Self, BindError> {
        Self::parse(text).ok_or_else(|| BindError::Host { entry: text.to_owned() })
    }

    fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                address.parse::<std::net::Ipv6Addr>().ok()?;
                (address, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
            }
            None => match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            },
        };
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        if name.is_empty() || !(text.starts_with('[') || name.bytes().all(named)) {
            return None;
        }
        let port = match port {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
            None => None,
        };
        Some(Self { name: name.to_ascii_lowercase(), port })
    }

    fn is_loopback(&self) -> bool {
        self.name == "localhost" || self.name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl Origin {
    /// One of the origins that an operator allows.
    pub(crate) fn entry(text: &str) -> Result<Self, BindError> {
        Self::parse(text).ok_or_else(|| BindError::Origin { entry: text.to_owned() })
    }

    /// `null` and everything else that is not `scheme://host[:port]` is no origin.
    fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(named) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let mut host = Host::parse(host)?;
        // A browser leaves the scheme's own port out, an operator may not.
        let own = match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        host.port = host.port.or(own);
        Some(Self { scheme, host })
    }
}

fn single(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, Refused> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| Refused::Malformed),
        (Some(_), Some(_)) => Err(Refused::Malformed),
    }
}

#[cfg(test)]
mod tests;
