//! Tasks that are driven to their end for clients that know none.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use gateway_domain::{
    CallerError, ClientCapabilities, DownstreamFault, DownstreamName, DownstreamSession, Era, Error, Event,
    Exchange, Execution, InputRequired, Outcome, Params, ParkedCall, PeerError, RawJson, RawObject,
    SessionKey, State, Subject, TaskAct,
};
use tokio::time::{Duration, Instant};

use super::{
    declaring_tasks,
    fields::{self, Status},
    spliced,
};

/// How many times in a row a task cannot be looked at, for reasons that pass, before it is given up.
const MOST_FAULTS: usize = 5;

/// How a downstream speaks of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The core of 2025-11-25.
    Legacy,
    /// The extension.
    Modern,
}

/// Drives one task. Dropped before the end, it has the downstream told that the task is not wanted any more.
pub(super) struct Runner {
    downstream: DownstreamName,
    session: Arc<dyn DownstreamSession>,
    dialect: Dialect,
    /// How long it may take, not counting what people take for their answers.
    longest: Duration,
    /// `None` before there is one and after its end.
    id: Option<Arc<str>>,
    /// What was told last as progress, and how often.
    message: String,
    told: u64,
    /// Questions that have been answered; the downstream may repeat them for a while.
    answered: HashSet<String>,
}

/// What one look at a task shows.
enum Look {
    GoesOn,
    Asks { requests: Option<RawObject>, asked: Asked },
    Ended(Outcome),
}

/// Where the answers go.
#[derive(Clone)]
enum Asked {
    /// A `tasks/result` that waits.
    Call(Arc<dyn ParkedCall>),
    /// `tasks/update`.
    Update,
}

impl Runner {
    pub(super) fn new(
        downstream: DownstreamName,
        session: Arc<dyn DownstreamSession>,
        dialect: Dialect,
        longest: Duration,
    ) -> Self {
        let (message, answered) = (String::new(), HashSet::new());
        Self { downstream, session, dialect, longest, id: None, message, told: 0, answered }
    }

    /// Drives a task that has just been made. Cancel-safe: dropping the future cancels the task.
    pub(super) async fn begin(mut self, task: RawObject, exchange: &Exchange) -> Result<Outcome, Error> {
        let Some(id) = fields::id(&task) else { return Err(self.nonsense("a task without `taskId`")) };
        self.id = Some(id);
        // If it has questions or its end already, only `tasks/get` of the extension has them inside.
        let is_whole = self.dialect == Dialect::Legacy || Status::of(&task) == Status::Working;
        self.drive(is_whole.then_some(task), exchange).await
    }

    /// Drives it from where it stands: as `task` shows, or as is asked first.
    async fn drive(mut self, task: Option<RawObject>, exchange: &Exchange) -> Result<Outcome, Error> {
        let until = Instant::now() + self.longest;
        let (mut pause, mut faults) = (Duration::from_secs(1), 0);
        let mut shown = match task {
            Some(task) => self.show(&task, &mut pause, exchange).await,
            None => self.poll(&mut pause, exchange).await,
        };
        loop {
            match shown {
                Ok(Look::GoesOn) => faults = 0,
                Ok(Look::Ended(outcome)) => return Ok(self.ended(outcome)),
                Ok(Look::Asks { requests, asked }) => return Ok(self.ask(requests, asked)),
                // The task is the downstream's and goes on there.
                Err(error) if faults < MOST_FAULTS && self.passes(&error) => {
                    tracing::debug!(downstream = %self.downstream, %error, "a task could not be looked at");
                    faults += 1;
                }
                Err(error) => return Err(begun(error)),
            }
            if Instant::now() + pause > until {
                return Err(DownstreamFault::TimedOut { after: self.longest }.during(&self.downstream));
            }
            tokio::time::sleep(pause).await;
            shown = self.poll(&mut pause, exchange).await;
        }
    }

    async fn poll(&mut self, pause: &mut Duration, exchange: &Exchange) -> Result<Look, Error> {
        match self.get(exchange).await? {
            Outcome::Complete(task) => self.show(&task, pause, exchange).await,
            failed @ Outcome::Failed(_) => Ok(Look::Ended(failed)),
            _ => Err(self.nonsense("`tasks/get` was not answered with a task")),
        }
    }

    async fn show(
        &mut self,
        task: &RawObject,
        pause: &mut Duration,
        exchange: &Exchange,
    ) -> Result<Look, Error> {
        *pause = fields::pause(task);
        self.tell(task, exchange);
        self.look(task, exchange).await
    }

