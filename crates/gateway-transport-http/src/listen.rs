//! Change streams: a GET stream in the legacy era, `subscriptions/listen` in the modern one.

mod modern;

use std::{sync::Arc, time::Duration};

use gateway_domain::{DownstreamFault, Era, Execution, ListKind};
use gateway_protocol::{Answer, Incoming, Message, Response};
use hyper::body::Incoming as Body;
use tokio::time::Instant;

pub(crate) use self::modern::listen as listen_modern;
use crate::{
    events::{EventStream, Place},
    failure::Failure,
    link::Link,
    pace::Pace,
};

/// A stream that has lived this long is in order, even if it had nothing to say.
const STEADY: Duration = Duration::from_secs(10);

/// Listens to a legacy session until it ends or the server shows that it has no such stream. Lost streams are
/// opened again, with growing pauses; after a loss anything may have changed.
pub(crate) async fn listen(link: Arc<Link>) {
    let mut place = Place::default();
    let mut pace = Pace::new(link.endpoint.config.max_reconnect_delay);
    let mut missed = false;
    let mut opened = false;
    while link.is_open() {
        let stream = open(&link, place.id.as_deref()).await;
        link.hub.tried_stream.send_replace(true);
        match stream {
            Ok(body) => {
                opened = true;
                if missed {
                    everything_changed(&link, &link.hub.announced());
                }
                let since = Instant::now();
                let mut stream = EventStream::new(body, link.endpoint.config.max_message_bytes);
                let heard = hear(&link, &mut stream, &mut place).await;
                if heard != Heard::Nothing || since.elapsed() >= STEADY {
                    pace.reset();
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

/// A server may have no such stream; one that had one is not expected to take it away, and who watches something is
/// not told of it any more.
fn given_up(link: &Link, failure: &Failure, opened: bool) {
    let (downstream, fault) = (&link.endpoint.name, &failure.fault);
    if opened {
        link.hub.watches.lose();
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

/// Opens a legacy stream.
async fn open(link: &Link, after: Option<&str>) -> Result<Body, Failure> {
    let limit = link.endpoint.config.startup_timeout;
    let opened = tokio::time::timeout(limit, link.open_stream(after)).await;
    opened.unwrap_or_else(|_| Err(timed_out(limit)))
}

fn timed_out(after: Duration) -> Failure {
    Failure::during(DownstreamFault::TimedOut { after })
}

/// What a stream carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Something,
    /// An error in answer to the request for it.
    Refusal,
}

/// Hears a stream to its end. Cancel-safe in the modern era, where nothing is answered.
async fn hear(link: &Arc<Link>, stream: &mut EventStream, place: &mut Place) -> Heard {
    let mut heard = Heard::Nothing;
    loop {
        let Some(messages) = next(link, stream, place).await else { return heard };
        heard = Heard::Something;
        for message in messages {
            // In the modern era the stream is the answer to a request: refused, or ended in order.
            if let Some(Response { answer, .. }) = link.overhear(message).await
                && link.era() == Era::Modern
            {
                return if matches!(answer, Answer::Error(_)) { Heard::Refusal } else { heard };
            }
        }
    }
}

/// What the next event carries; `None` at the end of the stream or of what can be made of it.
async fn next(link: &Link, stream: &mut EventStream, place: &mut Place) -> Option<Vec<Message>> {
    let downstream = &link.endpoint.name;
    let text = match stream.next(place).await {
        Ok(text) => text?,
        Err(failure) => {
            tracing::debug!(%downstream, fault = %failure.fault, "the change stream broke");
            return None;
        }
    };
    match Incoming::parse(text) {
        Ok(Incoming::Single(message)) => Some(vec![message]),
        Ok(Incoming::Batch(messages)) => Some(messages.into_iter().flatten().collect()),
        Err(error) => {
            tracing::debug!(%downstream, %error, "nonsense on the change stream");
            None
        }
    }
}

/// After a loss anything may have changed.
fn everything_changed(link: &Link, lists: &[ListKind]) {
    lists.iter().for_each(|list| link.endpoint.observer.list_changed(*list));
    link.hub.watches.all_updated();
}
