//! Calls that go on by themselves (protocol.md §15, §20.11). A legacy tool that must be called as a task is, for
//! every client: one that knows the Tasks extension polls the task, for all others it is driven to its end here.

mod drive;
mod fields;
mod offered;

use std::sync::Arc;

use gateway_domain::{
    CallerError, ClientCapabilities, DownstreamSession, Era, Error, Exchange, InternalError, Outcome, Params,
    PeerError, RawObject, Subject, TaskAct, TaskHandle, TaskSupport,
};

pub(crate) use self::offered::Tasks;
use self::{
    drive::{Dialect, Runner},
    offered::{Creation, Desk, Offer},
};
use crate::{commons::ClientId, downstream::Link, errand::Errand};

/// The extension's name.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// A client lacks a capability (protocol.md §2.4).
const MISSING_CAPABILITY: i64 = -32021;

/// Makes a call in a session, `client`'s if it is anybody's own. What is not about tasks is a plain call; the rest is
/// boxed, so that it makes no other call's future larger.
pub(crate) async fn call(
    errand: &Errand<'_>,
    link: &Link,
    client: Option<ClientId>,
) -> Result<Outcome, Error> {
    let (session, exchange) = (link.session(), errand.exchange);
    let desk = || client.zip(link.held()).map(|(client, held)| Desk::new(errand, client, held));
    match (session.peer().era, errand.subject()) {
        (Era::Legacy, _) if errand.is_modern_follow_up() => Err(CallerError::UnknownState.into()),
        (Era::Legacy, Subject::Task { id, act, .. }) => match desk() {
            Some(desk) => Box::pin(desk.act(id, *act, errand.params())).await,
            // Nobody was ever given a task of a session that is not its own.
            None => Err(CallerError::UnknownTask.into()),
        },
        (Era::Legacy, Subject::Tool { task, .. }) if is_task(session, *task, exchange) => {
            let offer = desk().filter(|_| has_extension(exchange)).map(|desk| desk.offer());
            Box::pin(create(errand, session, offer)).await
        }
        (Era::Legacy, subject @ Subject::Tool { .. }) if errand.params().object.contains("task") => {
            // The client's own wish for a task, which nobody has offered it (protocol.md §15.1).
            let Params { object, meta } = errand.params();
            let object = spliced(object.edit().remove("task").finish())?;
            session.call(subject, &Params { object, meta: meta.clone() }, exchange).await
        }
        (Era::Modern, subject @ Subject::Tool { .. }) => {
            match session.call(subject, errand.params(), exchange).await? {
                outcome @ (Outcome::Failed(_) | Outcome::Task(_)) => {
                    Box::pin(modern(errand, session, outcome)).await
                }
                outcome => Ok(outcome),
            }
        }
        (Era::Modern, subject @ Subject::Task { act: TaskAct::Get, .. }) => {
            fields::state(session.call(subject, errand.params(), exchange).await?)
        }
        (_, subject) => session.call(subject, errand.params(), exchange).await,
    }
}

/// Whether a legacy tool is called as a task: where that is the only way, or where the client would rather have one.
fn is_task(session: &Arc<dyn DownstreamSession>, support: TaskSupport, exchange: &Exchange) -> bool {
    let is_wanted = match support {
        TaskSupport::Forbidden => false,
        TaskSupport::Optional => has_extension(exchange),
        TaskSupport::Required => true,
    };
    // Whatever its tools say, one that does not offer tasks is not asked for them (protocol.md §15.1).
    let offers = || {
        let tasks = session.peer().capabilities.get_object("tasks")?;
        tasks.get_object("requests")?.get_object("tools")?.get("call")
    };
    is_wanted && offers().is_some()
}

/// Whether the client polls tasks itself. A legacy one never does, whatever it declares (protocol.md §15.3).
fn has_extension(exchange: &Exchange) -> bool {
    exchange.era == Era::Modern && exchange.capabilities.extension(EXTENSION).is_some()
}

/// Has a legacy downstream make a task: whoever it is offered to polls it, or else it is driven.
async fn create(
    errand: &Errand<'_>,
    session: &Arc<dyn DownstreamSession>,
    offer: Option<Offer>,
) -> Result<Outcome, Error> {
    let Params { object, meta } = errand.params();
    let object = spliced(object.edit().set("task", "{}").finish())?;
    let params = Params { object, meta: meta.clone() };
    let creation = Creation::new(runner(errand, session, Dialect::Legacy), offer);
    let outcome = session.call(errand.subject(), &params, errand.exchange).await?;
    creation.came_to(outcome, errand.exchange).await
}

/// What the first answer of a modern downstream's tool comes to. If it can only be a task, that is driven for a
/// legacy client, which has no way to ask for one. A modern client is told what it has not declared (protocol.md §15.2).
async fn modern(
    errand: &Errand<'_>,
    session: &Arc<dyn DownstreamSession>,
    first: Outcome,
) -> Result<Outcome, Error> {
    let exchange = errand.exchange;
    if exchange.era == Era::Modern {
        return Ok(first);
    }
    let outcome = match first {
        Outcome::Failed(error) if asks_for_tasks(&error) => {
            session.call(errand.subject(), errand.params(), &declaring_tasks(exchange)?).await?
        }
        first => first,
    };
    match outcome {
        Outcome::Task(TaskHandle { object, .. }) => {
            let runner = runner(errand, session, Dialect::Modern);
            runner.begin(object, &declaring_tasks(exchange)?).await
        }
        outcome => Ok(outcome),
    }
}

fn runner(errand: &Errand<'_>, session: &Arc<dyn DownstreamSession>, dialect: Dialect) -> Runner {
    let longest = errand.commons.tasks.time();
    Runner::new(errand.downstream.name.clone(), session.clone(), dialect, longest)
}

/// Whether a call was refused, before it began, because the client has not declared the extension.
fn asks_for_tasks(error: &PeerError) -> bool {
    let required = || {
        let required = error.raw.get_object("data")?.get_object("requiredCapabilities")?;
        required.get_object("extensions")?.get(EXTENSION)
    };
    error.code == MISSING_CAPABILITY && required().is_some()
}

/// The same exchange of a client that knows tasks, as the gateway is for it.
fn declaring_tasks(exchange: &Exchange) -> Result<Exchange, Error> {
    let raw = exchange.capabilities.raw();
    let extensions = raw.get_object("extensions").unwrap_or_default();
    let extensions = extensions.edit().set(EXTENSION, "{}").finish();
    let capabilities = spliced(raw.edit().set("extensions", extensions.as_str()).finish())?;
    Ok(Exchange { capabilities: ClientCapabilities::from(capabilities), ..exchange.clone() })
}

/// An object that was put together from valid parts.
fn spliced(raw: gateway_domain::RawJson) -> Result<RawObject, Error> {
    RawObject::try_from(raw).map_err(|_| InternalError { what: "valid parts made an invalid object" }.into())
}
