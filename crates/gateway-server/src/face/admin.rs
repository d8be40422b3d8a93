use gateway_domain::{DownstreamName, DownstreamState, View};
use http::{HeaderValue, Method, Response, StatusCode, header};

use super::{Face, Refusing, Serves, identity::Head, is_get, route::Page};
use crate::{
    body::ResponseBody,
    edge::{Edge, Phase},
    metrics::{self, Readings},
    rescue::Refusal,
    rules::Rules,
};

impl Face {
    pub(super) fn admin(&self, rules: &Rules, page: Page, method: &Method, head: Head<'_>) -> Refusing {
        if !is_get(method) {
            return Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" }.into());
        }
        match page {
            Page::Alive => Ok(text(StatusCode::OK, "alive\n")),
            Page::Ready if is_ready(&self.edge) => Ok(text(StatusCode::OK, "ready\n")),
            Page::Ready => Ok(text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")),
            Page::Metrics => {
                // Names of downstreams and callers' habits are not for everybody (P-W7).
                if self.serves != Serves::Admin {
                    self.check_metrics(rules, head)?;
                }
                let mut response = text(StatusCode::OK, scrape(&self.edge));
                let kind = HeaderValue::from_static(metrics::CONTENT_TYPE);
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                Ok(response)
            }
        }
    }

    /// Has the cached list of one downstream, or of all, read again (G-11).
    pub(super) fn flush(&self, name: Option<&DownstreamName>, method: &Method) -> Refusing {
        if *method != Method::POST {
            return Err(Refusal::MethodNotAllowed { allow: "POST" }.into());
        }
        let directory = &self.edge.ports.directory;
        if name.is_some_and(|name| !directory.has_view(&View::Downstream(name.clone()))) {
            return Err(Refusal::NoSuchPath.into());
        }
        let flushed = directory.flush(name);
        tracing::info!(downstream = name.map(DownstreamName::as_str), flushed, "lists flushed");
        let mut response = text(StatusCode::OK, format!("{{\"flushed\":{flushed}}}"));
        response.headers_mut().insert(header::CONTENT_TYPE, super::JSON);
        Ok(response)
    }
}

/// Every required downstream can be used, whatever else has to hold does, and no shutdown has begun.
fn is_ready(edge: &Edge) -> bool {
    use DownstreamState::{Degraded, Ready};
    let usable = |state| matches!(state, Ready | Degraded);
    let serving = *edge.phase.borrow() == Phase::Serving;
    let mut downstreams = edge.ports.directory.downstreams().into_iter();
    serving
        && edge.ports.ready.iter().all(|ready| ready())
        && downstreams.all(|status| !status.required || usable(status.state))
}

fn scrape(edge: &Edge) -> String {
    let readings = Readings {
        in_flight: edge.load.count(),
        sessions: edge.sessions.len(),
        downstreams: edge.ports.directory.downstreams(),
    };
    edge.metrics.scrape(&readings, &edge.ports.metrics)
}

fn text(status: StatusCode, text: impl Into<Vec<u8>>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(text.into().into()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
