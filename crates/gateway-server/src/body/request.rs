use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{config::Limits, edge::Edge, rescue::Refusal};

/// The least room that is taken when a body needs more. A length that is only announced takes none, so
/// that nobody keeps others out without sending anything.
const STEP: usize = 64 << 10;

/// A whole body of at most `limit` bytes, and the room it takes among all that are held.
///
/// # Errors
/// [`Refusal::BodyTooLarge`], [`Refusal::BodyTimeout`], [`Refusal::BodyUnreadable`], [`Refusal::Busy`].
pub(crate) async fn read(
    edge: &Edge,
    limits: &Limits,
    limit: usize,
    body: Incoming,
) -> Result<(Bytes, OwnedSemaphorePermit), Refusal> {
    let length = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if length.is_some_and(|length| length > limit) {
        return Err(Refusal::BodyTooLarge { limit });
    }
    let collected = timeout(limits.body_time, collect(edge, limit, body, length)).await;
    collected.unwrap_or(Err(Refusal::BodyTimeout))
}

async fn collect(
    edge: &Edge,
    limit: usize,
    mut body: Incoming,
    length: Option<usize>,
) -> Result<(Bytes, OwnedSemaphorePermit), Refusal> {
    let (mut reserved, mut held) = (0, room(edge, 0)?);
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Trailers say nothing that is of interest here.
        let Ok(data) = frame.map_err(|_| Refusal::BodyUnreadable)?.into_data() else { continue };
        let len = collected.len() + data.len();
        if len > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
        if len > reserved {
            // As much again each time, as the buffer grows.
            let rest = length.unwrap_or(limit).saturating_sub(reserved);
            let more = reserved.max(STEP).min(rest).max(len - reserved);
            held.merge(room(edge, more)?);
            reserved += more;
        }
        if collected.is_empty() && Some(len) == length {
            return Ok((data, held));
        }
        if len > collected.capacity() {
            collected.reserve(reserved - collected.len());
        }
        collected.extend_from_slice(&data);
    }
    Ok((collected.freeze(), held))
}

fn room(edge: &Edge, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
    let kib = u32::try_from(bytes.div_ceil(1 << 10)).map_err(|_| Refusal::Busy)?;
    edge.bodies.clone().try_acquire_many_owned(kib).map_err(|_| Refusal::Busy)
}
