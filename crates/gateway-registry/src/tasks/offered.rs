//! Tasks of legacy downstreams that clients poll in the words of the extension (protocol.md §20.11).

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use gateway_domain::{
    Error, Exchange, InputRequired, Outcome, Params, ParkedCall, RawObject, Silent, State, TaskAct,
    TaskHandle,
};
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Duration, Instant},
};

use super::{
    drive::{Runner, legacy},
    fields::{self, Status},
};
use crate::{
    Held,
    commons::{ClientId, Commons},
    errand::Errand,
    held::{Kept, Resting},
    shelf::{Bounds, Owner, Put, Shelf},
};

/// How long a poll waits for what a task asks. Then the next will find it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The tasks that are known to go on. One that is not known can be polled all the same, as long as its session
/// lives; while it is known it does.
#[derive(Debug)]
pub(crate) struct Tasks {
    shelf: Mutex<Shelf<Name, Arc<Record>>>,
}

/// Ids are unique within a session at best.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name {
    client: ClientId,
    downstream: crate::downstream::Identity,
    id: Arc<str>,
}

impl Tasks {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { shelf: Mutex::new(Shelf::new(bounds)) }
    }

    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        self.shelf().set_bounds(bounds);
    }

    /// How long a task may take.
    pub(crate) fn time(&self) -> Duration {
        self.shelf().time()
    }

    pub(crate) fn forget_where(&self, chosen: impl Fn(&Owner, &Record) -> bool) {
        let forgotten = self.shelf().remove_where(|owner, record| chosen(owner, record));
        drop(forgotten);
    }

    pub(crate) fn sweep(&self) {
        let (expired, evicted) = {
            let mut shelf = self.shelf();
            let expired = shelf.remove_expired(Instant::now());
            (expired, shelf.remove_where(|_, record| record.lease.held().kept().is_given_up()))
        };
        drop((expired, evicted));
    }

    pub(crate) fn close(&self) {
        let all = self.shelf().close();
        drop(all);
    }

    /// The session in which a caller's task goes on, and whose that is: another of the same caller's, if it declares
    /// other capabilities than before.
    pub(crate) fn session_of(&self, owner: &Owner, id: &str) -> Option<(ClientId, Held)> {
        let shelf = self.shelf();
        let is_it = |of: &Owner, record: &Record| {
            of.caller == owner.caller && of.downstream == owner.downstream && *record.id == *id
        };
        let mut records: Vec<_> = shelf.iter().filter(|(of, record)| is_it(of, record)).collect();
        records.sort_by_key(|(of, _)| of.key != owner.key);
        records.into_iter().find_map(|(_, record)| Some((record.client, record.lease.held().kept().enter()?)))
    }

    /// The record of a task in this very session.
    fn known(&self, name: &Name, kept: &Arc<Kept>) -> Option<Arc<Record>> {
        let record = self.shelf().get_any(name, Instant::now()).cloned();
        record.filter(|record| Arc::ptr_eq(record.lease.held().kept(), kept))
    }

    fn remember(&self, name: Name, owner: Owner, record: Arc<Record>) {
        let put = {
            let mut shelf = self.shelf();
            // One of an earlier session may have had the same id.
            let before = shelf.remove(&name);
            (shelf.put(name, owner, record, Instant::now()), before)
        };
        if let (Put::Full(..), _) = put {
            tracing::debug!("a task is not remembered: there are too many");
        }
    }

    fn forget(&self, name: &Name) {
        let forgotten = self.shelf().remove(name);
        drop(forgotten);
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf<Name, Arc<Record>>> {
        // Every critical section leaves it consistent.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that goes on, its session, and what it asks.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) client: ClientId,
    id: Arc<str>,
    lease: Resting,
    asking: watch::Sender<Asking>,
    /// How many requests for its questions have been opened.
    opened: AtomicU64,
}

/// What is known of a task's questions, which come through a `tasks/result` that is kept open for them.
#[derive(Debug, Clone)]
enum Asking {
    Nothing,
    /// Questions, or the end, are waited for.
    Waiting(AbortHandle),
    Asked {
        requests: RawObject,
        call: Arc<dyn ParkedCall>,
        prefix: String,
    },
    /// The task has ended with this.
    Ended(Outcome),
}

impl Record {
    fn new(client: ClientId, id: &Arc<str>, held: Held) -> Arc<Self> {
        let (id, asking) = (id.clone(), watch::Sender::new(Asking::Nothing));
        Arc::new(Self { client, id, lease: held.rest(), asking, opened: AtomicU64::default() })
    }

    /// Has questions waited for, if that is not going on.
    fn listen(self: &Arc<Self>, exchange: &Exchange) {
        self.asking.send_if_modified(|asking| {
            let is_open = !matches!(asking, Asking::Nothing);
            if !is_open {
                let number = self.opened.fetch_add(1, Ordering::Relaxed);
                // Unique for the life of the task, as names of questions have to be; they are for that of a call.
                let prefix = if number == 0 { String::new() } else { format!("{number}.") };
                let (session, id) = (self.lease.held().session().clone(), self.id.clone());
                let exchange = exchange.clone();
                let result = async move { legacy(&session, "tasks/result", &id, &exchange).await };
                *asking = Asking::Waiting(self.wait_for(result, prefix));
            }
            !is_open
        });
    }

    /// Gives answers to what is asked now; those to anything else are ignored.
    fn answer(self: &Arc<Self>, responses: &RawObject, exchange: &Exchange) {
        self.asking.send_if_modified(|asking| {
            let Asking::Asked { call, prefix, .. } = asking else { return false };
            let (call, prefix, exchange) = (call.clone(), prefix.clone(), exchange.clone());
            let responses = fields::renamed(responses, |name| name.strip_prefix(&*prefix).map(str::to_owned));
            let result = async move { call.resume(&responses, &exchange).await };
            *asking = Asking::Waiting(self.wait_for(result, prefix));
            true
        });
    }

    /// In the background, since polls and answers are not kept waiting.
    fn wait_for(
        self: &Arc<Self>,
        result: impl Future<Output = Result<Outcome, Error>> + Send + 'static,
        prefix: String,
    ) -> AbortHandle {
        let record = Arc::downgrade(self);
        let wait = async move {
            let next = Asking::after(result.await, prefix);
            if let Some(record) = record.upgrade() {
                record.asking.send_replace(next);
            }
        };
        tokio::spawn(wait).abort_handle()
    }

    /// What is asked, if that is known soon.
    async fn asked(&self) -> Asking {
        let mut asking = self.asking.subscribe();
        let known = asking.wait_for(|asking| !matches!(asking, Asking::Waiting(_)));
        match tokio::time::timeout(PATIENCE, known).await {
            Ok(Ok(asking)) => asking.clone(),
            _ => Asking::Nothing,
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Asking::Waiting(waiting) = &*self.asking.borrow() {
            waiting.abort();
        }
    }
}

impl Asking {
    fn after(result: Result<Outcome, Error>, prefix: String) -> Self {
        match result {
            Ok(Outcome::InputRequired(InputRequired { requests, state: State::Waiting(call), .. })) => {
                let requests = requests.unwrap_or_default();
                let requests = fields::renamed(&requests, |name| Some(format!("{prefix}{name}")));
                Self::Asked { requests, call, prefix }
            }
            Ok(outcome @ (Outcome::Complete(_) | Outcome::Failed(_))) => Self::Ended(outcome),
            // The next poll tries again.
            Ok(_) | Err(_) => Self::Nothing,
        }
    }
}

/// Where a client's requests about its tasks are answered.
pub(super) struct Desk<'a> {
    commons: &'a Arc<Commons>,
    owner: Owner,
    client: ClientId,
    held: &'a Held,
    exchange: &'a Exchange,
}

impl<'a> Desk<'a> {
    pub(super) fn new(errand: &Errand<'a>, client: ClientId, held: &'a Held) -> Self {
        Self { commons: errand.commons, owner: errand.owner(), client, held, exchange: errand.exchange }
    }

    pub(super) fn offer(&self) -> Offer {
        let (commons, kept) = (Arc::downgrade(self.commons), self.held.kept().clone());
        Offer { commons, owner: self.owner.clone(), client: self.client, kept }
    }

    pub(super) async fn act(&self, id: &Arc<str>, act: TaskAct, params: &Params) -> Result<Outcome, Error> {
        match act {
            TaskAct::Get => self.get(id).await,
            TaskAct::Update => self.update(id, params),
            TaskAct::Cancel => self.cancel(id).await,
        }
    }

    async fn get(&self, id: &Arc<str>) -> Result<Outcome, Error> {
        let task = match self.legacy("tasks/get", id).await? {
            Outcome::Complete(task) => task,
            other => return Ok(other),
        };
        match Status::of(&task) {
            Status::Working => complete(&task, &[]),
            Status::InputRequired => self.questions(id, &task).await,
            Status::Cancelled => {
                self.commons.tasks.forget(&self.name(id));
                complete(&task, &[])
            }
            Status::Completed | Status::Failed => self.result(id, &task).await,
        }
    }

    /// A task that has ended, with its outcome inside.
    async fn result(&self, id: &Arc<str>, task: &RawObject) -> Result<Outcome, Error> {
        let known = self.known(id).map(|record| record.asking.borrow().clone());
        let outcome = match known {
            Some(Asking::Ended(outcome)) => outcome,
            _ => self.legacy("tasks/result", id).await?,
        };
        match outcome {
            Outcome::Complete(result) => {
                let result = fields::without_related(result)?;
                self.commons.tasks.forget(&self.name(id));
                complete(task, &[("status", r#""completed""#), ("result", result.as_str())])
            }
            Outcome::Failed(error) => {
                self.commons.tasks.forget(&self.name(id));
                complete(task, &[("status", r#""failed""#), ("error", error.raw.as_str())])
            }
            // It cannot ask any more; the next poll will show what it is up to.
            _ => complete(task, &[("status", r#""working""#)]),
        }
    }

    async fn questions(&self, id: &Arc<str>, task: &RawObject) -> Result<Outcome, Error> {
        let record = self.known(id).unwrap_or_else(|| self.remember(id));
        record.listen(&self.quiet());
        match record.asked().await {
            Asking::Asked { requests, .. } => complete(task, &[("inputRequests", requests.as_str())]),
            // Nothing that could be answered yet.
            _ => complete(task, &[("status", r#""working""#)]),
        }
    }

    fn update(&self, id: &Arc<str>, params: &Params) -> Result<Outcome, Error> {
        let responses = params.object.get_object("inputResponses").unwrap_or_default();
        if let Some(record) = self.known(id) {
            record.answer(&responses, &self.quiet());
        }
        acknowledged()
    }

    async fn cancel(&self, id: &Arc<str>) -> Result<Outcome, Error> {
        let refused = self.legacy("tasks/cancel", id).await?;
        if !matches!(refused, Outcome::Failed(_)) {
            self.commons.tasks.forget(&self.name(id));
            return acknowledged();
        }
        // That it has ended already is fine; that it is not known is not.
        match self.legacy("tasks/get", id).await? {
            Outcome::Complete(_) => acknowledged(),
            _ => Ok(refused),
        }
    }

    fn known(&self, id: &Arc<str>) -> Option<Arc<Record>> {
        self.commons.tasks.known(&self.name(id), self.held.kept())
    }

    fn remember(&self, id: &Arc<str>) -> Arc<Record> {
        let record = Record::new(self.client, id, self.held.clone());
        self.commons.tasks.remember(self.name(id), self.owner.clone(), record.clone());
        record
    }

    fn name(&self, id: &Arc<str>) -> Name {
        Name { client: self.client, downstream: self.owner.downstream.clone(), id: id.clone() }
    }

    async fn legacy(&self, method: &str, id: &str) -> Result<Outcome, Error> {
        legacy(self.held.session(), method, id, self.exchange).await
    }

    /// Nothing but answers belongs to a task.
    fn quiet(&self) -> Exchange {
        Exchange { wants_progress: false, log_level: None, events: Arc::new(Silent), ..self.exchange.clone() }
    }
}

fn complete(task: &RawObject, changes: &[(&str, &str)]) -> Result<Outcome, Error> {
    fields::flat(task, "complete", changes).map(Outcome::Complete)
}

fn acknowledged() -> Result<Outcome, Error> {
    fields::flat(&RawObject::empty(), "complete", &[]).map(Outcome::Complete)
}

/// A client that will poll.
#[derive(Clone)]
pub(super) struct Offer {
    commons: Weak<Commons>,
    owner: Owner,
    client: ClientId,
    kept: Arc<Kept>,
}

impl Offer {
    fn remember(self, id: Arc<str>) {
        let Some(commons) = self.commons.upgrade() else { return };
        let record = Record::new(self.client, &id, self.kept.lease());
        let name = Name { client: self.client, downstream: self.owner.downstream.clone(), id };
        commons.tasks.remember(name, self.owner, record);
    }
}

/// A task that is being made, which may take questions too.
pub(super) struct Creation {
    runner: Runner,
    offer: Option<Offer>,
}

impl Creation {
    pub(super) fn new(runner: Runner, offer: Option<Offer>) -> Self {
        Self { runner, offer }
    }

    /// What the call of the tool came to: a task, or its end if the downstream would rather have it that way.
    pub(super) async fn came_to(self, outcome: Outcome, exchange: &Exchange) -> Result<Outcome, Error> {
        let result = match outcome {
            Outcome::Complete(result) => result,
            Outcome::InputRequired(InputRequired { requests, state: State::Waiting(call), asker }) => {
                let state = State::Waiting(Arc::new(Creating { call, next: Mutex::new(Some(self)) }));
                return Ok(Outcome::InputRequired(InputRequired { asker, requests, state }));
            }
            other => return Ok(other),
        };
        let (Some(task), false) = (result.get_object("task"), result.contains("content")) else {
            return Ok(Outcome::Complete(result));
        };
        match (self.offer, fields::id(&task)) {
            (Some(offer), Some(id)) => {
                offer.remember(id);
                let object = fields::flat(&task, "task", &[])?;
                Ok(Outcome::Task(TaskHandle { downstream: None, tool: None, object }))
            }
            _ => self.runner.begin(task, exchange).await,
        }
    }
}

/// The same, while it waits for answers.
struct Creating {
    call: Arc<dyn ParkedCall>,
    next: Mutex<Option<Creation>>,
}

#[async_trait]
impl ParkedCall for Creating {
    fn is_over(&self) -> bool {
        self.call.is_over()
    }

    async fn resume(&self, responses: &RawObject, exchange: &Exchange) -> Result<Outcome, Error> {
        let outcome = self.call.resume(responses, exchange).await?;
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        match next {
            Some(creation) => creation.came_to(outcome, exchange).await,
            None => Ok(outcome),
        }
    }
}

impl fmt::Debug for Creating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}
