//! The HTTP face: one request in, one response out.

mod accept;
mod activity;
mod admin;
mod cors;
mod head;
mod identity;
mod mcp;
mod metadata;
mod page;
mod route;

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};

use gateway_domain::{Caller, View};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use hyper::body::{Body, Incoming};

pub(crate) use self::{
    activity::{Activity, Watched},
    identity::proven,
};
use self::{identity::Head, route::Route};
use crate::{
    body::{Held, ResponseBody, Source},
    edge::Edge,
    endpoint::{Answer, Hint, Visit, record},
    guard::Refused,
    oauth::Challenge,
    rescue::Refusal,
    rules::Rules,
    tls::Peer,
};
use tracing::Instrument;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// What one listener serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serves {
    /// Messages, and what operators ask for.
    Everything,
    /// Messages only; the rest is at another address.
    Messages,
    /// What operators ask for, without a key.
    Admin,
}

/// One listener.
pub(crate) struct Face {
    pub(crate) edge: Arc<Edge>,
    /// The address it is at.
    pub(crate) bound: SocketAddr,
    pub(crate) serves: Serves,
}

type Refusing = Result<Response<ResponseBody>, Denied>;

/// A refusal of a whole request, and what its record says that the answer does not.
#[derive(Debug)]
pub(crate) struct Denied {
    refusal: Refusal,
    /// Who asked, if that was found out.
    caller: Option<Box<Caller>>,
    /// Why, where clients are not told.
    code: Option<&'static str>,
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, caller: None, code: None }
    }
}

impl Face {
    /// Answers one request. Who may ask at all is decided here, once for all paths.
    pub(crate) async fn answer(&self, request: Request<Incoming>, peer: Peer) -> Response<ResponseBody> {
        let number = self.edge.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let empty = tracing::field::Empty;
        let span = tracing::info_span!("request", number, method = empty, client = empty);
        self.begin(request, peer).instrument(span).await
    }

    async fn begin(&self, request: Request<Incoming>, peer: Peer) -> Response<ResponseBody> {
        let framed = request.version() != Version::HTTP_2;
        let unread = framed && !request.body().is_end_stream();
        let rules = self.edge.rules();
        match self.check(&rules, &request) {
            Ok(origin) => self.pass(rules, request, (origin, peer), unread).await,
            Err(refusal) => closing(self.refuse(&rules, &View::All, peer, &refusal.into()), unread),
        }
    }

    /// Whether anything of a request is looked at but its head. Gives the origin, if there is one.
    fn check(&self, rules: &Rules, request: &Request<Incoming>) -> Result<Option<HeaderValue>, Refusal> {
        let limits = &rules.config.limits;
        // hyper's own bound of the size is a rough one, and in HTTP/2 it does not count.
        if request.headers().len() > limits.header_fields || head::size(request) > limits.header_bytes {
            return Err(Refusal::HeadTooLarge);
        }
        let guard = &rules.guard;
        let of_pages =
            self.edge.ports.pages.is_some() && Route::of(request.uri().path()) == Some(Route::Page);
        let checked = guard.check(self.bound, request.version(), request.uri(), request.headers(), of_pages);
        let origin = checked.map_err(|refused| match refused {
            Refused::Malformed => Refusal::MalformedHost,
            Refused::Host | Refused::Origin => Refusal::Forbidden,
        })?;
        head::check(request.headers())?;
        Ok(origin.and_then(|origin| HeaderValue::from_str(origin).ok()))
    }

    async fn pass(
        &self,
        rules: Arc<Rules>,
        request: Request<Incoming>,
        (origin, peer): (Option<HeaderValue>, Peer),
        unread: bool,
    ) -> Response<ResponseBody> {
        // In HTTP/1.1 hyper leaves the body out.
        let bodiless = request.method() == Method::HEAD && request.version() == Version::HTTP_2;
        // Where a proxy in front and we might see two different ends of a body, nothing follows it.
        let ambiguous = request.headers().contains_key(header::TRANSFER_ENCODING);
        let route = self.route_of(&rules, request.uri().path());
        // What people see no page of another origin sees.
        let origin = origin.filter(|_| route != Some(Route::Page));
        let mut response = match &origin {
            Some(_) if cors::is_preflight(&request) => cors::preflight(&request),
            _ => {
                let view = route.as_ref().and_then(Route::view).cloned().unwrap_or(View::All);
                let answered = self.route(rules.clone(), route, request, peer).await;
                answered.unwrap_or_else(|denied| closing(self.refuse(&rules, &view, peer, &denied), unread))
            }
        };
        response = closing(response, ambiguous);
        if let Some(origin) = origin {
            cors::expose(&mut response, origin);
        }
        if bodiless {
            *response.body_mut() = ResponseBody::empty();
        }
        response
    }

