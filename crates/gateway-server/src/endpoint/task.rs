//! The Tasks extension towards clients (protocol.md §15.2): ids are sealed, and say who runs a task and
//! which tool began it.

use gateway_domain::{CallerError, Error, RawJson, Subject, Target, TaskAct, TaskHandle, View};
use gateway_protocol::{RequestId, meta};

use super::{Answer, Visit, answer::extended, request::Unfit};
use crate::{rescue::Refusal, seal::OpenedTask};

/// What a client has to declare for tasks.
pub(crate) fn required() -> CallerError {
    let text = format!(r#"{{"extensions":{{"{}":{{}}}}}}"#, meta::TASKS);
    let required = RawJson::parse(text).unwrap_or_else(|_| RawJson::string(meta::TASKS));
    CallerError::MissingCapability { required }
}

/// The target of a request about a task that its client knows by a sealed id.
pub(super) fn target(visit: &Visit, id: &str, act: TaskAct, declared: bool) -> Result<Target, Unfit> {
    if !visit.rules.config.extensions.iter().any(|extension| extension == meta::TASKS) {
        return Err(Unfit::Header(Refusal::UnknownMethod));
    }
    if !declared {
        return Err(Unfit::Params(required()));
    }
    let opened = visit.rules.seal.open_task(id, &visit.principal.caller).map_err(Unfit::Params)?;
    let OpenedTask { downstream, tool, id } = opened;
    match &visit.view {
        View::Downstream(name) if *name != downstream => Err(Unfit::Params(CallerError::UnknownTask)),
        _ => Ok(Target::Downstream { downstream, subject: Subject::Task { id, act, tool } }),
    }
}

/// The answer to a call that goes on by itself.
pub(super) fn begun(
    visit: &Visit,
    id: &RequestId,
    task: &TaskHandle,
    declared: bool,
) -> Result<Answer, Error> {
    if !declared {
        return Err(required().into());
    }
    let sealed = visit.rules.seal.task(task, &visit.principal.caller)?;
    let edit = task.object.edit().set("taskId", RawJson::string(&sealed).as_bytes());
    let object = edit.set("resultType", br#""task""#).finish();
    Ok(extended(id, object, &visit.rules.config.identity))
}
