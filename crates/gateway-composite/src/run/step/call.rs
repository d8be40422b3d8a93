use std::sync::Arc;

use gateway_domain::{
    Call, CallerError, Error, Origin, Outcome, Params, PeerError, RawJson, RawObject, Subject, Target, View,
    printable,
};

use super::{
    answer::{self, Answer, MESSAGE_LIMIT},
    failed,
    inquiry::visits,
    parked::{Parked, Reply},
    rounds::Rounds,
};
use crate::{
    error::StepError,
    plan::PlannedCall,
    run::{budget::Held, members::Members, shared::Shared},
    template::{Context, RESULT_LIMIT},
    tools::{Found, is_repeatable},
};

/// The members of `_meta` that say where a request stands in a trace (SEP-414).
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// A call of a tool, ready to be made, more than once if need be.
pub(super) struct ToolCall<'a> {
    pub(super) shared: &'a Shared,
    step: &'a Arc<str>,
    /// Whose questions they are: the step's, or those of an item of its loop.
    pub(super) label: String,
    /// As the step names it.
    written: &'a Arc<str>,
    found: Found,
    params: Params,
    /// The arguments, as long as the call may be made with them.
    _held: Held,
}

impl<'a> ToolCall<'a> {
    /// Finds the tool and expands the arguments as its `inputSchema` wants them (C-46).
    ///
    /// # Errors
    /// There is no such tool, a template does not come to a value, or the run may not hold what they come to.
    pub(super) async fn new(
        shared: &'a Shared,
        step: &'a Arc<str>,
        planned: &'a PlannedCall,
        context: &Context,
    ) -> Result<Self, StepError> {
        let written = &planned.tool;
        let found = shared.find(written).ok_or_else(|| StepError::UnknownTool { tool: written.clone() })?;
        let schema = found.offered.tool.input_schema().and_then(|schema| RawObject::try_from(schema).ok());
        let tree = planned.arguments.clone();
        let expand = move |context: &Context| tree.expand(context, schema.as_ref(), RESULT_LIMIT);
        let arguments = shared.evaluate(context, expand).await.map_err(|error| failed("arguments", error))?;
        let held = shared.hold_bytes(arguments.as_bytes().len())?;
        let name = RawJson::string(&found.exposed);
        let object = Members::new().with("name", &name).with("arguments", &arguments).finish()?;
        let label = match context.index() {
            Some(index) => format!("{step}[{index}]"),
            None => step.to_string(),
        };
        let params = Params { object, meta: trace(shared.meta()) };
        Ok(Self { shared, step, label, written, found, params, _held: held })
    }

    /// Whether the tool is declared read-only or idempotent: calling it twice does no more than calling it once (C-W13).
    pub(super) fn is_repeatable(&self) -> bool {
        is_repeatable(&self.found.offered)
    }

    /// Makes the call and answers, through the client, what is asked meanwhile. Cancel-safe: dropping the future
    /// cancels the call.
    ///
    /// # Errors
    /// The tool failed, or could not be called, or its answer is of no use.
    pub(super) async fn make(&self) -> Result<Answer, StepError> {
        self.shared.charge_call()?;
        let mut rounds = Rounds::new(self);
        let mut reply = None;
        loop {
            let required = match self.dispatch(reply).await? {
                Outcome::Complete(result) => return self.read(&result),
                Outcome::InputRequired(required) => required,
                Outcome::Failed(error) => match visits(&self.found.offered.downstream, &error) {
                    Some(required) => required,
                    None => return Err(self.refused(&error)),
                },
                Outcome::Task(_) => {
                    return Err(self.useless("answered with a task, which a workflow cannot wait for"));
                }
            };
            reply = Some(rounds.answer(required).await?);
        }
    }

    async fn dispatch(&self, reply: Option<Reply<'_>>) -> Result<Outcome, StepError> {
        let (follow_up, parked) = reply.map(|reply| (reply.follow_up, reply.parked)).unzip();
        let call = Call {
            target: Target::Exposed { view: View::All, subject: Subject::tool(&self.found.exposed) },
            params: self.params.clone(),
            follow_up,
            caller: self.shared.proven(),
            exchange: self.shared.exchange(),
            origin: Some(Origin {
                workflow: self.shared.workflow.definition().name.clone(),
                run: self.shared.id.clone(),
                step: self.step.clone(),
            }),
        };
        let outcome = self.shared.calls.dispatch(call).await.map_err(|error| self.failed(error))?;
        parked.into_iter().for_each(Parked::resumed);
        Ok(outcome)
    }

    fn read(&self, result: &RawObject) -> Result<Answer, StepError> {
        if let Some(message) = answer::failure(result) {
            return Err(StepError::ToolFailed { tool: self.written.clone(), message });
        }
        // What is kept are slices of the result, which keep all of it.
        self.shared.charge_bytes(result.raw().as_bytes().len())?;
        let answer = Answer::of(result).ok_or_else(|| {
            self.useless("answered with a result that is nested too deep or names a member twice")
        })?;
        self.shared.charge_bytes(answer.copied)?;
        Ok(answer)
    }

    fn refused(&self, error: &PeerError) -> StepError {
        let message = printable(&error.message(), MESSAGE_LIMIT);
        StepError::Peer { tool: self.written.clone(), code: error.code, message }
    }

    /// The failure of a call that was not answered.
    fn failed(&self, error: impl Into<Error>) -> StepError {
        match error.into() {
            Error::Caller(CallerError::UnknownTool { .. }) => {
                StepError::UnknownTool { tool: self.written.clone() }
            }
            error => StepError::Call { tool: self.written.clone(), error },
        }
    }

    /// The failure of a call whose answer is of no use.
    pub(super) fn useless(&self, reason: &'static str) -> StepError {
        StepError::Answer { tool: self.written.clone(), reason }
    }
}

/// What of a call's `_meta` belongs to the calls that it leads to: where they stand in a trace. All else is about the
/// workflow's own call, as its progress token.
fn trace(meta: Option<&RawObject>) -> Option<RawObject> {
    let meta = meta?;
    let members = TRACE.iter().filter_map(|name| Some((name, meta.get(name)?)));
    let trace = members.fold(Members::new(), |all, (name, value)| all.with(name, &value));
    trace.finish().ok().filter(|trace| !trace.is_empty())
}
