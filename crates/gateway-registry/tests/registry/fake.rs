//! A downstream made of counters: what it speaks, how long it takes and what fails are settings.

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    ClientLink, DownstreamFault, DownstreamName, DownstreamSession, Era, Error, Exchange, Factory,
    InputRequired, ListKind, ListPage, Outcome, Params, ParkedCall, PeerError, PeerInfo, RawJson, RawObject,
    Session, SessionProfile, State as CallState, Subject, Subscription, Updates,
};
use tokio::sync::Notify;

use crate::fake_tasks::{self as tasks, FakeTasks};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn name(name: &str) -> DownstreamName {
    DownstreamName::parse(name).unwrap()
}

/// What the downstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Legacy,
    Modern,
    Both,
}

/// The factory of fake sessions, with everything that is known about them. Clones share it.
#[derive(Clone)]
pub(crate) struct Fake(Arc<State>);

pub(crate) struct State {
    speaks: Mutex<Speaks>,
    opening_ms: AtomicU64,
    closing_ms: AtomicU64,
    /// How many of the next creations fail.
    failures: AtomicUsize,
    failure: Mutex<Error>,
    /// How many of the next calls of a tool `die …` end their session.
    pub(crate) deaths: AtomicUsize,
    /// Creations begun.
    pub(crate) attempts: AtomicUsize,
    /// Calls that reached a session.
    pub(crate) calls: AtomicUsize,
    /// Closes begun, repetitions counted.
    pub(crate) closes: AtomicUsize,
    /// Calls that wait for answers.
    pub(crate) parked: AtomicUsize,
    /// Those that were given up.
    pub(crate) abandoned: AtomicUsize,
    /// What sessions were asked for with.
    pub(crate) profiles: Mutex<Vec<SessionProfile>>,
    /// Sessions that were told whose they are, and that roots are others.
    pub(crate) attended: AtomicUsize,
    pub(crate) roots_changes: AtomicUsize,
    /// The params of calls of `echo`.
    pub(crate) echoed: Mutex<Vec<RawObject>>,
    /// Subscriptions that were made, and those that there are.
    pub(crate) subscribed: AtomicUsize,
    pub(crate) watching: AtomicUsize,
    pub(crate) tasks: FakeTasks,
    opened: AtomicUsize,
    closed: AtomicUsize,
    live: AtomicUsize,
    /// The most sessions that were ever being opened, open or being closed at once.
    pub(crate) most_live: AtomicUsize,
    sessions: Mutex<Vec<Weak<FakeSession>>>,
}

impl Deref for Fake {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl Fake {
    pub(crate) fn new(speaks: Speaks) -> Self {
        let zero = AtomicUsize::default;
        Self(Arc::new(State {
            speaks: Mutex::new(speaks),
            opening_ms: AtomicU64::default(),
            closing_ms: AtomicU64::default(),
            failures: zero(),
            failure: Mutex::new(unreachable()),
            deaths: zero(),
            attempts: zero(),
            calls: zero(),
            closes: zero(),
            parked: zero(),
            abandoned: zero(),
            profiles: Mutex::default(),
            attended: zero(),
            roots_changes: zero(),
            echoed: Mutex::default(),
            subscribed: zero(),
            watching: zero(),
            tasks: FakeTasks::default(),
            opened: zero(),
            closed: zero(),
            live: zero(),
            most_live: zero(),
            sessions: Mutex::default(),
        }))
    }

    pub(crate) fn opening_takes(self, time: Duration) -> Self {
        self.opening_ms.store(millis(time), SeqCst);
        self
    }

    pub(crate) fn closing_takes(self, time: Duration) -> Self {
        self.closing_ms.store(millis(time), SeqCst);
        self
    }

    pub(crate) fn failing(self, times: usize) -> Self {
        self.fail(times, unreachable());
        self
    }
}

impl State {
    pub(crate) fn fail(&self, times: usize, with: Error) {
        *self.failure.lock().unwrap() = with;
        self.failures.store(times, SeqCst);
    }

