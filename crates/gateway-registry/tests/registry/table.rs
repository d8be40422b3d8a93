//! The manager against a model of it: who holds which session, and who has to go for whom.

use std::{collections::BTreeMap, sync::atomic::Ordering::SeqCst};

use gateway_domain::{CallerError, Dispatcher, DownstreamFault, Error, SessionCounts, Sessions};
use gateway_registry::{Manager, ManagerConfig, PoolConfig};
use proptest::prelude::*;
use tokio::{task::JoinHandle, time::Instant};

use crate::{
    fake::{Fake, SECOND, Speaks, fault, name},
    fixture::{Client, PerClient, answered_by, downstream, legacy, modern, without_tasks},
};

const PLACES: usize = 2;
const CLIENTS: usize = 4;
const PER_CALLER: usize = 2;
const TTL: u32 = 90;
const NAMES: [&str; 2] = ["fake", "other"];

/// Three sessions of legacy clients, and one modern caller with three sets of capabilities.
fn client(who: usize) -> Client {
    match who {
        0..3 => legacy(&who.to_string()),
        _ => modern("m").with_profile(&who.to_string()),
    }
}

fn is_modern(who: usize) -> bool {
    who >= 3
}

#[derive(Debug, Clone)]
enum Step {
    Call {
        who: usize,
        at: usize,
    },
    /// A call that lasts until `Finish`.
    Begin {
        who: usize,
        at: usize,
    },
    /// Which of those in flight, counted round.
    Finish(usize),
    End(usize),
    /// Which of the open sessions, counted round.
    Kill {
        which: usize,
        at: usize,
    },
    Wait(u32),
    Reap,
    Insert(usize),
    Remove(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let (who, at) = (0..6_usize, 0..NAMES.len());
    prop_oneof![
        24 => (who.clone(), at.clone()).prop_map(|(who, at)| Step::Call { who, at }),
        6 => (who.clone(), at.clone()).prop_map(|(who, at)| Step::Begin { who, at }),
        5 => any::<usize>().prop_map(Step::Finish),
        2 => who.prop_map(Step::End),
        3 => (any::<usize>(), at.clone()).prop_map(|(which, at)| Step::Kill { which, at }),
        2 => (1..TTL).prop_map(Step::Wait),
        2 => Just(Step::Reap),
        1 => at.clone().prop_map(Step::Insert),
        1 => at.prop_map(Step::Remove),
        1 => prop_oneof![9 => Just(Step::Reap), 1 => Just(Step::Close)],
    ]
}

/// What a client has to one downstream; without a session only its last use is remembered.
#[derive(Debug, Clone)]
struct Slot {
    number: i64,
    last_use: Instant,
    users: usize,
    lost: bool,
    gone: bool,
}

#[derive(Debug)]
struct Holder {
    /// Which one of that key.
    instance: u64,
    since: Instant,
    in_flight: usize,
    slots: BTreeMap<usize, Slot>,
}

impl Holder {
    fn idle_since(&self) -> Option<Instant> {
        let last = self.slots.values().map(|slot| slot.last_use).fold(self.since, Instant::max);
        (self.in_flight == 0).then_some(last)
    }

