use http::Uri;

use super::OauthError;

/// An absolute `http` or `https` URL without user and fragment, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    text: String,
    https: bool,
    host: String,
    port: u16,
    path: String,
    query: Option<String>,
}

impl Address {
    /// Reads a URL. Hosts are compared in lower case, the default port is as good as none.
    pub(crate) fn parse(text: &str) -> Result<Self, OauthError> {
        const BAD: OauthError = OauthError::Malformed("URL");
        if text.contains(['#', '\\']) || text.chars().any(|one| one.is_control() || one == ' ') {
            return Err(BAD);
        }
        let uri: Uri = text.parse().map_err(|_| BAD)?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(BAD),
        };
        let authority = uri.authority().ok_or(BAD)?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(BAD);
        }
        Ok(Self {
            text: text.to_owned(),
            https,
            host: authority.host().to_ascii_lowercase(),
            port: authority.port_u16().unwrap_or(if https { 443 } else { 80 }),
            path: uri.path().to_owned(),
            query: uri.query().map(str::to_owned),
        })
    }

    /// As it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The path, `/` if there is none.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    pub(crate) fn has_query(&self) -> bool {
        self.query.is_some()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Scheme, host and port, the port only where it is not the default.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        match (self.https, self.port) {
            (true, 443) | (false, 80) => format!("{scheme}://{}", self.host),
            (_, port) => format!("{scheme}://{}:{port}", self.host),
        }
    }

    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }

    /// The canonical form of a server's URL (protocol.md §18.2 no. 1): lower case, no fragment, no query, and no slash
    /// at the end where there is no path.
    pub(crate) fn canonical(&self) -> String {
        let path = if self.path == "/" { "" } else { &self.path };
        format!("{}{path}", self.origin())
    }

    /// Whether a URL on this origin lies at or below this one: `/a` is above `/a/b` and `/a`, not above `/ab`.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let below = || {
            let own = self.path.trim_end_matches('/');
            other.path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.origin() == other.origin() && self.query.is_none() && below()
    }

    /// The URL with parameters added to its query.
    pub(crate) fn with_query(&self, query: &str) -> String {
        let joint = if self.query.is_some() { '&' } else { '?' };
        format!("{}{joint}{query}", self.text)
    }
}

#[cfg(test)]
mod tests;
