use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use gateway_domain::{self as domain, DownstreamFault, DownstreamName, DownstreamObserver, OperatorError};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header, uri::Scheme};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{runtime::Handle, sync::Semaphore};

use gateway_egress::{Connector, ConnectorConfig, Schemes};

use crate::{HttpConfig, body, failure::Failure, headers, memory::Memory, proof::Proof};

/// The number of header fields that hyper allows without being told.
const USUAL_HEADER_FIELDS: usize = 100;
/// The smallest read buffer that hyper takes.
const MIN_BUFFER: usize = 8192;

/// One server: the connections to it, and what all requests to it have in common. Shared by all sessions of
/// a factory.
pub(crate) struct Endpoint {
    pub(crate) name: DownstreamName,
    pub(crate) config: HttpConfig,
    pub(crate) observer: Arc<dyn DownstreamObserver>,
    pub(crate) memory: Memory,
    /// What every request carries.
    pub(crate) headers: HeaderMap,
    client: Client<Connector, Full<Bytes>>,
    pub(crate) uri: Uri,
    /// Farewells under way, and unread ends of answers; those are many and must not hold up these.
    errands: Arc<Semaphore>,
    remainders: Arc<Semaphore>,
    /// What is said to the server meanwhile, which must not keep it from hearing of farewells.
    asides: Arc<Semaphore>,
    left_out: AtomicU64,
}

impl Endpoint {
    pub(crate) fn new(
        name: DownstreamName,
        config: HttpConfig,
        observer: Arc<dyn DownstreamObserver>,
    ) -> Result<Self, OperatorError> {
        let wrong = |reason: String| OperatorError::Configuration {
            reason: format!("downstream `{name}`: {reason}"),
        };
        let uri = address(&config.url).map_err(wrong)?;
        let mut headers = headers::base(&config.headers, &config.client).map_err(wrong)?;
        if let Some(host) = host(&uri) {
            // hyper would write it anew for each request.
            headers.insert(header::HOST, host);
        }
        let client = client(&config, uri.scheme() == Some(&Scheme::HTTPS)).map_err(wrong)?;
        let memory = Memory::new(config.verdict_lifetime);
        let [errands, remainders, asides] = [(); 3].map(|()| Arc::new(Semaphore::new(config.max_errands)));
        let left_out = AtomicU64::new(0);
        Ok(Self {
            name,
            config,
            observer,
            memory,
            headers,
            client,
            uri,
            errands,
            remainders,
            asides,
            left_out,
        })
    }

    /// Sends one request and waits for the head of its answer. No redirect is followed. Dropping the future
    /// or the answer's body closes the connection. `incoming` is what came with the client's request that it is made
    /// for, if it is not the gateway's own.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
        incoming: Option<&domain::Incoming>,
    ) -> Result<Response<Incoming>, Failure> {
        self.send_to(self.uri.clone(), method, headers, body, incoming).await
    }

    /// The same to another address of the same server.
    pub(crate) async fn send_to(
        &self,
        uri: Uri,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
        incoming: Option<&domain::Incoming>,
    ) -> Result<Response<Incoming>, Failure> {
        let Some(credentials) = &self.config.credentials else {
            return self.send_once(uri, method, headers, body).await;
        };
        let proof = Proof::obtain(&**credentials, incoming).await?;
        let proven = proof.added_to(headers.clone());
        let answer = self.send_once(uri.clone(), method.clone(), proven, body.clone()).await?;
        let Some(other) = proof.after(&answer).await? else { return Ok(answer) };
        body::release(self, answer.into_body());
        self.send_once(uri, method, other.added_to(headers), body).await
    }

    async fn send_once(
        &self,
        uri: Uri,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let response = self.client.request(request).await?;
        // The buffer that hyper parses in is limited too, but to about twice that.
        let limit = self.config.max_header_bytes;
        if headers::size(response.headers()) > limit {
            return Err(Failure::during(DownstreamFault::TooLarge { limit }));
        }
        Ok(response)
    }

    /// Takes leave of a request or session beside the calls, at most for [`HttpConfig::close_timeout`]. Without
    /// a runtime or with too many errands under way it is left out.
    pub(crate) fn errand(&self, errand: impl Future<Output = ()> + Send + 'static) {
        if !run(&self.errands, self.config.close_timeout, errand)
            && self.left_out.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::warn!(downstream = %self.name, "too many farewells at once; the server is not told of all that is given up");
        }
    }

    /// Says something beside everything else; `false` if there is no runtime or too much of that kind already.
    pub(crate) fn beside(&self, limit: Duration, errand: impl Future<Output = ()> + Send + 'static) -> bool {
        run(&self.asides, limit, errand)
    }

    /// Reads what is left of an answer beside the calls. Left out, it costs the connection.
    pub(crate) fn remainder(&self, limit: Duration, reading: impl Future<Output = ()> + Send + 'static) {
        run(&self.remainders, limit, reading);
    }
}

