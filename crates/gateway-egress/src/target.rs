use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use http::Uri;

use crate::{
    EgressError,
    address::{is_of_the_host, is_public},
};

/// By whom an address was named, which decides what it may be (security.md §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Named {
    /// By the operator, in the configuration: it may be a private address. Link-local ones, where clouds keep the
    /// credentials of their machines, only as the very address, not by a name.
    ByOperator,
    /// By a document of somebody else's: it may be private only if the operator names the same authority somewhere,
    /// and is `https` unless it is a loopback address that the operator names.
    ByDocument,
}

/// The authorities that the operator names: host and port, compared as they are written but for the case of letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorities(BTreeSet<String>);

impl Authorities {
    /// Adds that of a URL of the configuration.
    ///
    /// # Errors
    /// [`EgressError::Refused`]: it is no URL that anything is fetched from.
    pub fn add(&mut self, url: &str) -> Result<(), EgressError> {
        let uri = read_url(url)?;
        self.0.insert(Target::of(&uri)?.authority());
        Ok(())
    }
}

/// Reads a URL that something is to be fetched from: `http` or `https`, with a host, without user information and
/// fragment. A [`Uri`] has lost its fragment, so that texts of documents come through here.
///
/// # Errors
/// [`EgressError::Refused`].
pub fn read_url(text: &str) -> Result<Uri, EgressError> {
    if text.contains('#') {
        return Err(refused("a URL with a fragment"));
    }
    let uri = text.parse().map_err(|_| refused("no valid URL"))?;
    Target::of(&uri)?;
    Ok(uri)
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) is_secure: bool,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Address(IpAddr),
    /// In lower case.
    Name(String),
}

impl Target {
    pub(crate) fn of(uri: &Uri) -> Result<Self, EgressError> {
        let is_secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(refused("neither http nor https")),
        };
        let authority = uri.authority().ok_or_else(|| refused("a URL without a host"))?;
        if authority.as_str().contains('@') {
            return Err(refused("a URL with user information"));
        }
        let host = Host::read(authority.host())?;
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str().len() > authority.host().len() => {
                return Err(refused("a port that is none"));
            }
            None if is_secure => 443,
            None => 80,
        };
        Ok(Self { is_secure, host, port })
    }

    /// Host and port, by which the operator's are found.
    pub(crate) fn authority(&self) -> String {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => format!("[{address}]:{}", self.port),
            Host::Address(IpAddr::V4(address)) => format!("{address}:{}", self.port),
            Host::Name(name) => format!("{name}:{}", self.port),
        }
    }

    /// What may be reached here, before any name is resolved.
    ///
    /// # Errors
    /// [`EgressError::Refused`]: nothing.
    pub(crate) fn rules(&self, named: Named, authorities: &Authorities) -> Result<Rules, EgressError> {
        let is_named = named == Named::ByOperator || authorities.0.contains(&self.authority());
        if named == Named::ByDocument {
            if self.host.is_odd() {
                return Err(refused("an address that is not written as one"));
            }
            if !self.is_secure && !is_named {
                return Err(refused("not https"));
            }
        }
        Ok(Rules {
            is_named,
            is_loopback_only: named == Named::ByDocument && !self.is_secure,
            is_literal: matches!(self.host, Host::Address(_)),
        })
    }
}

impl Host {
    fn read(text: &str) -> Result<Self, EgressError> {
        if let Some(inner) = text.strip_prefix('[') {
            // Zones fail here too: what they mean is this machine's affair.
            let address = inner.strip_suffix(']').and_then(|inner| inner.parse::<Ipv6Addr>().ok());
            return address.map(|address| Self::Address(address.into())).ok_or_else(|| refused("no address"));
        }
        let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if text.is_empty() || text.starts_with('.') || text.contains("..") || !text.bytes().all(is_of_names) {
            return Err(refused("a host that is neither a name nor an address"));
        }
        Ok(match text.parse::<Ipv4Addr>() {
            Ok(address) => Self::Address(address.into()),
            Err(_) => Self::Name(text.to_ascii_lowercase()),
        })
    }

    /// Whether it is a name that the system's resolver takes for a number: `127.1`, `0x7f.1`, `2130706433`, or an
    /// address with a dot behind it.
    fn is_odd(&self) -> bool {
        let Self::Name(name) = self else { return false };
        let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        let is_hexadecimal =
            last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        is_hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Which addresses of a target may be dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The operator names the authority.
    is_named: bool,
    is_loopback_only: bool,
    /// The host is the address itself.
    is_literal: bool,
}

impl Rules {
    pub(crate) fn admit(self, address: IpAddr) -> bool {
        let is_allowed = match self.is_named {
            true => self.is_literal || !is_of_the_host(address),
            false => is_public(address),
        };
        is_allowed && (!self.is_loopback_only || address.is_loopback())
    }
}

pub(crate) fn refused(reason: &'static str) -> EgressError {
    EgressError::Refused { reason }
}

#[cfg(test)]
mod tests;
