use std::{ops::ControlFlow, sync::Arc, time::Duration};

use gateway_domain::{ClientCapabilities, DownstreamFault, ListKind};
use gateway_protocol::{Answer, Message, RequestId, client, method, write};
use http::Method;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{Heard, STEADY, everything_changed, given_up, hear, next, timed_out};
use crate::{
    body,
    events::{EventStream, Place},
    failure::Failure,
    headers::{Form, form},
    link::Link,
    pace::Pace,
    watches::Granted,
};

/// How long a stream that another takes the place of is still heard: what it was sent last may be on its way.
const OVERLAP: Duration = Duration::from_millis(250);

/// A stream that has been acknowledged.
struct Stream {
    events: EventStream,
    place: Place,
    since: Instant,
}

/// Listens for changes of these lists, and of the resources that are watched, until the server shows that it has no
/// such streams. As a filter cannot be changed, a stream takes the place of another (protocol.md §14).
pub(crate) async fn listen(link: Arc<Link>, lists: Vec<ListKind>) {
    let changes = link.hub.watches.changes();
    let pace = Pace::new(link.endpoint.config.max_reconnect_delay);
    let mut listener = Listener {
        link,
        lists,
        changes,
        pace,
        current: None,
        missed: false,
        worked: false,
        complained: false,
    };
    while listener.link.is_open() {
        if listener.turn().await.is_break() {
            listener.link.hub.watches.refuse();
            return;
        }
    }
}

struct Listener {
    link: Arc<Link>,
    lists: Vec<ListKind>,
    /// Tells when something else is to be watched.
    changes: watch::Receiver<u64>,
    pace: Pace,
    current: Option<Stream>,
    /// Changes may have gone unheard.
    missed: bool,
    /// Whether the server has ever acknowledged such a stream, or told of something on one.
    worked: bool,
    /// Whether it was said that it refuses what it has granted before.
    complained: bool,
}

impl Listener {
    /// Opens a stream for what is wanted now, and hears it until that is something else or it ends.
    async fn turn(&mut self) -> ControlFlow<()> {
        self.changes.mark_unchanged();
        let (wanted, uris) = self.link.hub.watches.wanted();
        if self.lists.is_empty() && uris.is_empty() {
            (self.current, self.missed) = (None, false);
            // The sender is in the link that is held here.
            let _ = self.changes.changed().await;
            return ControlFlow::Continue(());
        }
        let begun = tokio::select! {
            begun = begin(&self.link, &self.lists, &uris) => begun,
            _ = end(&self.link, &mut self.current) => {
                self.missed = true;
                return ControlFlow::Continue(());
            }
        };
        match begun {
            Ok((stream, granted)) => self.take_over(stream, wanted, &uris, granted),
            // There is still what there was before.
            Err(Failure { fault, .. }) if self.current.is_some() => {
                tracing::debug!(downstream = %self.link.endpoint.name, %fault, "no larger change stream");
                let watches = &self.link.hub.watches;
                watches.grant(Granted { wanted, uris: watches.granted() }, &[]);
            }
            Err(failure) => return self.failed(&failure, wanted).await,
        }
        self.hear().await
    }

    fn take_over(&mut self, stream: Stream, wanted: u64, uris: &[Arc<str>], granted: Option<Vec<String>>) {
        self.worked |= granted.is_some();
        let granted = granted.unwrap_or_default();
        if let Some(old) = self.current.replace(stream) {
            overlap(&self.link, old);
        }
        let granted = uris.iter().filter(|uri| granted.iter().any(|granted| **granted == ***uri)).cloned();
        self.link.hub.watches.grant(Granted { wanted, uris: granted.collect() }, uris);
        if std::mem::take(&mut self.missed) {
            everything_changed(&self.link, &self.lists);
        }
    }

    async fn failed(&mut self, failure: &Failure, wanted: u64) -> ControlFlow<()> {
        if !self.worked && !failure.passes() {
            given_up(&self.link, failure, false);
            return ControlFlow::Break(());
        }
        if !failure.passes() {
            self.complain();
            // What was told before will be told again, it is hoped; nothing else is for now.
            let watches = &self.link.hub.watches;
            watches.grant(Granted { wanted, uris: watches.granted() }, &[]);
        }
        self.missed = true;
        self.rest(None).await;
        ControlFlow::Continue(())
    }

