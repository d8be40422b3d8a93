//! `subscriptions/listen` of modern clients (protocol.md §14).

use gateway_domain::{CallerError, Era, JsonKind, RawObject};
use gateway_protocol::{Request, RequestId, meta, method, write};

use super::{Changes, Place, over};
use crate::{
    endpoint::{Answer, Conversation, Payload, Visit, failed},
    in_flight::Entry,
    rescue::Refusal,
};

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
