//! Parked calls against a model of them: who has which, and which had to go.

use std::sync::atomic::Ordering::SeqCst;

use gateway_domain::{CallerError, Dispatcher, Error, InputRequired, Outcome, Sessions, State};
use gateway_registry::{ManagedDownstream, Manager, ManagerConfig, PoolConfig};
use proptest::prelude::*;

use crate::{
    fake::{Fake, SECOND, Speaks, name},
    fixture::{Client, PerClient, downstream, legacy, modern},
};

const MAX: usize = 4;
const PER_CALLER: usize = 2;
const TIME: u64 = 600;
const LEAST: u64 = 60;
const NAMES: [&str; 2] = ["fake", "other"];

/// Two sessions of nobody known, two of one known caller, a modern one's with two sets of capabilities, and a modern one
/// whom nobody knows.
fn client(who: usize) -> Client {
    match who {
        0 | 1 => legacy(&who.to_string()),
        2 | 3 => legacy(&who.to_string()).named("known"),
        6 => Client::nobody(),
        _ => modern("modern").with_profile(&who.to_string()),
    }
}

/// Who shares a bound; there is none for who cannot be told apart.
fn caller(who: usize) -> usize {
    [0, 1, 2, 2, 4, 4, 6][who]
}

/// Who may answer each other's questions.
fn owner(who: usize) -> usize {
    [0, 1, 2, 3, 4, 4, 6][who]
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
    let ask = (0..7_usize, 0..NAMES.len()).prop_map(|(who, at)| Step::Ask { who, at });
    let stranger = prop_oneof![4 => Just(None), 1 => (0..7_usize).prop_map(Some)];
    let answer = (any::<usize>(), stranger, any::<bool>());
    prop_oneof![
        8 => ask,
        6 => answer.prop_map(|(which, stranger, answers)| Step::Answer { which, stranger, answers }),
        1 => any::<usize>().prop_map(Step::Abandon),
        3 => (1..TIME / 2).prop_map(Step::Wait),
        1 => (0..7_usize).prop_map(Step::End),
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
    /// Whose session it waits in.
    session: usize,
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
    fn ask(&mut self, who: usize, at: usize, session: usize) -> bool {
        if self.closed {
            return false;
        }
        let own = |known: &Known| caller(known.who) == caller(who) && who != 6;
        let is_full = self.parks.len() >= MAX;
        let in_the_way = match self.parks.iter().filter(|known| own(known)).count() >= PER_CALLER {
            true => self.parks.iter().position(own),
            false => is_full.then_some(0),
        };
        if let Some(oldest) = in_the_way {
            if self.now - self.parks[oldest].since < LEAST {
                return false;
            }
            self.parks.remove(oldest);
        }
        self.parks.push(Known { number: self.asked, who, at, since: self.now, session });
        self.asked += 1;
        true
    }

    /// Whose session it waited in, if it is there and `by`'s.
    fn take(&mut self, number: usize, by: usize) -> Option<usize> {
        let is_it = |known: &Known| known.number == number && owner(known.who) == owner(by);
        let found = self.parks.iter().position(is_it)?;
        Some(self.parks.remove(found).session)
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

struct World {
    fake: Fake,
    manager: Manager,
    model: Model,
    /// What was ever asked, of whom and where.
    asked: Vec<(usize, usize, Outcome)>,
}

fn here(fake: &Fake, at: usize) -> ManagedDownstream {
    let config = PoolConfig { idle_ttl: 3600 * SECOND, ..PoolConfig::default() };
    downstream(NAMES[at], fake, PerClient, config)
}

impl World {
    fn new() -> Self {
        let fake = Fake::new(Speaks::Legacy);
        let manager = Manager::with_config(vec![here(&fake, 0), here(&fake, 1)], config()).unwrap();
        Self { fake, manager, model: Model::default(), asked: Vec::new() }
    }

    async fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Ask { who, at } => {
                let outcome = self.manager.dispatch(client(who).to(NAMES[at], "ask")).await;
                self.is_parked(who, at, who, outcome)?;
            }
            Step::Answer { which, stranger, answers } if !self.asked.is_empty() => {
                self.answer(which % self.asked.len(), stranger, answers).await?;
            }
            Step::Abandon(which) if !self.asked.is_empty() => {
                let number = which % self.asked.len();
                let (owner, _, outcome) = &self.asked[number];
                if let Outcome::InputRequired(InputRequired { state: State::Parked(park), .. }) = outcome {
                    self.manager.abandon(park);
                }
                self.model.take(number, *owner);
            }
            Step::Wait(seconds) => {
                tokio::time::sleep(SECOND * u32::try_from(seconds).unwrap()).await;
                self.model.wait(seconds);
            }
            Step::End(who) => {
                self.manager.end(client(who).key()).await;
                self.model.parks.retain(|known| known.who != who && known.session != who);
            }
            Step::Remove(at) if !self.model.closed => {
                self.manager.insert(here(&self.fake, at)).await.unwrap();
                self.model.parks.retain(|known| known.at != at);
            }
            Step::Close => {
                self.manager.close().await;
                (self.model.parks, self.model.closed) = (Vec::new(), true);
            }
            Step::Answer { .. } | Step::Abandon(_) | Step::Remove(_) => {}
        }
        Ok(())
    }

    async fn answer(
        &mut self,
        number: usize,
        stranger: Option<usize>,
        answers: bool,
    ) -> Result<(), TestCaseError> {
        let (owner, at, outcome) = self.asked[number].clone();
        let who = stranger.unwrap_or(owner);
        let call =
            client(who).answering(client(who).to(NAMES[at], "ask"), &outcome, answers.then_some("yes"));
        let result = self.manager.dispatch(call).await;
        match (self.model.take(number, who), answers, result) {
            (Some(_), true, Ok(Outcome::Complete(_))) => {}
            // Asked again: another park.
            (Some(session), false, again) => self.is_parked(who, at, session, again)?,
            (None, _, Err(Error::Caller(CallerError::UnknownState))) => {}
            (is_there, _, result) => prop_assert!(false, "there: {:?}; {:?}", is_there, result),
        }
        Ok(())
    }

    fn is_parked(
        &mut self,
        who: usize,
        at: usize,
        session: usize,
        outcome: Result<Outcome, Error>,
    ) -> Result<(), TestCaseError> {
        match (self.model.ask(who, at, session), outcome) {
            (true, Ok(outcome)) => self.asked.push((who, at, outcome)),
            (false, Err(Error::Caller(_))) => {}
            (expected, outcome) => prop_assert!(false, "to be parked: {}; {:?}", expected, outcome),
        }
        Ok(())
    }

    fn check(&self, step: &Step) -> Result<(), TestCaseError> {
        let parks = &self.model.parks;
        prop_assert_eq!(self.fake.parked.load(SeqCst), parks.len(), "alive downstream after {:?}", step);
        for (at, named) in NAMES.iter().enumerate() {
            let expected = parks.iter().filter(|known| known.at == at).count() as u64;
            prop_assert_eq!(self.manager.counts(&name(named)).unwrap().parked, expected, "{:?}", step);
        }
        Ok(())
    }
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut world = World::new();
    for step in steps {
        world.take(&step).await?;
        // Whoever expires just now has the time for it.
        tokio::task::yield_now().await;
        world.check(&step)?;
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