    /// Another version takes the place of the downstream: all open sessions end.
    pub(crate) fn replace(&self, speaks: Speaks) {
        *self.speaks.lock().unwrap() = speaks;
        self.kill_all();
    }

    /// All open sessions end by themselves, as when a process exits; calls in flight fail.
    pub(crate) fn kill_all(&self) {
        self.alive().for_each(|session| session.die());
    }

    /// A resource changes; all sessions tell.
    pub(crate) fn update(&self, uri: &str) {
        let params = RawObject::parse(format!(r#"{{"uri":"{uri}","n":1.0}}"#)).unwrap();
        for session in self.alive() {
            let watchers = session.watchers.lock().unwrap().clone();
            watchers
                .iter()
                .filter(|(of, _)| of == uri)
                .for_each(|(_, updates)| updates.updated(params.clone()));
        }
    }

    /// One session ends by itself.
    pub(crate) fn kill(&self, number: usize) {
        self.alive().filter(|session| session.number == number).for_each(|session| session.die());
    }

    fn alive(&self) -> impl Iterator<Item = Arc<FakeSession>> {
        let sessions: Vec<_> = self.sessions.lock().unwrap().iter().filter_map(Weak::upgrade).collect();
        sessions.into_iter()
    }

    /// Sessions opened, closed to the end, and alive.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        (self.opened.load(SeqCst), self.closed.load(SeqCst), self.live.load(SeqCst))
    }
}

#[async_trait]
impl Factory for Fake {
    type Session = Arc<dyn DownstreamSession>;

    async fn create(&self, profile: &SessionProfile) -> Result<Self::Session, Error> {
        self.attempts.fetch_add(1, SeqCst);
        let process = Process::start(self);
        pause(&self.opening_ms).await;
        if take_one(&self.failures) {
            return Err(self.failure.lock().unwrap().clone());
        }
        self.profiles.lock().unwrap().push(profile.clone());
        let number = self.opened.fetch_add(1, SeqCst) + 1;
        let era = match *self.speaks.lock().unwrap() {
            Speaks::Legacy => Era::Legacy,
            Speaks::Modern => Era::Modern,
            Speaks::Both => profile.era,
        };
        let session = Arc::new_cyclic(|me| FakeSession {
            me: me.clone(),
            peer: PeerInfo {
                era,
                protocol: format!("session {number}"),
                server: None,
                capabilities: RawObject::parse(r#"{"tasks":{"requests":{"tools":{"call":{}}}}}"#).unwrap(),
                instructions: None,
            },
            number,
            watchers: Mutex::default(),
            counter: AtomicUsize::default(),
            ended: AtomicBool::new(false),
            wake: Notify::new(),
            process: Mutex::new(Some(process)),
            fake: self.clone(),
        });
        self.sessions.lock().unwrap().push(Arc::downgrade(&session));
        Ok(session)
    }

    async fn wound_up(&self) {
        pause(&self.closing_ms).await;
    }
}

/// Counts as alive until dropped.
struct Process(Fake);

impl Process {
    fn start(fake: &Fake) -> Self {
        let live = fake.live.fetch_add(1, SeqCst) + 1;
        fake.most_live.fetch_max(live, SeqCst);
        Self(fake.clone())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, SeqCst);
    }
}

pub(crate) struct FakeSession {
    me: Weak<Self>,
    peer: PeerInfo,
    number: usize,
    /// State that a client leaves behind.
    counter: AtomicUsize,
    ended: AtomicBool,
    wake: Notify,
    process: Mutex<Option<Process>>,
    watchers: Mutex<Vec<(String, Arc<dyn Updates>)>>,
    fake: Fake,
}

impl FakeSession {
    fn die(&self) {
        self.ended.store(true, SeqCst);
        self.wake.notify_waiters();
        let watchers = std::mem::take(&mut *self.watchers.lock().unwrap());
        watchers.iter().for_each(|(_, updates)| updates.lost());
    }

    pub(crate) fn me(&self) -> Arc<Self> {
        self.me.upgrade().unwrap()
    }

