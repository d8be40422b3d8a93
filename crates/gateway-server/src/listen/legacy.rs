//! The stream of a session: changes and what else is said outside any request (protocol.md §4.3).

use std::sync::Arc;

use gateway_domain::Generations;
use gateway_protocol::method;
use tokio::task::JoinHandle;

use super::{Expiry, Place};
use crate::{
    edge::Phase,
    endpoint::{Payload, Visit},
    rescue::Refusal,
    session::{InUse, Journal, PAUSE, Reader, Session},
};

/// An open stream. It ends with the session, the gateway or the token it was opened with,
/// or when another one takes its place.
pub(crate) struct Opened {
    pub(crate) reader: Reader,
    /// To be held as long as it is read.
    pub(crate) held: Holds,
}

/// What an open stream takes.
pub(crate) struct Holds {
    _task: AbortOnDrop,
    _in_use: InUse,
    _place: Option<Place>,
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Opens the stream of a session: from here on, or after the event of this number.
///
/// # Errors
/// [`Refusal::StreamTaken`], [`Refusal::StreamsFull`], [`Refusal::Busy`].
pub(crate) fn legacy(visit: &Visit, session: &Arc<Session>, after: Option<u64>) -> Result<Opened, Refusal> {
    let place = Place::take(visit)?;
    let in_use = match after {
        None => session.stream()?,
        Some(_) => session.take_stream(),
    };
    let outbox = session.outbox();
    let reader = outbox.read_after(after.unwrap_or_else(|| outbox.last()));
    let news = AbortOnDrop(tokio::spawn(news(visit.clone(), session.clone(), reader.serial())));
    Ok(Opened { reader, held: Holds { _task: news, _in_use: in_use, _place: Some(place) } })
}

/// Opens the stream of a call that goes on, after the event of this number.
pub(crate) fn resumed(visit: &Visit, session: &Arc<Session>, journal: Arc<Journal>, after: u64) -> Opened {
    let (reader, expiry) = (journal.read_after(after), Expiry::of(&visit.caller));
    let serial = reader.serial();
    let end = AbortOnDrop(tokio::spawn(async move {
        expiry.passed().await;
        journal.dismiss(serial);
    }));
    Opened { reader, held: Holds { _task: end, _in_use: session.enter(), _place: None } }
}

/// Tells of changes of the lists until the stream has to end.
async fn news(visit: Visit, session: Arc<Session>, reader: u64) {
    let (mut ended, expiry) = (session.ended(), Expiry::of(&visit.caller));
    tokio::select! {
        () = tell(&visit, &session) => {}
        _ = ended.wait_for(|ended| *ended) => {}
        () = visit.edge.reaches(Phase::Draining) => {}
        () = expiry.passed() => {}
    }
    session.outbox().dismiss(reader);
}

async fn tell(visit: &Visit, session: &Session) {
    let (directory, view) = (&visit.edge.ports.directory, session.view());
    loop {
        // Looked at first, so that a change behind the look at the lists is waited for in vain by nobody.
        let seen = directory.generation(view);
        let now = directory.generations_to(view, &visit.caller);
        let mut told = session.told().lock().await;
        for message in changed(*told, now) {
            // Before that the client has no lists that could have changed.
            if session.is_initialized() {
                session.outbox().say(message).await;
            }
        }
        // Only now: a stream that ends before leaves it to the next.
        *told = now;
        drop(told);
        directory.changed(view, seen).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// What is said about lists that have become others.
fn changed(told: Generations, now: Generations) -> impl Iterator<Item = Payload> {
    let kinds = [
        (method::TOOLS_LIST_CHANGED, told.tools != now.tools),
        (method::PROMPTS_LIST_CHANGED, told.prompts != now.prompts),
        (method::RESOURCES_LIST_CHANGED, told.resources != now.resources),
    ];
    let message = |method| format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#).into_bytes().into();
    kinds.into_iter().filter(|(_, changed)| *changed).map(move |(method, _)| message(method))
}
