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
use http::Version;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep},
};

use crate::{
    endpoint::{Conversation, Payload},
    face::Activity,
    listen::Holds,
    session::{InUse, Reader},
};

/// The most that is given at a time where many responses share a connection, so that what a peer does not
/// read stays here.
const PIECE: usize = 16 << 10;
/// Up to this many bytes an event is written into one buffer.
const COPIED: usize = 8 << 10;

/// What lives as long as the response does.
#[derive(Default)]
pub(crate) struct Held {
    /// The room of the request's body, on which a call that goes on still stands.
    _room: Option<OwnedSemaphorePermit>,
    _session: Option<InUse>,
    _stream: Option<Holds>,
}

impl Held {
    pub(crate) fn new(room: OwnedSemaphorePermit) -> Self {
        Self { _room: Some(room), ..Self::default() }
    }

    pub(crate) fn stream(stream: Holds) -> Self {
        Self { _stream: Some(stream), ..Self::default() }
    }

    pub(crate) fn keep(&mut self, session: InUse) {
        self._session = Some(session);
    }
}

/// The body of a response.
pub(crate) struct ResponseBody {
    kind: Kind,
    /// What is left of a piece that was too large.
    rest: Bytes,
    /// Told when the response is over.
    serving: Option<Serving>,
}

enum Kind {
    /// A message whose length is known.
    Whole { payload: Payload, next: usize },
    /// A message in each event.
    Events(Box<Events>),
}

struct Events {
    source: Source,
    /// Pieces of the current event.
    pieces: VecDeque<Bytes>,
    quiet: Pin<Box<Sleep>>,
    keep_alive: Duration,
    _held: Held,
}

/// Where the messages come from.
pub(crate) enum Source {
    /// What is said while the response is written.
    Told(Conversation),
    /// What is kept: each event has an id that its client can go on from.
    Kept(Reader, Resumption),
}

/// What a client is told about going on with a stream, before the first event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resumption {
    /// How long it should wait before it does.
    pub(crate) retry: Option<Duration>,
    /// Whether it knows events without data, which say where a stream begins (2025-11-25).
    pub(crate) primes: bool,
}

/// The fields of an event that stand before its data.
type Fields = String;

impl Source {
    /// The next message; an empty one says where the stream stands.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Fields, Payload)>> {
        match self {
            Self::Told(conversation) => {
                conversation.poll_next(cx).map(|message| message.map(|message| (String::new(), message)))
            }
            Self::Kept(reader, resumption) => {
                if std::mem::take(&mut resumption.primes) {
                    let fields = resumption.fields(reader);
                    return Poll::Ready(Some((fields, Payload::default())));
                }
                let message = ready!(reader.poll_next(cx));
                Poll::Ready(message.map(|message| (resumption.fields(reader), message)))
            }
        }
    }
}

impl Resumption {
    fn fields(&mut self, reader: &Reader) -> Fields {
        let retry = self.retry.take().map(|retry| format!("retry: {}\n", retry.as_millis()));
        format!("{}id: {}\n", retry.unwrap_or_default(), reader.position())
    }
}

/// Tells the connection that a request is being answered, until dropped.
pub(crate) struct Serving {
    activity: Arc<Activity>,
    /// Which of the streams of its connection, where there are several.
    stream: Option<usize>,
}

impl Serving {
    pub(crate) fn new(activity: Arc<Activity>, version: Version) -> Self {
        let multiplexed = version == Version::HTTP_2;
        let serial = activity.begin(multiplexed);
        Self { activity, stream: multiplexed.then_some(serial) }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            self.activity.taken(stream);
        }
        self.activity.end();
    }
}

impl ResponseBody {
    pub(crate) fn empty() -> Self {
        Self::whole(Payload::default())
    }

    pub(crate) fn whole(payload: Payload) -> Self {
        Self { kind: Kind::Whole { payload, next: 0 }, rest: Bytes::new(), serving: None }
    }

    /// Events with the messages of a conversation, and comments while it is quiet.
    pub(crate) fn events(source: Source, keep_alive: Duration, held: Held) -> Self {
        let quiet = Box::pin(sleep(keep_alive));
        let events = Events { source, pieces: VecDeque::new(), quiet, keep_alive, _held: held };
        Self { kind: Kind::Events(Box::new(events)), rest: Bytes::new(), serving: None }
    }

    pub(crate) fn during(self, serving: Serving) -> Self {
        Self { serving: Some(serving), ..self }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.kind {
            Kind::Events(events) => events.poll_next(cx),
            Kind::Whole { payload: Payload(parts), next } => {
                let rest = parts[*next..].iter_mut();
                let part = rest.inspect(|_| *next += 1).find(|part| !part.is_empty());
                Poll::Ready(part.map(std::mem::take))
            }
        }
    }

    /// As [`Self::poll_piece`], in small pieces, and the connection is told which wait for the peer.
    fn poll_small(&mut self, stream: usize, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(activity) = self.serving.as_ref().map(|serving| serving.activity.clone()) else {
            return self.poll_piece(cx);
        };
        activity.taken(stream);
        let mut piece = match std::mem::take(&mut self.rest) {
            rest if rest.is_empty() => ready!(self.poll_piece(cx)),
            rest => Some(rest),
        };
        if let Some(piece) = &mut piece {
            if piece.len() > PIECE {
                self.rest = piece.split_off(PIECE);
            }
            activity.given(stream);
        }
        Poll::Ready(piece)
    }
}

impl Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Poll::Ready(Some(piece));
        }
        if let Poll::Ready(event) = self.source.poll_next(cx) {
            let Some((fields, message)) = event else { return Poll::Ready(None) };
            self.quiet.as_mut().reset(Instant::now() + self.keep_alive);
            return Poll::Ready(Some(self.begin(fields, message)));
        }
        ready!(self.quiet.as_mut().poll(cx));
        self.quiet.as_mut().reset(Instant::now() + self.keep_alive);
        Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)))
    }

    /// The first piece of an event.
    fn begin(&mut self, fields: Fields, Payload(parts): Payload) -> Bytes {
        if parts[1].is_empty() && parts[2].is_empty() && parts[0].len() <= COPIED {
            let mut event = fields.into_bytes();
            event.reserve_exact(parts[0].len() + 8);
            event.extend_from_slice(b"data: ");
            event.extend_from_slice(&parts[0]);
            event.extend_from_slice(b"\n\n");
            return event.into();
        }
        self.pieces.extend(parts.into_iter().filter(|part| !part.is_empty()));
        self.pieces.push_back(Bytes::from_static(b"\n\n"));
        (fields + "data: ").into()
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.serving.as_ref().and_then(|serving| serving.stream) {
            Some(stream) => self.poll_small(stream, cx),
            None => self.poll_piece(cx),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole { payload, .. } => payload.len() == 0 && self.rest.is_empty(),
            Kind::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole { payload, .. } => SizeHint::with_exact((payload.len() + self.rest.len()) as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn where_responses_share_a_connection_they_are_given_in_small_pieces() {
        let text = vec![b'x'; 2 * PIECE + 5];
        for (version, sizes) in
            [(Version::HTTP_11, &[2 * PIECE + 5][..]), (Version::HTTP_2, &[PIECE, PIECE, 5])]
        {
            let serving = Serving::new(Arc::default(), version);
            let mut body = ResponseBody::whole(text.clone().into()).during(serving);
            let mut left = text.len();
            for size in sizes {
                assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(left as u64), false));
                let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert_eq!(piece.len(), *size, "{version:?}");
                left -= size;
            }
            assert!(body.is_end_stream() && body.frame().await.is_none());
        }
    }
}
