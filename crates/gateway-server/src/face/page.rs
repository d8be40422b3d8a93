//! Pages for the people behind clients.

use std::str;

use gateway_protocol::headers::Field;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::{
    Face, Refusing,
    identity::{Head, proven_by},
    is_get,
};
use crate::{
    body::{ResponseBody, read},
    endpoint::record,
    field::field,
    in_flight::{CatchUnwind, Panicked},
    pages::{PageAnswer, PageRequest},
    rescue::Refusal,
    rules::Rules,
    tls::Peer,
};

impl Face {
    /// A request for a page. Nobody has to be known to come; what is typed there says who it is.
    pub(super) async fn page(&self, rules: &Rules, request: Request<Incoming>, peer: Peer) -> Refusing {
        let Some(pages) = &self.edge.ports.pages else { return Err(Refusal::NoSuchPath.into()) };
        let limits = &rules.config.limits;
        let _permit = self.edge.visitors.admit(limits.pages)?;
        let (parts, body) = request.into_parts();
        let (text, _room) = match &parts.method {
            method if is_get(method) => Default::default(),
            &Method::POST => {
                check_form(&parts.headers)?;
                let (text, room) = read(&self.edge, limits, limits.form_bytes, body).await?;
                (text, Some(room))
            }
            _ => return Err(Refusal::MethodNotAllowed { allow: "GET, HEAD, POST" }.into()),
        };
        let form = str::from_utf8(&text).map_err(|_| Refusal::FormType)?;
        let query = parts.uri.query();
        let answering = async {
            let caller = proven_by(rules, Head { headers: &parts.headers, query, peer }).await;
            let request = PageRequest {
                method: if parts.method == Method::POST { &Method::POST } else { &Method::GET },
                path: parts.uri.path().strip_prefix(PAGES).unwrap_or_default(),
                query: query.unwrap_or_default(),
                form,
                cookie: single(&parts.headers, &header::COOKIE),
                origin: single(&parts.headers, &header::ORIGIN),
                caller: caller.clone(),
            };
            (CatchUnwind(pages.page(request)).await, caller)
        };
        let (answer, caller) =
            timeout(limits.page_time, answering).await.map_err(|_| Refusal::PageTimeout)?;
        let answer = answer.map_err(|Panicked| Refusal::PageFailed)?;
        if answer.status.is_client_error() {
            self.edge.metrics.refused(REFUSED);
            record(&self.edge.ports, caller.as_ref(), Some(peer.addr), (None, None), REFUSED);
        }
        if let Some(id) = &answer.completed {
            self.edge.sessions.tell_of_visit(id);
        }
        Ok(response(answer))
    }
}

/// Where the pages are.
pub(super) const PAGES: &str = "/connect";

/// What a page that was refused is called on record.
const REFUSED: &str = "page_refused";

/// Only what a form sends: nothing that a page of another origin could not have sent anyway, so that hosts, origins and
/// the pages' own proofs have to do.
fn check_form(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_form = match field(headers, header::CONTENT_TYPE.as_str()) {
        Field::Once(value) => {
            let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
            essence.trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
        }
        Field::Absent | Field::Repeated => false,
    };
    match is_form && !headers.contains_key(header::CONTENT_ENCODING) {
        true => Ok(()),
        false => Err(Refusal::FormType),
    }
}

/// The value of a header that stands there once.
fn single<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    match field(headers, name.as_str()) {
        Field::Once(value) => str::from_utf8(value).ok(),
        Field::Absent | Field::Repeated => None,
    }
}

fn response(answer: PageAnswer) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(answer.body.into_bytes().into()));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    for (name, value) in answer.headers {
        headers.append(name, value);
    }
    let nosniff = HeaderValue::from_static("nosniff");
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(nosniff);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
