//! The body of an answer, no more of it than is wanted.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout_at};

use crate::engine::{ClientError, ResponseBody};

/// What of a body is read at all, to keep or to count. Beyond, the connection is given up.
pub(crate) const MAX_BODY_BYTES: usize = 16 << 20;

/// What the API says of the length of a body is believed this far; beyond, the buffer grows as bytes come.
const TRUSTED_LENGTH: usize = 1 << 20;
/// As much that nobody wants is read so that the connection can be used again.
const REMAINDER: u64 = 64 << 10;

/// What was read of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) body: Bytes,
    /// See [`crate::engine::Response::total`].
    pub(super) total: Option<u64>,
}

/// Why less than what is wanted was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    Late,
    Off(ClientError),
}

/// What of a body is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Bytes to keep; those that follow are counted.
    pub(super) keep: usize,
    /// When it is late.
    pub(super) until: Instant,
    /// Whether it may go on for ever, as streams of events do: then what is there in time is what there is.
    pub(super) is_stream: bool,
}

impl Wanted {
    /// Reads a body to its end, or as far as it matters.
    pub(super) async fn read(self, mut body: ResponseBody) -> Result<Taken, Broken> {
        let announced = body.size_hint().exact();
        let mut kept = Kept::new(self.keep.min(MAX_BODY_BYTES), announced);
        loop {
            if kept.is_enough(announced, self.is_stream) {
                return Ok(kept.taken(announced));
            }
            let broken = match timeout_at(self.until, body.frame()).await {
                Ok(None) => return Ok(kept.whole()),
                Ok(Some(Ok(frame))) => {
                    kept.add(frame.into_data().unwrap_or_default());
                    continue;
                }
                Ok(Some(Err(error))) => Broken::Off(error),
                Err(_) => Broken::Late,
            };
            // What is only counted cannot spoil what is kept.
            return if self.is_stream || kept.is_full() { Ok(kept.taken(announced)) } else { Err(broken) };
        }
    }
}

/// The beginning of a body, and how long it has been so far.
struct Kept {
    first: Bytes,
    rest: BytesMut,
    limit: usize,
    capacity: usize,
    seen: u64,
}

impl Kept {
    fn new(limit: usize, announced: Option<u64>) -> Self {
        let announced = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
        let capacity = announced.min(limit).min(TRUSTED_LENGTH);
        Self { first: Bytes::new(), rest: BytesMut::new(), limit, capacity, seen: 0 }
    }

    /// A body that arrives in one piece is not copied.
    fn add(&mut self, mut piece: Bytes) {
        self.seen += piece.len() as u64;
        piece.truncate(self.limit - self.len());
        if self.first.is_empty() {
            self.first = piece;
        } else if !piece.is_empty() {
            if self.rest.is_empty() {
                self.rest.reserve(self.capacity.max(self.first.len() + piece.len()));
                self.rest.extend_from_slice(&self.first);
            }
            self.rest.extend_from_slice(&piece);
        }
    }

    fn len(&self) -> usize {
        self.first.len().max(self.rest.len())
    }

    /// Whether more has come than is kept.
    fn is_full(&self) -> bool {
        self.seen > self.len() as u64
    }

    /// Whether it is of no use to read on.
    fn is_enough(&self, announced: Option<u64>, is_stream: bool) -> bool {
        let is_long = announced.is_some_and(|length| length.saturating_sub(self.seen) > REMAINDER);
        self.is_full() && (is_stream || is_long || self.seen > MAX_BODY_BYTES as u64)
    }

    fn whole(self) -> Taken {
        let total = Some(self.seen);
        self.taken(total)
    }

    fn taken(self, total: Option<u64>) -> Taken {
        let body = if self.rest.is_empty() { self.first } else { self.rest.freeze() };
        Taken { body, total }
    }
}

#[cfg(test)]
mod tests;
