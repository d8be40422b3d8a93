//! Change streams: a GET stream in the legacy era, `subscriptions/listen` in the modern one.

use std::{sync::Arc, time::Duration};

use gateway_domain::{ClientCapabilities, DownstreamFault, Era};
use gateway_protocol::{Answer, Incoming, Message, RequestId, Response, client, method, write};
use http::Method;
use hyper::body::Incoming as Body;

use crate::{
    body,
    events::{EventStream, Place},
    failure::Failure,
    headers::{Form, form},
    link::{Link, USUAL_PAUSE},
};

/// Listens until the session ends or the server shows that it has no such stream. Lost streams are opened
/// again, with growing pauses; after a loss anything may have changed.
pub(crate) async fn listen(link: Arc<Link>) {
    let mut place = Place::default();
    let mut pause = USUAL_PAUSE;
    let mut missed = false;
    let mut opened = false;
    while link.is_open() {
        match open(&link, place.id.as_deref()).await {
            Ok(body) => {
                opened = true;
                if missed {
                    link.endpoint.observer.tools_changed();
                }
                match hear(&link, body, &mut place).await {
                    Heard::Nothing => {}
                    Heard::Something => pause = USUAL_PAUSE,
                    Heard::Refusal => return,
                }
            }
            // Before it has ever had one it may be its way of saying that it has no stream.
            Err(Failure { fault: DownstreamFault::Status { status: 404 }, .. })
                if opened && link.has_session() =>
            {
                return link.lose("it no longer knows the session (HTTP status 404)");
            }
            // Busy or broken, which passes.
            Err(Failure { fault: DownstreamFault::Status { status: 408 | 425 | 429 | 500.. }, .. }) => {}
            Err(Failure {
                fault:
                    DownstreamFault::Unreachable { .. }
                    | DownstreamFault::Ended { .. }
                    | DownstreamFault::TimedOut { .. },
                ..
            }) => {}
            Err(failure) => {
                tracing::debug!(downstream = %link.endpoint.name, fault = %failure.fault, "no change stream");
                return;
            }
        }
        missed = true;
        let limit = link.endpoint.config.max_reconnect_delay;
        tokio::time::sleep(place.retry.unwrap_or_default().max(pause).min(limit)).await;
        pause = pause.saturating_mul(2).min(limit);
    }
}

async fn open(link: &Link, after: Option<&str>) -> Result<Body, Failure> {
    let limit = link.endpoint.config.startup_timeout;
    let opened = match link.era() {
        Era::Legacy => tokio::time::timeout(limit, link.open_stream(after)).await,
        Era::Modern => tokio::time::timeout(limit, subscribe(link)).await,
    };
    opened.unwrap_or_else(|_| Err(timed_out(limit)))
}

fn timed_out(after: Duration) -> Failure {
    Failure::during(DownstreamFault::TimedOut { after })
}

/// Asks for a stream of changes of the tools (protocol.md §14).
async fn subscribe(link: &Link) -> Result<Body, Failure> {
    let params = client::listen_params(&link.hop(&ClientCapabilities::none()));
    let message = write::request(&RequestId::from(link.next_id()), method::LISTEN, &params);
    let sent = link.endpoint.send(Method::POST, link.headers_for(method::LISTEN), message.into());
    let (head, body) = sent.await?.into_parts();
    if head.status.is_success() && form(&head.headers) == Form::Events {
        return Ok(body);
    }
    body::release(&link.endpoint, body);
    Err(Failure::during(DownstreamFault::Status { status: head.status.as_u16() }))
}

/// What a stream carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Something,
    /// An error in answer to the request for it.
    Refusal,
}

/// Hears a stream to its end.
async fn hear(link: &Link, body: Body, place: &mut Place) -> Heard {
    let mut stream = EventStream::new(body, link.endpoint.config.max_message_bytes);
    let mut heard = Heard::Nothing;
    loop {
        let text = match stream.next(place).await {
            Ok(Some(text)) => text,
            Ok(None) => return heard,
            Err(failure) => {
                tracing::debug!(downstream = %link.endpoint.name, fault = %failure.fault, "the change stream broke");
                return heard;
            }
        };
        let messages = match Incoming::parse(text) {
            Ok(Incoming::Single(message)) => vec![message],
            Ok(Incoming::Batch(messages)) => messages.into_iter().flatten().collect(),
            Err(error) => {
                tracing::debug!(downstream = %link.endpoint.name, %error, "nonsense on the change stream");
                return heard;
            }
        };
        heard = Heard::Something;
        for message in messages {
            match message {
                Message::Notification(notification) if notification.method == method::TOOLS_LIST_CHANGED => {
                    link.endpoint.observer.tools_changed();
                }
                Message::Request(request) => link.answer(&request).await,
                // In the modern era the stream is the answer to a request: refused, or ended in order.
                Message::Response(Response { answer, .. }) if link.era() == Era::Modern => {
                    return if matches!(answer, Answer::Error(_)) { Heard::Refusal } else { heard };
                }
                Message::Notification(_) | Message::Response(_) => {}
            }
        }
    }
}
