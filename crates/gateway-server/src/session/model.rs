//! The session table against a list that is searched from end to end.

use std::time::Duration;

use gateway_domain::Caller;
use proptest::prelude::*;
use tokio::time::{advance, pause};

use super::*;

const PER_CALLER: usize = 3;
const IN_ALL: usize = 5;
const IDLE: Duration = Duration::from_secs(30);
const LIFETIME: Duration = Duration::from_secs(200);

#[derive(Debug, Clone, Copy)]
enum Step {
    Open(usize),
    /// These and the following name a session by its number.
    Find(usize),
    Enter(usize),
    Stream(usize),
    /// Lets go of the oldest use.
    Leave(usize),
    Remove(usize),
    TakeExpired,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize).prop_map(Step::Open),
        2 => any::<usize>().prop_map(Step::Find),
        3 => any::<usize>().prop_map(Step::Enter),
        2 => any::<usize>().prop_map(Step::Stream),
        4 => any::<usize>().prop_map(Step::Leave),
        1 => any::<usize>().prop_map(Step::Remove),
        1 => Just(Step::TakeExpired),
        3 => (1..40_u64).prop_map(Step::Wait),
    ]
}

/// A session as the model sees it, next to the true one.
struct Entry {
    session: Arc<Session>,
    caller: usize,
    opened: Duration,
    used: Duration,
    /// The uses that are open, with whether each is the stream.
    uses: Vec<(InUse, bool)>,
    is_there: bool,
}

impl Entry {
    fn is_expired(&self, now: Duration) -> bool {
        now - self.opened >= LIFETIME || (self.uses.is_empty() && now - self.used >= IDLE)
    }

    fn is_idle(&self) -> bool {
        self.is_there && self.uses.is_empty()
    }
}

struct World {
    table: SessionTable,
    principals: Vec<Arc<Principal>>,
    entries: Vec<Entry>,
    now: Duration,
}

impl World {
    fn new() -> Self {
        let limits = Limits {
            sessions: IN_ALL,
            sessions_per_caller: PER_CALLER,
            session_idle: IDLE,
            session_lifetime: LIFETIME,
            ..Limits::default()
        };
        let named = ["desk", "lab"].map(|name| Principal::new(Caller::client(name)));
        // Whoever has no key is bounded in all only.
        let anybody = Principal::everybody();
        let principals = named.into_iter().chain([anybody]).collect();
        Self {
            table: SessionTable::new(limits, Counter::default()),
            principals,
            entries: Vec::new(),
            now: Duration::ZERO,
        }
    }

    async fn pass(&mut self, time: Duration) {
        advance(time).await;
        self.now += time;
    }

    async fn take(&mut self, step: Step) {
        // So that no two sessions are idle for the same time.
        self.pass(Duration::from_millis(1)).await;
        let known = self.entries.len();
        let numbered = |number: usize| (known > 0).then(|| number % known);
        match step {
            Step::Open(caller) => self.open(caller),
            Step::Wait(seconds) => self.pass(Duration::from_secs(seconds)).await,
            Step::TakeExpired => self.take_expired(),
            Step::Find(number) => {
                if let Some(number) = numbered(number) {
                    self.find(number);
                }
            }
            Step::Enter(number) => {
                if let Some(number) = numbered(number) {
                    let entry = &mut self.entries[number];
                    entry.uses.push((entry.session.enter(), false));
                }
            }
            Step::Stream(number) => {
                if let Some(number) = numbered(number) {
                    let entry = &mut self.entries[number];
                    let taken = entry.uses.iter().any(|(_, streams)| *streams);
                    match entry.session.stream() {
                        Ok(in_use) => {
                            assert!(!taken, "two streams of one session");
                            entry.uses.push((in_use, true));
                        }
                        Err(refusal) => assert!(taken && refusal == Refusal::StreamTaken),
                    }
                }
            }
            Step::Leave(number) => {
                if let Some(number) = numbered(number)
                    && !self.entries[number].uses.is_empty()
                {
                    self.entries[number].used = self.now;
                    drop(self.entries[number].uses.remove(0));
                }
            }
            Step::Remove(number) => {
                if let Some(number) = numbered(number) {
                    let removed = self.table.remove(&self.entries[number].session);
                    assert_eq!(removed, self.entries[number].is_there);
                    self.entries[number].is_there = false;
                }
            }
        }
        self.check();
    }

