//! The stream of a legacy session (protocol.md §4.3).

use std::sync::Arc;

use super::{Changes, Place};
use crate::{
    edge::Phase,
    endpoint::{Conversation, Payload, Visit},
    rescue::Refusal,
    session::Session,
};

/// Opens the stream of a legacy session. It ends with the session or the gateway.
///
/// # Errors
/// [`Refusal::StreamTaken`], [`Refusal::StreamsFull`], [`Refusal::Busy`].
pub(crate) fn legacy(visit: &Visit, session: &Arc<Session>) -> Result<Conversation, Refusal> {
    let place = Place::take(visit)?;
    let in_use = session.stream()?;
    let session = session.clone();
    let mut changes = Changes::new(visit.edge.clone(), session.view().clone());
    Ok(Conversation::new(|speaker| async move {
        let _held = (place, in_use);
        let edge = changes.edge.clone();
        let mut ended = session.ended();
        let news = async {
            while changes.next().await && (!session.is_initialized() || speaker.say(list_changed()).await) {}
        };
        tokio::select! {
            () = news => {}
            _ = ended.wait_for(|ended| *ended) => {}
            () = edge.reaches(Phase::Draining) => {}
        }
    }))
}

/// The notification of a legacy session.
pub(crate) fn list_changed() -> Payload {
    const MESSAGE: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    Payload([bytes::Bytes::from_static(MESSAGE), bytes::Bytes::new(), bytes::Bytes::new()])
}
