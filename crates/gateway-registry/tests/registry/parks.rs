//! Parked calls against a model of them: who has which, and which had to go.

use std::sync::atomic::Ordering::SeqCst;

use gateway_domain::{CallerError, Dispatcher, Error, InputRequired, Outcome, Sessions, State};
use gateway_registry::{Manager, ManagerConfig, PoolConfig};
use proptest::prelude::*;
use tokio::time::Instant;

use crate::{
    fake::{Fake, SECOND, Speaks, name},
    fixture::{Client, PerClient, downstream, legacy, modern},
};

const MAX: usize = 4;
const PER_CALLER: usize = 2;
const TIME: u64 = 600;
const LEAST: u64 = 60;
const NAMES: [&str; 2] = ["fake", "other"];

/// Two sessions of nobody known, two of one known caller, and a modern one's with two sets of capabilities.
fn client(who: usize) -> Client {
    match who {
        0 | 1 => legacy(&who.to_string()),
        2 | 3 => legacy(&who.to_string()).named("known"),
        _ => modern("modern").with_profile(&who.to_string()),
    }
}

/// Who shares a bound.
fn caller(who: usize) -> usize {
    [0, 1, 2, 2, 4, 4][who]
}

#[derive(Debug, Clone)]
enum Step {
    Ask {
        who: usize,
        at: usize,
    },
    /// Which of all that were ever asked, counted round; by whom if not by its owner; and whether with an answer.
    Answer {
        which: usize,
        stranger: Option<usize>,
        answers: bool,
    },
    Abandon(usize),
    Wait(u64),
    End(usize),
    Remove(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let ask = (0..6_usize, 0..NAMES.len()).prop_map(|(who, at)| Step::Ask { who, at });
    let stranger = prop_oneof![4 => Just(None), 1 => (0..6_usize).prop_map(Some)];
    let answer = (any::<usize>(), stranger, any::<bool>());
    prop_oneof![
        8 => ask,
        6 => answer.prop_map(|(which, stranger, answers)| Step::Answer { which, stranger, answers }),
        1 => any::<usize>().prop_map(Step::Abandon),
        3 => (1..TIME / 2).prop_map(Step::Wait),
        1 => (0..6_usize).prop_map(Step::End),
        1 => (0..NAMES.len()).prop_map(Step::Remove),
        1 => Just(Step::Close),
    ]
}

#[derive(Debug, Clone, PartialEq)]
struct Known {
    number: usize,
    who: usize,
    at: usize,
    since: u64,
}

#[derive(Debug, Default)]
struct Model {
    now: u64,
    asked: usize,
    /// Oldest first.
    parks: Vec<Known>,
    closed: bool,
}

impl Model {
    /// Whether the call is parked; else it is refused.
    fn ask(&mut self, who: usize, at: usize) -> bool {
        if self.closed {
            return false;
        }
        let own = |known: &&Known| caller(known.who) == caller(who);
        if self.parks.iter().filter(own).count() >= PER_CALLER {
            let oldest = self.parks.iter().position(|known| own(&known)).unwrap();
            self.parks.remove(oldest);
        } else if self.parks.len() >= MAX {
            if self.now - self.parks[0].since < LEAST {
                return false;
            }
            self.parks.remove(0);
        }
        self.parks.push(Known { number: self.asked, who, at, since: self.now });
        self.asked += 1;
        true
    }

    fn take(&mut self, number: usize, by: usize) -> bool {
        let found = self.parks.iter().position(|known| known.number == number && known.who == by);
        found.map(|found| self.parks.remove(found)).is_some()
    }

    fn wait(&mut self, seconds: u64) {
        self.now += seconds;
        let now = self.now;
        self.parks.retain(|known| now - known.since < TIME);
    }
}

fn config() -> ManagerConfig {
    ManagerConfig { max_parks: MAX, max_parks_per_caller: PER_CALLER, ..ManagerConfig::default() }
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let fake = Fake::new(Speaks::Legacy);
    let here = |at: usize| {
        let config = PoolConfig { idle_ttl: 3600 * SECOND, ..PoolConfig::default() };
        downstream(NAMES[at], &fake, PerClient, config)
    };
    let manager = Manager::with_config(vec![here(0), here(1)], config()).unwrap();
    let (mut model, mut asked) = (Model::default(), Vec::new());
    for step in steps {
        match step.clone() {
            Step::Ask { who, at } => {
                let outcome = manager.dispatch(client(who).to(NAMES[at], "ask")).await;
                match (model.ask(who, at), outcome) {
                    (true, Ok(outcome)) => asked.push((who, at, outcome)),
                    (false, Err(Error::Caller(_))) => {}
                    (expected, outcome) => prop_assert!(false, "{:?}: {}, {:?}", step, expected, outcome),
                }
            }
            Step::Answer { which, stranger, answers } if !asked.is_empty() => {
                let number = which % asked.len();
                let (owner, at, outcome) = asked[number].clone();
                let who = stranger.unwrap_or(owner);
                let call = client(who).to(NAMES[at], "ask");
                let call = client(who).answering(call, &outcome, answers.then_some("yes"));
                let began = Instant::now();
                let result = manager.dispatch(call).await;
                let is_there = model.take(number, who);
                model.wait(0);
                match (is_there, answers, result) {
                    (true, true, Ok(Outcome::Complete(_))) => {}
                    // Asked again: another park.
                    (true, false, Ok(again)) if model.ask(who, at) => asked.push((who, at, again)),
                    (true, false, Err(Error::Caller(CallerError::Overloaded { .. }))) => {}
                    (false, _, Err(Error::Caller(CallerError::UnknownState))) => {}
                    (.., result) => prop_assert!(false, "{:?}: {}, {:?}", step, is_there, result),
                }
                // What the fake takes for it is no matter of the model.
                tokio::time::advance(SECOND.saturating_sub(began.elapsed())).await;
                model.wait(1);
            }
            Step::Abandon(which) if !asked.is_empty() => {
                let (owner, _, outcome) = &asked[which % asked.len()];
                if let Outcome::InputRequired(InputRequired { state: State::Parked(park), .. }) = outcome {
                    manager.abandon(park);
                }
                model.take(which % asked.len(), *owner);
            }
            Step::Wait(seconds) => {
                tokio::time::sleep(SECOND * u32::try_from(seconds).unwrap()).await;
                model.wait(seconds);
            }
            Step::End(who) => {
                manager.end(client(who).key()).await;
                model.parks.retain(|known| known.who != who);
            }
            Step::Remove(at) if !model.closed => {
                manager.insert(here(at)).await.unwrap();
                model.parks.retain(|known| known.at != at);
            }
            Step::Close => {
                manager.close().await;
                (model.parks, model.closed) = (Vec::new(), true);
            }
            Step::Answer { .. } | Step::Abandon(_) | Step::Remove(_) => {}
        }
        // Whoever expires just now has the time for it.
        tokio::task::yield_now().await;
        prop_assert_eq!(fake.parked.load(SeqCst), model.parks.len(), "alive downstream after {:?}", step);
        for (at, named) in NAMES.iter().enumerate() {
            let expected = model.parks.iter().filter(|known| known.at == at).count();
            prop_assert_eq!(manager.counts(&name(named)).unwrap().parked, expected as u64, "{:?}", step);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn parked_calls_are_whose_they_are_and_no_more_than_allowed(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(run(steps))?;
    }
}
