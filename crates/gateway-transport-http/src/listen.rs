//! Change streams: a GET stream in the legacy era, `subscriptions/listen` in the modern one.

use std::{sync::Arc, time::Duration};

use gateway_domain::{ClientCapabilities, DownstreamFault, Era, Execution, ListKind};
use gateway_protocol::{Answer, Incoming, Message, RequestId, Response, client, method, write};
use http::Method;
use hyper::body::Incoming as Body;
use tokio::time::Instant;

use crate::{
    body,
    events::{EventStream, Place},
    failure::Failure,
    headers::{Form, form},
    link::Link,
    pace::Pace,
};

/// A stream that has lived this long is in order, even if it had nothing to say.
const STEADY: Duration = Duration::from_secs(10);

/// Listens until the session ends or the server shows that it has no such stream. Lost streams are opened
/// again, with growing pauses; after a loss anything may have changed.
pub(crate) async fn listen(link: Arc<Link>) {
    let mut place = Place::default();
    let mut pace = Pace::new(link.endpoint.config.max_reconnect_delay);
    let mut missed = false;
    let mut opened = false;
    while link.is_open() {
        match open(&link, place.id.as_deref()).await {
            Ok(body) => {
                opened = true;
                if missed {
                    link.endpoint.observer.list_changed(ListKind::Tools);
                }
                let since = Instant::now();
                match hear(&link, body, &mut place).await {
                    Heard::Nothing if since.elapsed() < STEADY => {}
                    Heard::Nothing | Heard::Something => pace.reset(),
                    Heard::Refusal => return,
                }
            }
            Err(failure) => match judge(&failure, opened) {
                Next::TryAgain => {}
                Next::SessionLost(reason) => return link.disown(reason),
                Next::Nothing => return given_up(&link, &failure, opened),
            },
        }
        missed = true;
        tokio::time::sleep(pace.next(place.retry)).await;
    }
}

/// A server may have no such stream; one that had one is not expected to take it away.
fn given_up(link: &Link, failure: &Failure, opened: bool) {
    let (downstream, fault) = (&link.endpoint.name, &failure.fault);
    if opened {
        tracing::warn!(%downstream, %fault, "the change stream is refused now; changes are seen when the list is next read");
    } else {
        tracing::debug!(%downstream, %fault, "no change stream");
    }
}

/// What a stream that could not be opened means.
enum Next<'a> {
    TryAgain,
    SessionLost(&'a str),
    Nothing,
}

fn judge(failure: &Failure, opened: bool) -> Next<'_> {
    match (&failure.fault, failure.execution) {
        (DownstreamFault::Ended { reason }, Execution::NotStarted) if opened => Next::SessionLost(reason),
        _ if failure.passes() => Next::TryAgain,
        // Before it has ever had one it may be its way of saying that it has no stream.
        _ => Next::Nothing,
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
                    link.endpoint.observer.list_changed(ListKind::Tools);
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