    /// Whether the next request in this session may well be answered.
    fn passes(&self, error: &Error) -> bool {
        use DownstreamFault::{Ended, Status, TimedOut, Unreachable};
        let passes = match error {
            Error::Caller(CallerError::Overloaded { .. }) => true,
            Error::Downstream(error) => match error.fault {
                Unreachable { .. } | Ended { .. } | TimedOut { .. } => true,
                Status { status } => status == 429 || status >= 500,
                _ => false,
            },
            _ => false,
        };
        passes && self.session.is_open()
    }

    async fn look(&self, task: &RawObject, exchange: &Exchange) -> Result<Look, Error> {
        match (self.dialect, Status::of(task)) {
            (_, Status::Working) => Ok(Look::GoesOn),
            (Dialect::Legacy, _) => {
                let result = self.legacy("tasks/result", exchange).await;
                self.result(result)
            }
            (Dialect::Modern, status) => self.inlined(task, status),
        }
    }

    /// What an answer to `tasks/result` shows. It comes when the task ends or asks.
    fn result(&self, result: Result<Outcome, Error>) -> Result<Look, Error> {
        match result {
            Ok(Outcome::Complete(result)) => {
                Ok(Look::Ended(Outcome::Complete(fields::without_related(result)?)))
            }
            Ok(Outcome::InputRequired(InputRequired { requests, state: State::Waiting(call), .. })) => {
                Ok(Look::Asks { requests, asked: Asked::Call(call) })
            }
            Ok(failed @ Outcome::Failed(_)) => Ok(Look::Ended(failed)),
            Ok(_) => Err(self.nonsense("`tasks/result` was not answered with a result")),
            // It takes longer than a call may: back to looking now and then.
            Err(error) if is_timeout(&error) => Ok(Look::GoesOn),
            Err(error) => Err(error),
        }
    }

