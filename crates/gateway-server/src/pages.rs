use std::fmt;

use async_trait::async_trait;
use gateway_domain::Caller;
use http::{HeaderName, HeaderValue, Method, StatusCode};

/// Pages for the people behind clients, at `/connect/…` (protocol.md §18.3 no. 11), as data in and data out.
///
/// What comes here has passed the checks of hosts and origins; nobody has to prove anything to come. No page is read
/// across origins: there are no CORS headers.
#[async_trait]
pub trait Pages: Send + Sync {
    /// Answers one request. Dropped when it takes longer than [`Limits::page_time`](crate::Limits) or its client goes.
    async fn page(&self, request: PageRequest<'_>) -> PageAnswer;
}

/// What a browser asks for.
#[derive(Clone)]
pub struct PageRequest<'a> {
    /// GET or POST; who asks with HEAD is given the head of the answer to GET.
    pub method: &'a Method,
    /// The path below `/connect` as it was sent, with its slash; empty for `/connect` itself.
    pub path: &'a str,
    /// The query without its question mark.
    pub query: &'a str,
    /// The body of a form, `application/x-www-form-urlencoded`, at most [`Limits::form_bytes`](crate::Limits).
    pub form: &'a str,
    /// The value of `Cookie`, if it stands there once.
    pub cookie: Option<&'a str>,
    /// The value of `Origin`.
    pub origin: Option<&'a str>,
    /// Who it is, where the request itself carried a key, a certificate or a token that is good.
    pub caller: Option<Caller>,
}

/// What a browser is answered.
#[derive(Clone)]
pub struct PageAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers; besides them `X-Content-Type-Options: nosniff` and `Cache-Control: no-store` where they say nothing
    /// else.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The page.
    pub body: String,
    /// The `elicitationId` of a question by URL that is over with this. The sessions whose clients were asked it are
    /// told.
    pub completed: Option<String>,
}

/// No more than where to: the rest may hold keys and codes.
impl fmt::Debug for PageRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageRequest")
            .field("method", self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The status alone: the rest is for one browser.
impl fmt::Debug for PageAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}
