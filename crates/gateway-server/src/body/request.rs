use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{edge::Edge, rescue::Refusal};

/// How much room is taken for a body that does not tell its length, whenever more is needed.
const STEP: usize = 64 << 10;

/// A whole body, and the room it takes among all that are held.
///
/// # Errors
/// [`Refusal::BodyTooLarge`], [`Refusal::BodyTimeout`], [`Refusal::BodyUnreadable`], [`Refusal::Busy`].
pub(crate) async fn read(edge: &Edge, body: Incoming) -> Result<(Bytes, OwnedSemaphorePermit), Refusal> {
    let length = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    let limit = edge.config.limits.body_bytes;
    if length.is_some_and(|length| length > limit) {
        return Err(Refusal::BodyTooLarge { limit });
    }
    let reserved = length.unwrap_or_else(|| STEP.min(limit));
    let room = room(edge, reserved)?;
    timeout(edge.config.limits.body_time, collect(edge, body, length, (reserved, room)))
        .await
        .unwrap_or(Err(Refusal::BodyTimeout))
}

async fn collect(
    edge: &Edge,
    mut body: Incoming,
    length: Option<usize>,
    (mut reserved, mut held): (usize, OwnedSemaphorePermit),
) -> Result<(Bytes, OwnedSemaphorePermit), Refusal> {
    let limit = edge.config.limits.body_bytes;
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Trailers say nothing that is of interest here.
        let Ok(data) = frame.map_err(|_| Refusal::BodyUnreadable)?.into_data() else { continue };
        if collected.is_empty() && Some(data.len()) == length {
            return Ok((data, held));
        }
        let len = collected.len() + data.len();
        if len > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
        if len > reserved {
            let more = (len - reserved).max(STEP);
            held.merge(room(edge, more)?);
            reserved += more;
        }
        if collected.capacity() == 0 {
            collected.reserve(length.unwrap_or(data.len()));
        }
        collected.extend_from_slice(&data);
    }
    Ok((collected.freeze(), held))
}

fn room(edge: &Edge, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
    let kib = u32::try_from(bytes.div_ceil(1 << 10)).map_err(|_| Refusal::Busy)?;
    edge.bodies.clone().try_acquire_many_owned(kib).map_err(|_| Refusal::Busy)
}
