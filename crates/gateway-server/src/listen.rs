//! Streams of change events: `subscriptions/listen` of modern clients, the GET stream of legacy sessions
//! (protocol.md §14, §4.3). There is no replay: a client that reconnects reads its lists again.

use std::sync::{Arc, atomic::Ordering};

use gateway_domain::{CallerError, Era, JsonKind, RawObject, View};
use gateway_protocol::{Request, RequestId, meta, method, write};

use crate::{
    auth::{Principal, take},
    edge::{Edge, Phase},
    endpoint::{Answer, Conversation, Payload, Visit, tools::failed},
    in_flight::Entry,
    rescue::Refusal,
    session::Session,
};

/// One of the streams that a caller, and all of them together, may have, free again when dropped.
struct Place {
    principal: Arc<Principal>,
    edge: Arc<Edge>,
}

impl Place {
    fn take(visit: &Visit) -> Result<Self, Refusal> {
        let Visit { principal, edge, .. } = visit;
        let limits = &visit.rules.config.limits;
        if !take(&principal.listens, principal.limit(limits.listens_per_caller)) {
            return Err(Refusal::StreamsFull);
        }
        if !take(&edge.listens, limits.listens) {
            principal.listens.fetch_sub(1, Ordering::AcqRel);
            return Err(Refusal::Busy);
        }
        Ok(Self { principal: principal.clone(), edge: edge.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.principal.listens.fetch_sub(1, Ordering::AcqRel);
        self.edge.listens.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Opens a modern stream: the acknowledgement with what is granted, changes as they come, and a result
/// when the gateway shuts down or the client's key is no longer good. With `entry` the client ends it by its
/// id, which it gets no answer to.
///
/// # Errors
/// The answer to a request that opens none.
pub(crate) fn modern(visit: &Visit, request: &Request, entry: Option<Entry>) -> Result<Conversation, Answer> {
    let opened = open(visit, request, entry);
    let kind = opened.as_ref().err().map_or("ok", |answer| answer.kind);
    visit.edge.metrics.answered(method::LISTEN, Era::Modern, kind);
    opened
}

fn open(visit: &Visit, request: &Request, entry: Option<Entry>) -> Result<Conversation, Answer> {
    let id = request.id.clone();
    let wants_tools = filter(request).map_err(|error| failed(&error.into(), &id))?;
    if !visit.streams {
        return Err(Refusal::NotAcceptable.answer(Era::Modern, Some(&id)));
    }
    let refused = |refusal: Refusal| refusal.answer(Era::Modern, Some(&id));
    let place = Place::take(visit).map_err(refused)?;
    let stdio = entry.is_some();
    // Taken now, so that no change between here and the first look is missed.
    let changes = Changes::new(visit.edge.clone(), visit.view.clone());
    Ok(Conversation::new(|speaker| async move {
        let over = over(&place);
        let tag = format!(r#""_meta":{{"{}":{id}}}"#, meta::SUBSCRIPTION_ID);
        let granted = if wants_tools { r#"{"toolsListChanged":true}"# } else { "{}" };
        let acknowledgement = format!(r#"{{{tag},"notifications":{granted}}}"#);
        let changed: Payload =
            write::notification(method::TOOLS_LIST_CHANGED, format!("{{{tag}}}").as_bytes()).into();
        let talk = async {
            speaker.say(write::notification(method::ACKNOWLEDGED, acknowledgement.as_bytes()).into()).await;
            let news = async {
                let mut changes = changes;
                while wants_tools && changes.next().await && speaker.say(changed.clone()).await {}
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = news => {}
                () = over => {
                    let result = format!(r#"{{"resultType":"complete",{tag}}}"#);
                    speaker.say(write::result(&id, result.as_bytes()).into()).await;
                    if stdio {
                        speaker.say(end_of(&id)).await;
                    }
                }
            }
        };
        match entry {
            Some(entry) => drop(entry.run(talk).await.ok()),
            None => talk.await,
        }
    }))
}

/// Waits until nothing of its caller may go on.
async fn over(place: &Place) {
    tokio::select! {
        () = place.edge.reaches(Phase::Draining) => {}
        () = place.principal.revoked() => {}
    }
}

/// Over stdio the end is told twice: the texts contradict each other (protocol.md §21).
fn end_of(id: &RequestId) -> Payload {
    write::notification(method::CANCELLED, format!(r#"{{"requestId":{id}}}"#).as_bytes()).into()
}

/// Whether changes of the list of tools are asked for. Other kinds are not granted yet.
fn filter(request: &Request) -> Result<bool, CallerError> {
    let invalid = |reason: &str| CallerError::InvalidParams { reason: reason.to_owned() };
    let filter = request.params.object.get("notifications");
    let filter = filter.and_then(|filter| RawObject::try_from(filter).ok());
    let filter = filter.ok_or_else(|| invalid("`notifications` is not an object"))?;
    match filter.get("toolsListChanged") {
        None => Ok(false),
        Some(wanted) if wanted.kind() == JsonKind::Null => Ok(false),
        Some(wanted) => wanted.to_bool().ok_or_else(|| invalid("`toolsListChanged` is not a boolean")),
    }
}

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

/// The changes of one view's list from here on.
pub(crate) struct Changes {
    edge: Arc<Edge>,
    view: View,
    seen: u64,
}

impl Changes {
    pub(crate) fn new(edge: Arc<Edge>, view: View) -> Self {
        let seen = edge.ports.directory.generation(&view);
        Self { edge, view, seen }
    }

    /// Waits for the next change; several at once are one. Always true.
    pub(crate) async fn next(&mut self) -> bool {
        self.seen = self.edge.ports.directory.changed(&self.view, self.seen).await;
        true
    }
}
