use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use gateway_protocol::sse;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep},
};

use crate::{
    endpoint::{Conversation, Payload},
    face::Activity,
    session::InUse,
};

/// Up to this many bytes an event is written into one buffer.
const COPIED: usize = 8 << 10;

/// What lives as long as the response does.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// The room of the request's body, on which a call that goes on still stands.
    _room: Option<OwnedSemaphorePermit>,
    _session: Option<InUse>,
}

impl Held {
    pub(crate) fn new(room: OwnedSemaphorePermit) -> Self {
        Self { _room: Some(room), _session: None }
    }

    pub(crate) fn keep(&mut self, session: InUse) {
        self._session = Some(session);
    }
}

/// The body of a response.
pub(crate) struct ResponseBody {
    kind: Kind,
    /// Told when the response is over.
    _activity: Option<Serving>,
}

enum Kind {
    /// A message whose length is known.
    Whole { payload: Payload, next: usize },
    /// A message in each event.
    Events(Box<Events>),
}

struct Events {
    conversation: Conversation,
    /// Pieces of the current event.
    pieces: VecDeque<Bytes>,
    quiet: Pin<Box<Sleep>>,
    keep_alive: Duration,
    _held: Held,
}

/// Tells the connection that a request is being answered, until dropped.
pub(crate) struct Serving(Arc<Activity>);

impl Serving {
    pub(crate) fn new(activity: Arc<Activity>) -> Self {
        activity.begin();
        Self(activity)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl ResponseBody {
    pub(crate) fn empty() -> Self {
        Self::whole(Payload::default())
    }

    pub(crate) fn whole(payload: Payload) -> Self {
        Self { kind: Kind::Whole { payload, next: 0 }, _activity: None }
    }

    /// Events with the messages of a conversation, and comments while it is quiet.
    pub(crate) fn events(conversation: Conversation, keep_alive: Duration, held: Held) -> Self {
        let quiet = Box::pin(sleep(keep_alive));
        let events = Events { conversation, pieces: VecDeque::new(), quiet, keep_alive, _held: held };
        Self { kind: Kind::Events(Box::new(events)), _activity: None }
    }

    pub(crate) fn during(self, serving: Serving) -> Self {
        Self { _activity: Some(serving), ..self }
    }
}

impl Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Poll::Ready(Some(piece));
        }
        if let Poll::Ready(message) = self.conversation.poll_next(cx) {
            let Some(message) = message else { return Poll::Ready(None) };
            self.quiet.as_mut().reset(Instant::now() + self.keep_alive);
            return Poll::Ready(Some(self.begin(message)));
        }
        ready!(self.quiet.as_mut().poll(cx));
        self.quiet.as_mut().reset(Instant::now() + self.keep_alive);
        Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)))
    }

    /// The first piece of an event.
    fn begin(&mut self, Payload(parts): Payload) -> Bytes {
        if parts[1].is_empty() && parts[2].is_empty() && parts[0].len() <= COPIED {
            return sse::event(&parts[0]).into();
        }
        self.pieces.extend(parts.into_iter().filter(|part| !part.is_empty()));
        self.pieces.push_back(Bytes::from_static(b"\n\n"));
        Bytes::from_static(b"data: ")
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.kind {
            Kind::Events(events) => ready!(events.poll_next(cx)),
            Kind::Whole { payload: Payload(parts), next } => {
                let rest = parts[*next..].iter_mut();
                rest.inspect(|_| *next += 1).find(|part| !part.is_empty()).map(std::mem::take)
            }
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole { payload, .. } => payload.len() == 0,
            Kind::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole { payload, .. } => SizeHint::with_exact(payload.len() as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
