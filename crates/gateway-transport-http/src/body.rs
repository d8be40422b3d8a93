//! Reading what an answer consists of, and getting rid of the rest.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gateway_domain::DownstreamFault;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use crate::{endpoint::Endpoint, failure::Failure};

/// A server's word for the length of its body is believed this far; beyond, the buffer grows as bytes come.
const TRUSTED_LENGTH: u64 = 1 << 20;
/// An end that has not come by then is not worth the connection.
const REMAINDER_TIME: Duration = Duration::from_secs(1);
const REMAINDER_BYTES: usize = 64 << 10;
/// Refusals that say something say it in less.
const REFUSAL_BYTES: usize = 4 << 10;

/// Reads a whole body of at most `limit` bytes. One that arrives in one piece is not copied.
pub(crate) async fn read(body: &mut Incoming, limit: usize) -> Result<Bytes, Failure> {
    let announced = body.size_hint().exact();
    let too_large = || Failure::during(DownstreamFault::TooLarge { limit });
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let Some(first) = piece(body).await? else { return Ok(Bytes::new()) };
    let Some(second) = piece(body).await? else {
        return if first.len() > limit { Err(too_large()) } else { Ok(first) };
    };
    // The announced length is at most `TRUSTED_LENGTH` here, so the cast is exact.
    let capacity = announced.unwrap_or_default().min(TRUSTED_LENGTH) as usize;
    let mut whole = BytesMut::with_capacity(capacity.max(first.len() + second.len()));
    let mut next = Some(first);
    let mut after = Some(second);
    while let Some(piece_read) = next {
        if whole.len() + piece_read.len() > limit {
            return Err(too_large());
        }
        whole.extend_from_slice(&piece_read);
        next = match after.take() {
            Some(second) => Some(second),
            None => piece(body).await?,
        };
    }
    Ok(whole.freeze())
}

/// The next piece of data; trailers are passed over.
pub(crate) async fn piece(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// The body of a refusal if it is short and comes soon, for what it may say.
pub(crate) async fn glance(body: &mut Incoming) -> Option<Bytes> {
    tokio::time::timeout(REMAINDER_TIME, read(body, REFUSAL_BYTES)).await.ok()?.ok()
}

/// Lets go of a body whose content does not matter. A connection can be used again only when the end of the
/// body has been seen, and servers send that a moment after an answer in a stream; without this wait each
/// such answer would cost a connection.
pub(crate) fn release(endpoint: &Endpoint, mut body: Incoming) {
    if body.is_end_stream() {
        return;
    }
    endpoint.remainder(REMAINDER_TIME, async move {
        let mut seen = 0;
        while let Ok(Some(data)) = piece(&mut body).await {
            seen += data.len();
            if seen > REMAINDER_BYTES {
                return;
            }
        }
    });
}
