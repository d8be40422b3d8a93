//! The HTTP face: one request in, one response out.

mod accept;
mod activity;
mod admin;
mod cors;
mod head;
mod mcp;
mod route;

use std::{net::SocketAddr, sync::Arc};

use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use hyper::body::{Body, Incoming};

pub(crate) use self::activity::{Activity, Watched};
use self::route::Route;
use crate::{
    body::{Held, ResponseBody, Source},
    edge::Edge,
    endpoint::{Answer, Visit},
    guard::Refused,
    rescue::Refusal,
    rules::Rules,
};

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

type Refusing = Result<Response<ResponseBody>, Refusal>;

impl Face {
    /// Answers one request. Who may ask at all is decided here, once for all paths.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        let framed = request.version() != Version::HTTP_2;
        let unread = framed && !request.body().is_end_stream();
        let rules = self.edge.rules();
        match self.check(&rules, &request) {
            Ok(origin) => self.pass(rules, request, origin, unread).await,
            Err(refusal) => closing(self.refuse(&refusal), unread),
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
        let checked = guard.check(self.bound, request.version(), request.uri(), request.headers());
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
        origin: Option<HeaderValue>,
        unread: bool,
    ) -> Response<ResponseBody> {
        // In HTTP/1.1 hyper leaves the body out.
        let bodiless = request.method() == Method::HEAD && request.version() == Version::HTTP_2;
        // Where a proxy in front and we might see two different ends of a body, nothing follows it.
        let ambiguous = request.headers().contains_key(header::TRANSFER_ENCODING);
        let mut response = match &origin {
            Some(_) if cors::is_preflight(&request) => cors::preflight(&request),
            _ => self
                .route(rules, request)
                .await
                .unwrap_or_else(|refusal| closing(self.refuse(&refusal), unread)),
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

    async fn route(&self, rules: Arc<Rules>, request: Request<Incoming>) -> Refusing {
        match (Route::of(request.uri().path()), self.serves) {
            (Some(Route::Messages(view)), Serves::Everything | Serves::Messages) => {
                if !matches!(request.version(), Version::HTTP_11 | Version::HTTP_2) {
                    return Err(Refusal::HttpVersion);
                }
                self.messages(rules, view, request).await
            }
            (Some(Route::Admin(page)), Serves::Everything | Serves::Admin) => {
                self.admin(&rules, page, &request)
            }
            // Nothing that clients can do makes downstreams work (G-W11).
            (Some(Route::Flush(name)), Serves::Admin) => self.flush(name.as_ref(), request.method()),
            _ => Err(Refusal::NoSuchPath),
        }
    }

    fn refuse(&self, refusal: &Refusal) -> Response<ResponseBody> {
        // Without a message there is no era, and no row that depends on one.
        let answer = refusal.answer(gateway_domain::Era::Modern, None);
        self.edge.metrics.refused(answer.kind);
        let mut response = message(answer);
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
fn message(answer: Answer) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(answer.payload));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    match answer.status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
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