fn run(places: &Arc<Semaphore>, limit: Duration, errand: impl Future<Output = ()> + Send + 'static) -> bool {
    let Ok(runtime) = Handle::try_current() else { return false };
    let Ok(place) = Arc::clone(places).try_acquire_owned() else { return false };
    drop(runtime.spawn(async move {
        // That it took too long changes nothing.
        let _ = tokio::time::timeout(limit, errand).await;
        drop(place);
    }));
    true
}

/// Reads the URL of a server.
///
/// # Errors
/// A sentence for the operator.
pub(crate) fn address(url: &str) -> Result<Uri, String> {
    if url.trim().is_empty() {
        return Err("`url` is empty".into());
    }
    let uri: Uri = url.parse().map_err(|error| format!("`url` is not valid: {error}"))?;
    if !matches!(uri.scheme(), Some(scheme) if *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS) {
        return Err("`url` must begin with http:// or https://".into());
    }
    let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    if authority.contains('@') {
        return Err("`url` holds a user name; put credentials into `headers`".into());
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err("`url` names no host".into());
    }
    Ok(uri)
}

/// The `Host` of requests to an address: with the port, unless it is its scheme's own.
fn host(uri: &Uri) -> Option<HeaderValue> {
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let host = uri.host()?;
    let text = match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    HeaderValue::try_from(text).ok()
}

fn client(config: &HttpConfig, secure: bool) -> Result<Client<Connector, Full<Bytes>>, String> {
    let connector = Connector::new(&ConnectorConfig {
        trust: config.trust(),
        connect_timeout: config.connect_timeout,
        schemes: if secure { Schemes::Https } else { Schemes::Http },
        ..ConnectorConfig::default()
    })?;
    let mut client = Client::builder(TokioExecutor::new());
    client
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(config.idle_timeout)
        .pool_max_idle_per_host(config.max_idle)
        .http1_max_buf_size(config.max_header_bytes.max(MIN_BUFFER));
    if config.max_header_fields != USUAL_HEADER_FIELDS {
        // Any other number costs an allocation per answer.
        client.http1_max_headers(config.max_header_fields);
    }
    Ok(client.build(connector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_http_without_credentials() {
        for (url, error) in [
            ("http://127.0.0.1:1/mcp", None),
            ("https://h.example", None),
            ("http://[::1]:8080/mcp?key=1", None),
            ("", Some("`url` is empty")),
            ("  ", Some("`url` is empty")),
            ("ftp://h/", Some("must begin with http")),
            ("/mcp", Some("must begin with http")),
            ("h.example/mcp", Some("not valid")),
            ("http://u:p@h/", Some("holds a user name")),
            ("http://u@h/", Some("holds a user name")),
            ("http://h ost/", Some("not valid")),
        ] {
            let made = address(url).err();
            match (made, error) {
                (None, None) => {}
                (Some(made), Some(error)) => assert!(made.contains(error), "{made} for {url:?}"),
                (made, _) => panic!("{made:?} for {url:?}"),
            }
        }
    }

    #[test]
    fn the_host_has_a_port_unless_it_is_the_usual_one() {
        for (url, expected) in [
            ("http://127.0.0.1:8080/mcp", "127.0.0.1:8080"),
            ("http://h.example:80/", "h.example"),
            ("https://h.example:443", "h.example"),
            ("https://h.example:80", "h.example:80"),
            ("http://[::1]:8080/", "[::1]:8080"),
        ] {
            assert_eq!(host(&address(url).unwrap()).unwrap(), expected);
        }
    }
}