    /// What a task of the extension has inside.
    fn inlined(&self, task: &RawObject, status: Status) -> Result<Look, Error> {
        let ended = match status {
            Status::Working => return Ok(Look::GoesOn),
            Status::InputRequired => {
                let requests = task.get_object("inputRequests").unwrap_or_default();
                let new = |name: &str| (!self.answered.contains(name)).then(|| name.to_owned());
                let requests = fields::renamed(&requests, new);
                return Ok(match requests.is_empty() {
                    true => Look::GoesOn,
                    false => Look::Asks { requests: Some(requests), asked: Asked::Update },
                });
            }
            Status::Completed => task.get_object("result").map(Outcome::Complete),
            Status::Failed => task.get_object("error").and_then(PeerError::new).map(Outcome::Failed),
            Status::Cancelled => {
                let error = RawObject::parse(r#"{"code":-32603,"message":"the task was cancelled"}"#).ok();
                error.and_then(PeerError::new).map(Outcome::Failed)
            }
        };
        ended.map(Look::Ended).ok_or_else(|| self.nonsense("a task that has ended without its outcome"))
    }

    async fn get(&self, exchange: &Exchange) -> Result<Outcome, Error> {
        match self.dialect {
            Dialect::Legacy => self.legacy("tasks/get", exchange).await,
            Dialect::Modern => fields::state(self.modern(TaskAct::Get, None, exchange).await?),
        }
    }

    async fn legacy(&self, method: &str, exchange: &Exchange) -> Result<Outcome, Error> {
        legacy(&self.session, method, self.id.as_deref().unwrap_or_default(), exchange).await
    }

    async fn modern(
        &self,
        act: TaskAct,
        responses: Option<&RawObject>,
        exchange: &Exchange,
    ) -> Result<Outcome, Error> {
        let id = self.id.clone().unwrap_or_default();
        let mut params = params(&id)?;
        if let Some(responses) = responses {
            params.object = spliced(params.object.edit().set("inputResponses", responses.as_str()).finish())?;
        }
        self.session.call(&Subject::Task { id, act, tool: None }, &params, exchange).await
    }

    /// Goes on with the answers to what was asked.
    async fn answered(
        mut self,
        asked: Asked,
        responses: &RawObject,
        exchange: &Exchange,
    ) -> Result<Outcome, Error> {
        match asked {
            Asked::Call(call) => {
                let result = call.resume(responses, exchange).await;
                match self.result(result) {
                    Ok(Look::GoesOn) => {}
                    Ok(Look::Ended(outcome)) => return Ok(self.ended(outcome)),
                    Ok(Look::Asks { requests, asked }) => return Ok(self.ask(requests, asked)),
                    Err(error) if self.passes(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            Asked::Update => match self.modern(TaskAct::Update, Some(responses), exchange).await {
                Ok(failed @ Outcome::Failed(_)) => return Ok(failed),
                Ok(_) => self.answered.extend(responses.iter().map(|(name, _)| name.into_owned())),
                // If the answers have not come, the task asks again.
                Err(error) if self.passes(&error) => {}
                Err(error) => return Err(error),
            },
        }
        self.drive(None, exchange).await
    }

    fn ended(&mut self, outcome: Outcome) -> Outcome {
        self.id = None;
        outcome
    }

    fn ask(self, requests: Option<RawObject>, asked: Asked) -> Outcome {
        let driven = Driven { next: Mutex::new(Some((self, asked))) };
        Outcome::InputRequired(InputRequired {
            asker: None,
            requests,
            state: State::Waiting(Arc::new(driven)),
        })
    }

    /// What the task says of itself is its progress.
    fn tell(&mut self, task: &RawObject, exchange: &Exchange) {
        let Some(message) = task.get_text("statusMessage").filter(|message| *message != self.message) else {
            return;
        };
        self.told += 1;
        let text = format!(
            r#"{{"progressToken":0,"progress":{},"message":{}}}"#,
            self.told,
            RawJson::string(&message)
        );
        self.message = message;
        if let (true, Ok(params)) = (exchange.wants_progress, RawObject::parse(text)) {
            exchange.events.emit(Event::Progress(params));
        }
    }

    fn nonsense(&self, reason: &str) -> Error {
        DownstreamFault::Nonsense { reason: reason.to_owned() }.during(&self.downstream)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let (Some(id), true) = (self.id.take(), self.session.is_open()) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(give_up(self.session.clone(), self.dialect, id));
        }
    }
}

/// Tells the downstream that nobody wants the task any more. What it says to that interests nobody.
async fn give_up(session: Arc<dyn DownstreamSession>, dialect: Dialect, id: Arc<str>) {
    const PATIENCE: Duration = Duration::from_secs(5);
    let nobody = SessionKey::Legacy { id: "".into() };
    let quiet = |era| Exchange::quiet(era, nobody, ClientCapabilities::none());
    let cancel = async {
        match dialect {
            Dialect::Legacy => legacy(&session, "tasks/cancel", &id, &quiet(Era::Legacy)).await,
            Dialect::Modern => {
                let (params, exchange) = (params(&id)?, declaring_tasks(&quiet(Era::Modern))?);
                let subject = Subject::Task { id: id.clone(), act: TaskAct::Cancel, tool: None };
                session.call(&subject, &params, &exchange).await
            }
        }
    };
    if !matches!(tokio::time::timeout(PATIENCE, cancel).await, Ok(Ok(_))) {
        tracing::debug!("a task that nobody wants any more could not be cancelled");
    }
}

pub(super) async fn legacy(
    session: &Arc<dyn DownstreamSession>,
    method: &str,
    id: &str,
    exchange: &Exchange,
) -> Result<Outcome, Error> {
    session.call(&Subject::Other { method: method.into() }, &params(id)?, exchange).await
}

fn params(id: &str) -> Result<Params, Error> {
    Ok(Params {
        object: spliced(RawObject::empty().edit().set("taskId", RawJson::string(id).as_str()).finish())?,
        meta: None,
    })
}

/// The task has begun, whatever became of a request about it.
fn begun(mut error: Error) -> Error {
    if let Error::Downstream(error) = &mut error {
        error.execution = Execution::Possible;
    }
    error
}

fn is_timeout(error: &Error) -> bool {
    matches!(error, Error::Downstream(error) if matches!(error.fault, DownstreamFault::TimedOut { .. }))
}

/// A driven task that waits for answers.
struct Driven {
    /// `None` once it goes on; then another waits, if any.
    next: Mutex<Option<(Runner, Asked)>>,
}

#[async_trait]
impl ParkedCall for Driven {
    async fn resume(&self, responses: &RawObject, exchange: &Exchange) -> Result<Outcome, Error> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (runner, asked) = next.ok_or(CallerError::UnknownState)?;
        match runner.dialect {
            Dialect::Legacy => runner.answered(asked, responses, exchange).await,
            Dialect::Modern => runner.answered(asked, responses, &declaring_tasks(exchange)?).await,
        }
    }
}

impl fmt::Debug for Driven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven").finish_non_exhaustive()
    }
}
