//! The pool against a model of it: lists of numbers, one rule each.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use gateway_domain::{DownstreamFault, DownstreamSession, Era, SessionProfile};
use gateway_registry::{Pool, PoolConfig, Pooled, Stats};
use proptest::prelude::*;

use crate::fake::{Fake, SECOND, Speaks, fault, name, number};

const MAX: usize = 3;
const TTL: u64 = 90;

#[derive(Debug, Clone)]
enum Step {
    Acquire(Era),
    /// Which of those in use, counted round.
    Release(usize),
    Discard(usize),
    Wait(u64),
    Reap,
    /// Which of those there are, counted round.
    Kill(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop_oneof![Just(Era::Legacy), Just(Era::Modern)].prop_map(Step::Acquire),
        5 => any::<usize>().prop_map(Step::Release),
        2 => any::<usize>().prop_map(Step::Discard),
        2 => (1..TTL).prop_map(Step::Wait),
        1 => Just(Step::Reap),
        2 => any::<usize>().prop_map(Step::Kill),
        1 => Just(Step::Close),
    ]
}

/// A session as the model knows it.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    number: usize,
    era: Era,
    idle_since: u64,
    ended: bool,
}

#[derive(Debug, Default)]
struct Model {
    now: u64,
    created: usize,
    in_use: Vec<Known>,
    /// Most recently returned last.
    idle: Vec<Known>,
    closed: bool,
}

impl Model {
    /// The number of the session that is given out.
    fn acquire(&mut self, era: Era) -> Result<usize, DownstreamFault> {
        if self.closed {
            return Err(DownstreamFault::Closed);
        }
        if self.in_use.len() == MAX {
            return Err(DownstreamFault::Exhausted { max: MAX });
        }
        let known = match self.idle.iter().rposition(|known| known.era == era && !known.ended) {
            Some(at) => self.idle.remove(at),
            None => {
                let ended = self.idle.iter().position(|known| known.ended);
                if let Some(at) = ended {
                    self.idle.remove(at);
                } else if self.in_use.len() + self.idle.len() == MAX {
                    self.idle.remove(0);
                }
                self.created += 1;
                Known { number: self.created, era, idle_since: 0, ended: false }
            }
        };
        let number = known.number;
        self.in_use.push(known);
        Ok(number)
    }

    fn release(&mut self, at: usize) {
        let known = self.in_use.remove(at);
        if !self.closed && !known.ended {
            self.idle.push(Known { idle_since: self.now, ..known });
        }
    }

    fn reap(&mut self) {
        self.idle.retain(|known| self.now - known.idle_since <= TTL && !known.ended);
    }

    fn stats(&self) -> Stats {
        Stats { in_use: self.in_use.len(), idle: self.idle.len(), created: self.created as u64 }
    }
}

/// The pool's own task would reap at times the model does not know: it is made without one.
fn pool(fake: &Fake) -> Pool<Fake> {
    let (acquire_timeout, idle_ttl) = (SECOND / 1000, TTL as u32 * SECOND);
    let config = PoolConfig { max: MAX, acquire_timeout, idle_ttl, ..PoolConfig::default() };
    Pool::new(name("fake"), Arc::new(fake.clone()), config)
}

async fn run(pool: &Pool<Fake>, fake: &Fake, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut model = Model::default();
    let mut in_use: Vec<Pooled<Arc<dyn DownstreamSession>>> = Vec::new();
    for step in steps {
        match &step {
            Step::Acquire(era) => {
                let profile = SessionProfile { era: *era, ..SessionProfile::default() };
                match (pool.acquire(&profile).await, model.acquire(*era)) {
                    (Ok(session), Ok(expected)) => {
                        prop_assert_eq!(number(&session), expected);
                        in_use.push(session);
                    }
                    (Err(error), Err(expected)) => prop_assert_eq!(fault::<()>(Err(error)), expected),
                    (given, expected) => prop_assert!(false, "{:?} instead of {:?}", given, expected),
                }
            }
            Step::Release(which) | Step::Discard(which) if !in_use.is_empty() => {
                let at = which % in_use.len();
                let session = in_use.remove(at);
                if matches!(step, Step::Release(_)) {
                    model.release(at);
                    drop(session);
                } else {
                    model.in_use.remove(at);
                    session.discard().await;
                }
            }
            Step::Release(_) | Step::Discard(_) => {}
            Step::Wait(seconds) => {
                model.now += seconds;
                tokio::time::advance(*seconds as u32 * SECOND).await;
            }
            Step::Reap => {
                model.reap();
                pool.reap().await;
            }
            Step::Kill(which) => {
                let count = (model.in_use.len() + model.idle.len()).max(1);
                let known = model.in_use.iter_mut().chain(&mut model.idle).nth(which % count);
                if let Some(known) = known {
                    known.ended = true;
                    fake.kill(known.number);
                }
            }
            Step::Close => {
                model.closed = true;
                model.idle.clear();
                pool.close().await;
            }
        }
        // What is closed in the background is closed now; nothing here takes time.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        prop_assert_eq!(pool.stats(), model.stats(), "after {:?}", step);
        prop_assert_eq!(fake.counts().2, in_use.len() + model.idle.len(), "alive after {:?}", step);
    }
    prop_assert!(fake.most_live.load(SeqCst) <= MAX);
    Ok(())
}

proptest! {
    #[test]
    fn the_pool_is_its_model(steps in proptest::collection::vec(step(), 0..60)) {
        let fake = Fake::new(Speaks::Both);
        let pool = pool(&fake);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(run(&pool, &fake, steps))?;
    }
}