    async fn hear(&mut self) -> ControlFlow<()> {
        let (heard, lived, retry) = tokio::select! {
            ended = end(&self.link, &mut self.current) => ended,
            _ = self.changes.changed() => return ControlFlow::Continue(()),
        };
        self.missed = true;
        self.worked |= heard == Heard::Something;
        match heard {
            Heard::Refusal if !self.worked => return ControlFlow::Break(()),
            Heard::Refusal => self.complain(),
            Heard::Something => self.pace.reset(),
            Heard::Nothing => {}
        }
        if lived >= STEADY {
            self.pace.reset();
        }
        self.rest(retry).await;
        ControlFlow::Continue(())
    }

    /// Rests, unless something else is to be watched: somebody waits for that.
    async fn rest(&mut self, asked: Option<Duration>) {
        let rest = self.pace.next(asked);
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            _ = self.changes.changed() => {}
        }
    }

    fn complain(&mut self) {
        if !std::mem::replace(&mut self.complained, true) {
            let downstream = &self.link.endpoint.name;
            tracing::warn!(%downstream, "a change stream is refused that was granted before; it is asked for again");
        }
    }
}

/// Hears the stream that is open to its end, and lets go of it. Without one it waits for ever.
async fn end(link: &Arc<Link>, current: &mut Option<Stream>) -> (Heard, Duration, Option<Duration>) {
    let Some(stream) = current else { return std::future::pending().await };
    let heard = hear(link, &mut stream.events, &mut stream.place).await;
    let (lived, retry) = (stream.since.elapsed(), stream.place.retry);
    *current = None;
    (heard, lived, retry)
}

/// Hears a stream a little longer, beside its successor.
fn overlap(link: &Arc<Link>, mut old: Stream) {
    let hearing = Arc::clone(link);
    link.endpoint.remainder(OVERLAP, async move {
        hear(&hearing, &mut old.events, &mut old.place).await;
    });
}

/// Asks for a stream and waits for its acknowledgement; gives the URIs that were granted, `None` without one.
async fn begin(
    link: &Arc<Link>,
    lists: &[ListKind],
    uris: &[Arc<str>],
) -> Result<(Stream, Option<Vec<String>>), Failure> {
    let config = &link.endpoint.config;
    let opened = timeout(config.startup_timeout, open(link, lists, uris)).await;
    let mut stream = opened.unwrap_or_else(|_| Err(timed_out(config.startup_timeout)))?;
    // Some servers have nothing to say until something changes.
    let granted = timeout(config.request_timeout, acknowledged(link, &mut stream)).await;
    Ok((stream, granted.ok().transpose()?))
}

async fn open(link: &Link, lists: &[ListKind], uris: &[Arc<str>]) -> Result<Stream, Failure> {
    let params = client::listen_params(&link.hop(&ClientCapabilities::none()), lists, uris);
    let message = write::request(&RequestId::from(link.next_id()), method::LISTEN, &params);
    let (headers, incoming) = (link.headers_for(method::LISTEN), link.incoming(None));
    let sent = link.endpoint.send(Method::POST, headers, message.into(), incoming.as_deref());
    let (head, body) = sent.await?.into_parts();
    if head.status.is_success() && form(&head.headers) == Form::Events {
        let events = EventStream::new(body, link.endpoint.config.max_message_bytes);
        return Ok(Stream { events, place: Place::default(), since: Instant::now() });
    }
    body::release(&link.endpoint, body);
    Err(Failure::during(DownstreamFault::Status { status: head.status.as_u16() }))
}

/// Waits for the first message, which is to be the acknowledgement. Another is taken as it is.
async fn acknowledged(link: &Arc<Link>, stream: &mut Stream) -> Result<Vec<String>, Failure> {
    let Some(messages) = next(link, &mut stream.events, &mut stream.place).await else {
        return Err(Failure::ended("its change stream ended at once"));
    };
    let mut granted = Vec::new();
    for message in messages {
        match message {
            Message::Notification(notification) if notification.method == method::ACKNOWLEDGED => {
                granted = client::granted_resources(&notification.params.object);
            }
            other => match link.overhear(other).await.map(|response| response.answer) {
                Some(Answer::Error(error)) => {
                    let (code, method) = (error.code, method::LISTEN);
                    return Err(Failure::nonsense(format_args!("refused `{method}` with error {code}")));
                }
                Some(Answer::Result(_)) => return Err(Failure::ended("its change stream ended at once")),
                None => {}
            },
        }
    }
    Ok(granted)
}