    /// What stands at a path, and may have its place there because of what the operator says.
    fn route_of(&self, rules: &Rules, path: &str) -> Option<Route> {
        let described = || rules.protected.as_ref()?.described_at(path).cloned().map(Route::Metadata);
        let directory = &self.edge.ports.directory;
        Route::of(path).or_else(described).map(|route| route.seen(|view| directory.profiled(view)))
    }

    async fn route(
        &self,
        rules: Arc<Rules>,
        route: Option<Route>,
        request: Request<Incoming>,
        peer: Peer,
    ) -> Refusing {
        match (route, self.serves) {
            (Some(Route::Messages(view)), Serves::Everything | Serves::Messages) => {
                if !matches!(request.version(), Version::HTTP_11 | Version::HTTP_2) {
                    return Err(Refusal::HttpVersion.into());
                }
                self.messages(rules, view, request, peer).await
            }
            (Some(Route::Admin(page)), Serves::Everything | Serves::Admin) => {
                let head = Head { headers: request.headers(), query: request.uri().query(), peer };
                self.admin(&rules, page, request.method(), head)
            }
            (Some(Route::Metadata(view)), Serves::Everything | Serves::Messages) => {
                metadata::metadata(&rules, &view, request.method())
            }
            (Some(Route::Page), Serves::Everything | Serves::Messages) => {
                self.page(&rules, request, peer).await
            }
            // Nothing that clients can do makes downstreams work (G-W11).
            (Some(Route::Flush(name)), Serves::Admin) => self.flush(name.as_ref(), request.method()),
            _ => Err(Refusal::NoSuchPath.into()),
        }
    }

    fn refuse(&self, rules: &Rules, view: &View, peer: Peer, denied: &Denied) -> Response<ResponseBody> {
        let Denied { refusal, caller, code } = denied;
        // Without a message there is no era, and no row that depends on one.
        let answer = refusal.answer(gateway_domain::Era::Modern, None);
        self.edge.metrics.refused(answer.kind);
        let reason = code.unwrap_or(answer.kind);
        record(&self.edge.ports, caller.as_deref(), Some(peer.addr), (None, None), reason);
        let mut response = message(rules, view, answer);
        if let Refusal::MethodNotAllowed { allow } | Refusal::SessionNotNamed { allow } = refusal {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

/// A response after which the connection ends, if it has to.
fn closing(mut response: Response<ResponseBody>, closes: bool) -> Response<ResponseBody> {
    if closes {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A response with one JSON-RPC message.
fn message(rules: &Rules, view: &View, answer: Answer) -> Response<ResponseBody> {
    let (challenge, status) = (challenge(rules, view, &answer), answer.status);
    let mut response = Response::new(ResponseBody::whole(answer.payload));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    if let Some(challenge) = challenge {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        headers.insert(header::RETRY_AFTER, retry_after(&answer.hint));
    }
    response
}

/// What a client can do about a refusal, if it is one that it can do something about.
fn challenge(rules: &Rules, view: &View, answer: &Answer) -> Option<HeaderValue> {
    let challenge = match (&answer.hint, answer.status) {
        (Hint::Scopes(scopes), _) => Challenge::Scopes(scopes.clone()),
        (Hint::InvalidToken, _) => Challenge::Invalid,
        (_, StatusCode::UNAUTHORIZED) => Challenge::Missing,
        _ => return None,
    };
    match &rules.protected {
        Some(protected) => Some(protected.challenge(view, &challenge)),
        None => Some(HeaderValue::from_static("Bearer")),
    }
}

/// When to come again, in whole seconds, at least one.
fn retry_after(hint: &Hint) -> HeaderValue {
    let seconds = match hint {
        Hint::RetryIn(time) => time.as_nanos().div_ceil(1_000_000_000).max(1),
        _ => 1,
    };
    HeaderValue::from_str(&seconds.to_string()).unwrap_or(HeaderValue::from_static("1"))
}

/// A response with a message in each event.
fn events(visit: &Visit, source: Source, held: Held) -> Response<ResponseBody> {
    let body = ResponseBody::events(source, visit.rules.config.limits.keep_alive, held);
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENTS);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = status;
    response
}

fn is_get(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