    fn count(&self, chosen: impl Fn(&Entry) -> bool) -> usize {
        self.entries.iter().filter(|entry| entry.is_there && chosen(entry)).count()
    }

    /// Whose end a new session of this caller needs: `None` if nobody's, else the number, if there is one.
    fn victim(&self, caller: usize) -> Option<Option<usize>> {
        let oldest = |chosen: &dyn Fn(&Entry) -> bool| {
            let idle = self.entries.iter().enumerate().filter(|(_, entry)| entry.is_idle() && chosen(entry));
            idle.min_by_key(|(_, entry)| entry.used).map(|(number, _)| number)
        };
        if caller < 2 && self.count(|entry| entry.caller == caller) >= PER_CALLER {
            Some(oldest(&|entry| entry.caller == caller))
        } else if self.count(|_| true) >= IN_ALL {
            Some(oldest(&|_| true))
        } else {
            None
        }
    }

    fn open(&mut self, caller: usize) {
        let expected = self.victim(caller);
        let opened = self.table.open(&self.principals[caller], &View::All, Revision::V2025_11_25.into());
        if expected == Some(None) {
            assert_eq!(opened.err(), Some(Refusal::SessionsFull), "all are in use");
            return;
        }
        let (session, evicted) = opened.unwrap();
        let evicted = evicted.map(|evicted| evicted.id().to_owned());
        let victim = expected.flatten();
        assert_eq!(evicted, victim.map(|number| self.entries[number].session.id().to_owned()));
        if let Some(number) = victim {
            self.entries[number].is_there = false;
        }
        let (opened, used) = (self.now, self.now);
        self.entries.push(Entry { session, caller, opened, used, uses: Vec::new(), is_there: true });
    }

    fn find(&self, number: usize) {
        let (entry, id) = (&self.entries[number], self.entries[number].session.id());
        let files = View::Downstream(gateway_domain::DownstreamName::parse("files").unwrap());
        for (caller, principal) in self.principals.iter().enumerate() {
            let own = caller == entry.caller && entry.is_there && !entry.is_expired(self.now);
            assert_eq!(self.table.find(id, principal, &View::All).is_some(), own);
            assert!(self.table.find(id, principal, &files).is_none());
        }
    }

    fn take_expired(&mut self) {
        let mut taken: Vec<_> = self.table.take_expired().iter().map(|taken| taken.id().to_owned()).collect();
        let mut expected = Vec::new();
        for entry in &mut self.entries {
            if entry.is_there && entry.is_expired(self.now) {
                entry.is_there = false;
                expected.push(entry.session.id().to_owned());
            }
        }
        taken.sort();
        expected.sort();
        assert_eq!(taken, expected);
    }

    /// What holds at any time.
    fn check(&self) {
        assert_eq!(self.table.len(), self.count(|_| true));
        assert!(self.table.len() <= IN_ALL);
        for (caller, principal) in self.principals.iter().enumerate() {
            let own = self.count(|entry| entry.caller == caller);
            assert_eq!(principal.sessions.load(Ordering::SeqCst), own);
            assert!(caller == 2 || own <= PER_CALLER);
        }
    }

    /// Left alone, everything is forgotten.
    async fn end(mut self) {
        for entry in &mut self.entries {
            if !entry.uses.is_empty() {
                entry.used = self.now;
                entry.uses.clear();
            }
        }
        self.pass(IDLE).await;
        self.take_expired();
        self.check();
        assert_eq!(self.table.len(), 0);
        let kept = self.entries.iter().filter(|entry| Arc::strong_count(&entry.session) > 1).count();
        assert_eq!(kept, 0, "nobody else holds a session any more");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_does_as_the_model(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            pause();
            let mut world = World::new();
            for step in steps {
                world.take(step).await;
            }
            world.end().await;
        });
    }
}