    fn forget_gone(&mut self) {
        self.slots.retain(|_, slot| !slot.gone);
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counts {
    in_use: u64,
    opened: u64,
    evicted: u64,
    exhausted: u64,
}

#[derive(Debug)]
struct InFlight {
    who: usize,
    instance: u64,
    at: usize,
    number: i64,
}

#[derive(Debug, Default)]
struct Model {
    holders: BTreeMap<usize, Holder>,
    instances: u64,
    in_flight: Vec<InFlight>,
    downstreams: BTreeMap<usize, Counts>,
    closed: bool,
}

impl Model {
    /// The number of the session that a call uses from now on.
    fn begin(&mut self, who: usize, at: usize, now: Instant) -> Result<i64, Error> {
        if !self.downstreams.contains_key(&at) {
            return Err(CallerError::UnknownDownstream { name: NAMES[at].into() }.into());
        }
        if self.closed {
            return Err(CallerError::SessionClosed.into());
        }
        self.admit(who, now)?;
        let own = self.holders.get_mut(&who).unwrap();
        let number = match own.slots.get(&at).filter(|slot| !slot.gone && !slot.lost) {
            Some(slot) => slot.number,
            None => {
                own.slots.remove(&at);
                self.open(who, at, now)?
            }
        };
        let own = self.holders.get_mut(&who).unwrap();
        own.in_flight += 1;
        own.slots.get_mut(&at).unwrap().users += 1;
        self.in_flight.push(InFlight { who, instance: own.instance, at, number });
        Ok(number)
    }

    fn admit(&mut self, who: usize, now: Instant) -> Result<(), Error> {
        if self.holders.contains_key(&who) {
            return Ok(());
        }
        let of_caller = self.holders.keys().filter(|key| is_modern(**key)).count();
        if is_modern(who) && of_caller >= PER_CALLER {
            let own = self.holders.iter_mut().filter(|(key, _)| is_modern(**key));
            let oldest = own.filter_map(|(key, holder)| {
                holder.forget_gone();
                Some(((!holder.slots.is_empty(), holder.idle_since()?), *key))
            });
            let oldest = oldest.min().map(|(_, key)| key);
            self.evict_client(oldest, "client sessions of one caller", PER_CALLER)?;
        } else if self.holders.len() >= CLIENTS {
            self.forget_empty();
            if self.holders.len() >= CLIENTS {
                let idle = self.holders.iter().filter_map(|(key, holder)| Some((holder.idle_since()?, *key)));
                self.evict_client(idle.min().map(|(_, key)| key), "client sessions", CLIENTS)?;
            }
        }
        self.instances += 1;
        let holder = Holder { instance: self.instances, since: now, in_flight: 0, slots: BTreeMap::new() };
        self.holders.insert(who, holder);
        Ok(())
    }

    fn evict_client(&mut self, key: Option<usize>, what: &'static str, limit: usize) -> Result<(), Error> {
        let key = key.ok_or(CallerError::Overloaded { what, limit })?;
        self.holders.remove(&key);
        Ok(())
    }

    fn forget_empty(&mut self) {
        self.holders.retain(|_, holder| {
            if holder.in_flight == 0 {
                holder.forget_gone();
            }
            holder.in_flight > 0 || !holder.slots.is_empty()
        });
    }

    fn taken(&self, at: usize) -> usize {
        self.holders.values().filter_map(|holder| holder.slots.get(&at)).filter(|slot| !slot.gone).count()
    }

    fn open(&mut self, who: usize, at: usize, now: Instant) -> Result<i64, Error> {
        if self.taken(at) == PLACES {
            let slots = self.holders.values_mut().filter_map(|holder| holder.slots.get_mut(&at));
            let oldest = slots.filter(|slot| !slot.gone && slot.users == 0).min_by_key(|slot| slot.last_use);
            let counts = self.downstreams.get_mut(&at).unwrap();
            match oldest {
                Some(slot) => {
                    slot.gone = true;
                    counts.evicted += 1;
                }
                None => {
                    counts.exhausted += 1;
                    return Err(DownstreamFault::Exhausted { max: PLACES }.before(&name(NAMES[at])));
                }
            }
        }
        let counts = self.downstreams.get_mut(&at).unwrap();
        counts.opened += 1;
        let number = counts.opened as i64;
        let slot = Slot { number, last_use: now, users: 0, lost: false, gone: false };
        self.holders.get_mut(&who).unwrap().slots.insert(at, slot);
        Ok(number)
    }

    fn finish(&mut self, which: usize, now: Instant) {
        let ended = self.in_flight.remove(which);
        let holder = self.holders.get_mut(&ended.who).filter(|holder| holder.instance == ended.instance);
        let Some(holder) = holder else { return };
        holder.in_flight -= 1;
        if let Some(slot) = holder.slots.get_mut(&ended.at).filter(|slot| slot.number == ended.number) {
            slot.users -= 1;
            slot.last_use = now;
        }
    }

    /// One of the open sessions ends by itself; its number.
    fn lose(&mut self, which: usize, at: usize) -> Option<i64> {
        let slots = self.holders.values_mut().filter_map(|holder| holder.slots.get_mut(&at));
        let mut open: Vec<_> = slots.filter(|slot| !slot.gone).collect();
        let count = open.len().max(1);
        let slot = open.get_mut(which % count)?;
        slot.lost = true;
        Some(slot.number)
    }

    fn reap(&mut self, now: Instant) {
        for slot in self.holders.values_mut().flat_map(|holder| holder.slots.values_mut()) {
            let expired = slot.users == 0 && now - slot.last_use > TTL * SECOND;
            slot.gone |= expired || slot.lost;
        }
        self.forget_empty();
    }

    /// Everything of a downstream ends; which calls were in flight on it.
    fn end_downstream(&mut self, at: usize, now: Instant) -> Vec<usize> {
        for holder in self.holders.values_mut() {
            if let Some(slot) = holder.slots.get_mut(&at) {
                slot.gone = true;
            }
        }
        let ended: Vec<_> = (0..self.in_flight.len()).filter(|n| self.in_flight[*n].at == at).collect();
        for which in ended.iter().rev() {
            self.finish(*which, now);
        }
        ended
    }

    fn counts(&self, at: usize) -> Option<Counts> {
        let counts = self.downstreams.get(&at)?;
        Some(Counts { in_use: self.taken(at) as u64, ..*counts })
    }
}

struct World {
    manager: Manager,
    fakes: [Fake; 2],
    /// As the model has them.
    calls: Vec<JoinHandle<Result<i64, Error>>>,
    model: Model,
}

type Checked = Result<(), TestCaseError>;

impl World {
    fn new() -> Self {
        let fakes = [Fake::new(Speaks::Legacy), Fake::new(Speaks::Legacy)];
        let managed = NAMES.iter().zip(&fakes).map(|(named, fake)| managed(named, fake)).collect();
        let (max_clients, max_clients_per_caller) = (CLIENTS, PER_CALLER);
        let config = ManagerConfig { max_clients, max_clients_per_caller, ..ManagerConfig::default() };
        let manager = Manager::with_config(managed, config).unwrap();
        let mut model = Model::default();
        model.downstreams.extend((0..NAMES.len()).map(|at| (at, Counts::default())));
        Self { manager, fakes, calls: Vec::new(), model }
    }

    async fn take(&mut self, step: Step, now: Instant) -> Checked {
        match step {
            Step::Call { who, at } => self.call(who, at, now).await?,
            Step::Begin { who, at } => self.begin(who, at, now).await?,
            Step::Finish(_) if self.calls.is_empty() => {}
            Step::Finish(which) => {
                let which = which % self.calls.len();
                let call = self.calls.remove(which);
                call.abort();
                prop_assert!(call.await.is_err(), "it was still in flight");
                self.model.finish(which, now);
            }
            Step::End(who) => {
                self.manager.end(client(who).key()).await;
                self.model.holders.remove(&who);
            }
            Step::Kill { which, at } => {
                if let Some(number) = self.model.lose(which, at) {
                    self.fakes[at].kill(number as usize);
                }
            }
            Step::Wait(seconds) => tokio::time::advance(seconds * SECOND).await,
            Step::Reap => {
                self.manager.reap().await;
                self.model.reap(now);
            }
            Step::Insert(at) => self.insert(at, now).await?,
            Step::Remove(at) => {
                let was_there = self.model.downstreams.remove(&at).is_some();
                prop_assert_eq!(self.manager.remove(&name(NAMES[at])).await, was_there);
                self.calls_end_closed(at, now).await?;
            }
            Step::Close => {
                self.manager.close().await;
                self.model.closed = true;
                self.model.holders.clear();
                for (call, _) in self.calls.drain(..).zip(self.model.in_flight.drain(..)) {
                    prop_assert_eq!(fault(call.await.unwrap()), DownstreamFault::Closed);
                }
            }
        }
        Ok(())
    }

    async fn call(&mut self, who: usize, at: usize, now: Instant) -> Checked {
        let expected = self.model.begin(who, at, now);
        let call = client(who).to(NAMES[at], "whoami");
        prop_assert_eq!(&self.manager.dispatch(call).await.map(answered_by), &expected);
        if expected.is_ok() {
            self.model.finish(self.model.in_flight.len() - 1, Instant::now());
        }
        Ok(())
    }

    async fn begin(&mut self, who: usize, at: usize, now: Instant) -> Checked {
        let (manager, call) = (self.manager.clone(), client(who).to(NAMES[at], "hang"));
        let begun = tokio::spawn(async move { manager.dispatch(call).await.map(answered_by) });
        let calls = self.fakes[at].calls.load(SeqCst);
        match self.model.begin(who, at, now) {
            Ok(_) => {
                settle().await;
                prop_assert_eq!(self.fakes[at].calls.load(SeqCst), calls + 1);
                self.calls.push(begun);
            }
            Err(expected) => prop_assert_eq!(begun.await.unwrap(), Err(expected)),
        }
        Ok(())
    }

    async fn insert(&mut self, at: usize, now: Instant) -> Checked {
        let fake = Fake::new(Speaks::Legacy);
        let managed = without_tasks(|| managed(NAMES[at], &fake));
        let inserted = self.manager.insert(managed).await;
        if self.model.closed {
            prop_assert_eq!(inserted, Err(CallerError::SessionClosed.into()));
            return Ok(());
        }
        prop_assert_eq!(inserted, Ok(()));
        prop_assert_eq!(self.fakes[at].counts().2, 0, "the old one is gone");
        self.fakes[at] = fake;
        self.model.downstreams.insert(at, Counts::default());
        self.calls_end_closed(at, now).await
    }

    async fn calls_end_closed(&mut self, at: usize, now: Instant) -> Checked {
        for which in self.model.end_downstream(at, now).into_iter().rev() {
            let ended = self.calls.remove(which).await.unwrap();
            prop_assert_eq!(fault(ended), DownstreamFault::Closed);
        }
        Ok(())
    }

    fn check(&self, step: &Step) -> Checked {
        let model = &self.model;
        prop_assert_eq!(self.manager.clients(), model.holders.len(), "after {:?}: {:?}", step, model);
        for (at, (named, fake)) in NAMES.iter().zip(&self.fakes).enumerate() {
            let counts = self.manager.counts(&name(named)).map(|counts| {
                let SessionCounts { in_use, opened, evicted, exhausted, .. } = counts;
                assert_eq!(counts.idle, 0, "what was opened to find out the era is used");
                Counts { in_use, opened, evicted, exhausted }
            });
            prop_assert_eq!(counts, model.counts(at), "after {:?}: {:?}", step, model);
            prop_assert_eq!(fake.counts().2, model.taken(at), "alive after {:?}", step);
            prop_assert!(fake.most_live.load(SeqCst) <= PLACES);
        }
        Ok(())
    }
}

/// The pools' own tasks would reap at times the model does not know: they are made without.
fn managed(named: &str, fake: &Fake) -> gateway_registry::ManagedDownstream {
    let (acquire_timeout, idle_ttl) = (SECOND / 1000, TTL * SECOND);
    let config = PoolConfig { max: PLACES, acquire_timeout, idle_ttl, ..PoolConfig::default() };
    downstream(named, fake, PerClient, config)
}

async fn settle() {
    for _ in 0..30 {
        tokio::task::yield_now().await;
    }
}

async fn run(mut world: World, steps: Vec<Step>) -> Checked {
    for step in steps {
        // No two uses end at the same moment.
        tokio::time::advance(SECOND / 100).await;
        world.take(step.clone(), Instant::now()).await?;
        settle().await;
        world.check(&step)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_manager_is_its_model(steps in proptest::collection::vec(step(), 0..80)) {
        let world = World::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(run(world, steps))?;
    }
}
