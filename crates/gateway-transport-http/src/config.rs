use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use gateway_domain::OperatorError;
use gateway_egress::{Credentials, Identity, Trust};
use gateway_protocol::{Implementation, Revision};

use crate::{endpoint, headers};

/// Where a remote server is, what is sent to it, and the limits of what it may do.
#[derive(Clone)]
pub struct HttpConfig {
    /// The endpoint: `http` or `https`, without user name and password.
    pub url: String,
    /// Headers that every request carries, such as `Authorization`; [`fmt::Debug`] shows no values.
    ///
    /// Headers that belong to HTTP or MCP ([`crate::is_reserved_header`]) are refused when a factory is made.
    /// This is less than R-69 asks for, where a configured header replaces one of the same name: replaced,
    /// they would break the framing of messages or the session (security.md §2.3).
    pub headers: Vec<(String, String)>,
    /// What requests prove themselves with; its headers go before those of [`Self::headers`]. A request that is
    /// refused with 401 or 403 is made once more if there are others then. Default none.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// A PEM file with certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The same, as bytes.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate to show if the server asks for one.
    pub identity: Option<Identity>,
    /// How long a TCP connection may take to come about. Default 10 s.
    pub connect_timeout: Duration,
    /// How long opening a session may take in all. Default 30 s.
    pub startup_timeout: Duration,
    /// How long a call may take, counted anew with each progress notification. Default 60 s.
    pub call_timeout: Duration,
    /// How long a call may take however much progress it reports. Default 600 s.
    pub max_call_time: Duration,
    /// How long a page of tools, a ping, or the answer to a server's own request may take. Default 10 s.
    pub request_timeout: Duration,
    /// How long farewells may take: cancel notifications, the end of a session. Default 2 s.
    pub close_timeout: Duration,
    /// The largest JSON body and the largest event of a stream. Default 16 MiB.
    pub max_message_bytes: usize,
    /// The most bytes of header fields in an answer, and the size of a connection's read buffer, which is
    /// 8 KiB at least. Default 64 KiB.
    pub max_header_bytes: usize,
    /// The most header fields in an answer. Default 100.
    pub max_header_fields: usize,
    /// The most notifications of one call that are passed on; more are dropped. Default 10,000.
    pub max_notifications: usize,
    /// The most resources that are watched in one session. Default 10,000.
    pub max_subscriptions: usize,
    /// The most errands of a kind that run beside calls at once: farewells, replies, and unread ends of answers. What
    /// is over is left out. Default 64.
    pub max_errands: usize,
    /// How long a connection is kept without use. The default, 4 s, is below the 5 s after which widespread servers
    /// close one: a request on a connection that is just being closed fails.
    pub idle_timeout: Duration,
    /// The most connections that are kept without use. Default 128.
    pub max_idle: usize,
    /// How long it is believed that a server lacks an era (protocol.md §7.3: an upgrade would go
    /// unnoticed). Default 10 min.
    pub verdict_lifetime: Duration,
    /// Whether sessions listen for changes of the server's lists where it announces them. The observer
    /// needs to hear them from one session only: [`crate::HttpFactory::without_change_stream`] makes the
    /// others, which listen only for what is their own client's. Default true.
    pub change_stream: bool,
    /// The longest pause before a lost stream is opened again, a call's or that of changes, whatever the server
    /// asks for. The first is that, or 1 s; the next lie between it and a bound that doubles. Default 60 s.
    pub max_reconnect_delay: Duration,
    /// The only revision to speak. Default: any.
    pub protocol: Option<Revision>,
    /// Who we say we are.
    pub client: Implementation,
}

impl HttpConfig {
    /// An endpoint with default limits and no headers, and who we say there that we are.
    pub fn new(url: impl Into<String>, client: Implementation) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            credentials: None,
            ca_file: None,
            ca_pem: None,
            identity: None,
            connect_timeout: Duration::from_secs(10),
            startup_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            max_call_time: Duration::from_secs(600),
            request_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(2),
            max_message_bytes: 16 << 20,
            max_header_bytes: 64 << 10,
            max_header_fields: 100,
            max_notifications: 10_000,
            max_subscriptions: 10_000,
            max_errands: 64,
            idle_timeout: Duration::from_secs(4),
            max_idle: 128,
            verdict_lifetime: Duration::from_secs(600),
            change_stream: true,
            max_reconnect_delay: Duration::from_secs(60),
            protocol: None,
            client,
        }
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust { ca_file: self.ca_file.clone(), ca_pem: self.ca_pem.clone(), identity: self.identity.clone() }
    }

    /// Checks what can be checked without a connection, as [`HttpFactory::new`](crate::HttpFactory::new)
    /// does: URL, headers, and the configured certificates, whose file is read.
    ///
    /// # Errors
    /// [`OperatorError::Configuration`] with what is wrong; it names no downstream, and no header's value.
    pub fn check(&self) -> Result<(), OperatorError> {
        let checked = endpoint::address(&self.url)
            .and_then(|_| headers::base(&self.headers, &self.client))
            .and_then(|_| self.trust().check());
        checked.map_err(|reason| OperatorError::Configuration { reason })
    }
}

/// Neither header values nor the query of the URL, which may be secrets, are shown.
impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        let url = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpConfig")
            .field("url", &url)
            .field("headers", &headers)
            .field("credentials", &self.credentials)
            .field("protocol", &self.protocol)
            .field("change_stream", &self.change_stream)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_known_beforehand_is_checked() {
        let check = |change: fn(&mut HttpConfig), expected: Option<&str>| {
            let mut config = HttpConfig::new("https://h.example/mcp", Implementation::new("g", "G", "1"));
            change(&mut config);
            let told = config.check().err().map(|error| error.to_string());
            assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
            assert!(told.unwrap_or_default().contains(expected.unwrap_or_default()));
        };
        check(|_| {}, None);
        check(|config| config.url = "ftp://h".into(), Some("must begin with http"));
        check(|config| config.headers = vec![("Host".into(), "x".into())], Some("the header `Host`"));
        check(|config| config.ca_pem = Some(b"x".to_vec()), Some("holds no certificate"));
        check(|config| config.ca_file = Some("/no/such".into()), Some("cannot read /no/such"));
    }
}