    pub(crate) fn fake(&self) -> &Fake {
        &self.fake
    }

    /// A question, and the call that waits for its answer. Legacy: the call itself; modern: a state.
    fn ask(self: &Arc<Self>, rounds: usize, params: &Params) -> Outcome {
        match self.peer.era {
            Era::Legacy => FakePark::ask(self, rounds),
            Era::Modern => match params.object.get_object("inputResponses") {
                Some(_) if params.object.get_text("requestState").as_deref() == Some("mine \u{e9}") => {
                    self.whoami()
                }
                _ => question(CallState::Own(RawJson::parse("\"mine \\u00e9\"").unwrap())),
            },
        }
    }

    pub(crate) fn whoami(&self) -> Outcome {
        Outcome::Complete(RawObject::parse(format!(r#"{{"session":{}}}"#, self.number)).unwrap())
    }

    async fn slow(&self) -> Result<Outcome, Error> {
        tokio::select! {
            () = self.wake.notified() => Err(ended().during(&name("fake"))),
            () = tokio::time::sleep(SECOND) => Ok(self.whoami()),
        }
    }
}

#[async_trait]
impl Session for FakeSession {
    async fn close(&self) {
        self.fake.closes.fetch_add(1, SeqCst);
        self.die();
        pause(&self.fake.closing_ms).await;
        let process = self.process.lock().unwrap().take();
        if process.is_some() {
            self.fake.closed.fetch_add(1, SeqCst);
        }
    }

    fn is_open(&self) -> bool {
        !self.ended.load(SeqCst)
    }
}

#[async_trait]
impl DownstreamSession for FakeSession {
    fn peer(&self) -> &PeerInfo {
        &self.peer
    }

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        let Subject::Tool { name: tool, .. } = subject else {
            return tasks::about(self, subject, params, exchange).await;
        };
        self.fake.calls.fetch_add(1, SeqCst);
        if !self.is_open() {
            return Err(ended().before(&name("fake")));
        }
        match &**tool {
            "die before" | "die during" if take_one(&self.fake.deaths) => {
                self.die();
                Err(if **tool == *"die before" {
                    ended().before(&name("fake"))
                } else {
                    ended().during(&name("fake"))
                })
            }
            "slow" => self.slow().await,
            // As a call over HTTP, which its session's close does not end.
            "deaf" => {
                tokio::time::sleep(60 * SECOND).await;
                Ok(self.whoami())
            }
            "hang" => std::future::pending().await,
            "ask" => Ok(self.me().ask(1, params)),
            "ask twice" => Ok(self.me().ask(2, params)),
            "echo" => {
                self.fake.echoed.lock().unwrap().push(params.object.clone());
                Ok(self.whoami())
            }
            "task" => Ok(tasks::create(self, params, exchange)),
            "count" => {
                let count = self.counter.fetch_add(1, SeqCst) + 1;
                Ok(Outcome::Complete(RawObject::parse(format!(r#"{{"session":{count}}}"#)).unwrap()))
            }
            "never started" => Err(unreachable()),
            "nonsense" => Err(DownstreamFault::Nonsense { reason: String::new() }.during(&name("fake"))),
            "refuse" => {
                let error = RawObject::parse(r#"{"code":-32602,"message":"no"}"#).unwrap();
                Ok(Outcome::Failed(PeerError::new(error).unwrap()))
            }
            _ => Ok(self.whoami()),
        }
    }

    async fn list(&self, _: ListKind, _: Option<&str>) -> Result<ListPage, Error> {
        Ok(ListPage::default())
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn subscribe(&self, uri: &str, updates: Arc<dyn Updates>) -> Result<Subscription, Error> {
        if !self.is_open() {
            return Err(ended().before(&name("fake")));
        }
        if uri == "none://" {
            return Err(DownstreamFault::Nonsense { reason: String::new() }.during(&name("fake")));
        }
        self.fake.subscribed.fetch_add(1, SeqCst);
        self.fake.watching.fetch_add(1, SeqCst);
        self.watchers.lock().unwrap().push((uri.to_owned(), updates.clone()));
        Ok(Subscription::new(Watching { session: self.me.clone(), updates, fake: self.fake.clone() }))
    }

    fn attend(&self, _: Weak<dyn ClientLink>) {
        self.fake.attended.fetch_add(1, SeqCst);
    }

    async fn roots_changed(&self) {
        self.fake.roots_changes.fetch_add(1, SeqCst);
    }
}

struct Watching {
    session: Weak<FakeSession>,
    updates: Arc<dyn Updates>,
    fake: Fake,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.fake.watching.fetch_sub(1, SeqCst);
        if let Some(session) = self.session.upgrade() {
            session.watchers.lock().unwrap().retain(|(_, updates)| !Arc::ptr_eq(updates, &self.updates));
        }
    }
}

/// A question named `q`, and what goes on with its answer.
pub(crate) fn question(state: CallState) -> Outcome {
    let requests = r#"{"q":{"method":"elicitation/create","params":{}}}"#;
    let requests = Some(RawObject::parse(requests).unwrap());
    Outcome::InputRequired(InputRequired { asker: None, requests, state })
}

/// A call that asks so many times before it answers.
pub(crate) struct FakePark {
    session: Arc<FakeSession>,
    rounds: usize,
    answered: AtomicBool,
}

impl FakePark {
    pub(crate) fn ask(session: &Arc<FakeSession>, rounds: usize) -> Outcome {
        session.fake.parked.fetch_add(1, SeqCst);
        let (session, answered) = (session.clone(), AtomicBool::new(false));
        question(CallState::Waiting(Arc::new(Self { session, rounds, answered })))
    }
}

#[async_trait]
impl ParkedCall for FakePark {
    async fn resume(&self, responses: &RawObject, _: &Exchange) -> Result<Outcome, Error> {
        if !self.session.is_open() {
            return Err(ended().before(&name("fake")));
        }
        self.answered.store(true, SeqCst);
        match (responses.get_text("q").as_deref(), self.rounds) {
            (None, rounds) => Ok(Self::ask(&self.session, rounds)),
            (Some("die"), _) => {
                self.session.die();
                Err(ended().before(&name("fake")))
            }
            (Some("ask slowly"), rounds) => {
                tokio::time::sleep(SECOND).await;
                Ok(Self::ask(&self.session, rounds))
            }
            (Some("hang"), _) => std::future::pending().await,
            (_, 1) => {
                self.session.fake.tasks.answered();
                Ok(self.session.whoami())
            }
            (_, rounds) => Ok(Self::ask(&self.session, rounds - 1)),
        }
    }
}

impl Drop for FakePark {
    fn drop(&mut self) {
        self.session.fake.parked.fetch_sub(1, SeqCst);
        if !self.answered.load(SeqCst) {
            self.session.fake.abandoned.fetch_add(1, SeqCst);
        }
    }
}

impl std::fmt::Debug for FakePark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FakePark")
    }
}

/// The number of a session that a pool gave out.
pub(crate) fn number(session: &Arc<dyn DownstreamSession>) -> usize {
    session.peer().protocol.strip_prefix("session ").unwrap().parse().unwrap()
}

pub(crate) fn unreachable() -> Error {
    DownstreamFault::Unreachable { reason: "as set".into() }.before(&name("fake"))
}

fn ended() -> DownstreamFault {
    DownstreamFault::Ended { reason: "killed".into() }
}

/// The fault a call or an acquisition ended with.
pub(crate) fn fault<T: std::fmt::Debug>(result: Result<T, Error>) -> DownstreamFault {
    match result {
        Err(Error::Downstream(error)) => error.fault,
        other => panic!("no downstream's fault: {other:?}"),
    }
}

fn take_one(left: &AtomicUsize) -> bool {
    left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
}

async fn pause(ms: &AtomicU64) {
    match ms.load(SeqCst) {
        0 => tokio::task::yield_now().await,
        ms => tokio::time::sleep(Duration::from_millis(ms)).await,
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap()
}
