//! The hand-off of places with its real parts: places, tenants, pools. Scripts differ in who does what; what
//! must hold after them is always the same.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use async_trait::async_trait;
use gateway_domain::{
    DownstreamName, DownstreamSession, Era, Error, Exchange, Factory, ListKind, ListPage, Outcome, Params,
    PeerInfo, RawObject, Session, SessionProfile, Subject,
};
use tokio::{runtime::Runtime, time::Duration};

use super::{Script, in_all_orders};
use crate::{
    Held, Pool, PoolConfig,
    held::{Kept, PooledSession, Resting},
    places::{Asked, Grant, Permit, Places, Tenant as _, Waiting},
};

type Shared = Arc<dyn DownstreamSession>;

/// How many sessions were opened and closed.
#[derive(Default)]
struct Counts {
    opened: AtomicUsize,
    closed: AtomicUsize,
}

struct Opener(Arc<Counts>);

struct Counted {
    counts: Arc<Counts>,
    peer: PeerInfo,
}

#[async_trait]
impl Factory for Opener {
    type Session = Shared;

    async fn create(&self, _: &SessionProfile) -> Result<Shared, Error> {
        self.0.opened.fetch_add(1, SeqCst);
        let peer = PeerInfo {
            era: Era::Legacy,
            protocol: String::new(),
            server: None,
            capabilities: RawObject::empty(),
            instructions: None,
        };
        Ok(Arc::new(Counted { counts: self.0.clone(), peer }))
    }
}

#[async_trait]
impl Session for Counted {
    async fn close(&self) {
        self.counts.closed.fetch_add(1, SeqCst);
    }
}

#[async_trait]
impl DownstreamSession for Counted {
    fn peer(&self) -> &PeerInfo {
        &self.peer
    }

    async fn call(&self, _: &Subject, _: &Params, _: &Exchange) -> Result<Outcome, Error> {
        Ok(Outcome::Complete(RawObject::empty()))
    }

    async fn list(&self, _: ListKind, _: Option<&str>) -> Result<ListPage, Error> {
        Ok(ListPage::default())
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// A pool all of whose places are taken, and what the scripts have in their hands.
struct World {
    runtime: Runtime,
    pool: Pool<dyn Factory<Session = Shared>>,
    places: Arc<Places<Shared>>,
    counts: Arc<Counts>,
    max: usize,
    /// Clients' sessions, and the uses of them: first each has one.
    tenants: Vec<Arc<Kept>>,
    uses: Vec<Slot<Held>>,
    /// A use of the first that only waits, in the place of one that does more.
    resting: Slot<Resting>,
    /// A session that is no tenant yet; then one.
    spare: Slot<PooledSession>,
    late: Slot<Arc<Kept>>,
    /// A place without a session.
    permit: Slot<Permit<Shared>>,
    /// Who asked and waits or has been given a place, in the order they asked.
    asked: Mutex<Vec<Asked<Shared>>>,
    closing: AtomicBool,
}

type Slot<T> = Mutex<Option<T>>;

fn take<T>(slot: &Slot<T>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl World {
    /// `tenants` with one use each; then perhaps a spare session, and a permit.
    fn new(tenants: usize, with_spare: bool, with_permit: bool) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.unwrap();
        let counts = Arc::new(Counts::default());
        let max = tenants + usize::from(with_spare) + usize::from(with_permit);
        let factory: Arc<dyn Factory<Session = Shared>> = Arc::new(Opener(counts.clone()));
        let config = PoolConfig { max, ..PoolConfig::default() };
        let pool = Pool::new(DownstreamName::parse("db").unwrap(), factory, config);
        let open = || runtime.block_on(pool.acquire(&SessionProfile::default())).unwrap();
        let mut opened: Vec<_> = (0..tenants + usize::from(with_spare)).map(|_| open()).collect();
        let places = opened[0].places();
        let spare = with_spare.then(|| opened.pop().unwrap());
        let uses: Vec<_> = opened.into_iter().map(|pooled| Kept::for_one(pooled).unwrap()).collect();
        Self {
            tenants: uses.iter().map(|held| held.kept().clone()).collect(),
            uses: uses.into_iter().map(|held| Mutex::new(Some(held))).collect(),
            resting: Mutex::default(),
            spare: Mutex::new(spare),
            late: Mutex::default(),
            permit: Mutex::new(with_permit.then(|| places.take_free().unwrap())),
            asked: Mutex::default(),
            closing: AtomicBool::default(),
            runtime,
            pool,
            places,
            counts,
            max,
        }
    }

    /// A call ends.
    fn stop(&self, tenant: usize) {
        let _runtime = self.runtime.enter();
        drop(take(&self.uses[tenant]));
    }

    /// A call begins and ends; while it is there nobody takes its session, unless the pool closes.
    fn call(&self, tenant: usize) {
        let _runtime = self.runtime.enter();
        if let Some(held) = self.tenants[tenant].enter() {
            assert!(held.kept().has_session() || self.closing.load(SeqCst), "taken from a user");
        }
    }

    /// A call has only to wait from now on.
    fn rest(&self, tenant: usize) {
        let _runtime = self.runtime.enter();
        *self.resting.lock().unwrap() = take(&self.uses[tenant]).map(Held::rest);
    }

    /// What waited goes on and ends, if its session has not been taken before.
    fn wake(&self) {
        let _runtime = self.runtime.enter();
        let Some(resting) = take(&self.resting) else { return };
        let held = resting.held().clone();
        let was_taken = held.kept().is_given_up();
        drop(resting);
        assert!(was_taken || held.kept().has_session() || self.closing.load(SeqCst), "taken from a user");
    }

    /// Somebody has waited in vain and takes what only waits.
    fn ask_for_resting(&self) {
        let _runtime = self.runtime.enter();
        let asked = match self.places.ask() {
            Asked::Wait(turn) => {
                let taken = self.places.take_resting(Duration::ZERO);
                drop(turn);
                taken.map(|pooled| Asked::Granted(Grant::Occupied(pooled)))
            }
            asked => Some(asked),
        };
        self.asked.lock().unwrap().extend(asked);
    }

    fn ask(&self) {
        let _runtime = self.runtime.enter();
        let asked = self.places.ask();
        self.asked.lock().unwrap().push(asked);
    }

    fn ask_and_give_up(&self) {
        let _runtime = self.runtime.enter();
        drop(self.places.ask());
    }

    fn release(&self) {
        let _runtime = self.runtime.enter();
        drop(take(&self.permit));
    }

    /// A session that has just been opened becomes a client's, whose call ends at once.
    fn keep(&self) {
        let _runtime = self.runtime.enter();
        let held = take(&self.spare).and_then(Kept::for_one);
        *self.late.lock().unwrap() = held.as_ref().map(|held| held.kept().clone());
    }

    /// The owner ends its session.
    fn end(&self, tenant: usize) {
        let _runtime = self.runtime.enter();
        drop(self.tenants[tenant].give_up());
    }

    fn close(&self) {
        let _runtime = self.runtime.enter();
        self.closing.store(true, SeqCst);
        drop(self.places.close());
    }

    /// What was to be closed in the background is closed.
    fn run_tasks(&self) {
        self.runtime.block_on(async {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// What holds whenever nobody is in the middle of something.
    fn check(mut self) {
        let closed = self.closing.load(SeqCst);
        if !closed {
            // What was to be closed in the background gives its place to a waiter.
            self.run_tasks();
        }
        self.tenants.extend(take(&self.late));
        let idle = self.tenants.iter().filter(|kept| kept.idle_since().is_some()).count();
        let (mut waiting, mut granted) = (0, Vec::new());
        for asked in self.asked.get_mut().unwrap().drain(..) {
            match asked {
                Asked::Granted(grant) => granted.push(grant),
                Asked::Wait(mut turn) => match polled(&self.runtime, &mut turn) {
                    Some(Some(grant)) => granted.push(grant),
                    Some(None) => assert!(closed, "told that it is closed"),
                    None => waiting += 1,
                },
                Asked::Closed => assert!(closed, "told that it is closed"),
            }
        }
        if closed {
            assert_eq!(waiting, 0, "R-W13: told at once");
            self.run_tasks();
        }
        let free = self.max - self.places.taken();
        if !closed {
            assert!(waiting == 0 || free + idle == 0, "{waiting} wait beside {free} free and {idle} idle");
        }
        let kept = self.tenants.iter().filter(|kept| kept.has_session()).count();
        assert!(!closed || kept == 0, "the pool's end is theirs");
        let others = [take(&self.spare).is_some(), take(&self.permit).is_some()];
        let others = others.into_iter().filter(|it| *it).count();
        assert_eq!(free + granted.len() + kept + others, self.max, "each place is somebody's");
        let entered = self.runtime.enter();
        drop((granted, take(&self.resting)));
        drop((std::mem::take(&mut self.uses), std::mem::take(&mut self.tenants)));
        drop(entered);
        self.run_tasks();
        assert_eq!(self.places.taken(), 0, "all places come back");
        self.runtime.block_on(self.pool.close());
        assert_eq!(self.counts.opened.load(SeqCst), self.counts.closed.load(SeqCst), "none is just dropped");
    }
}

/// What has been given to a waiter so far.
fn polled(runtime: &Runtime, turn: &mut Waiting<Shared>) -> Option<Option<Grant<Shared>>> {
    runtime.block_on(async {
        tokio::select! { biased; granted = turn.granted() => Some(granted), () = std::future::ready(()) => None }
    })
}

/// What there is before the threads begin.
struct Before {
    busy: usize,
    idle: usize,
    with_spare: bool,
    with_permit: bool,
}

impl Before {
    fn world(&self) -> World {
        let world = World::new(self.busy + self.idle, self.with_spare, self.with_permit);
        (self.busy..self.busy + self.idle).for_each(|tenant| world.stop(tenant));
        world
    }
}

const BUSY: Before = Before { busy: 1, idle: 0, with_spare: false, with_permit: false };
const IDLE: Before = Before { busy: 0, idle: 1, ..BUSY };
const BOTH: Before = Before { busy: 2, ..BUSY };
const SPARE: Before = Before { with_spare: true, ..BUSY };
const PERMIT: Before = Before { with_permit: true, ..BUSY };

const STOP: Script<World> = |world| world.stop(0);
const CALL: Script<World> = |world| world.call(0);
const STOP_AND_CALL: Script<World> = |world| {
    world.stop(0);
    world.call(0);
};
const STOP_AND_END: Script<World> = |world| {
    world.stop(0);
    world.end(0);
};
const STOP_BOTH: Script<World> = |world| {
    world.stop(0);
    world.stop(1);
};
const STOP_AND_RELEASE: Script<World> = |world| {
    world.stop(0);
    world.release();
};
const REST: Script<World> = |world| world.rest(0);
const REST_AND_WAKE: Script<World> = |world| {
    world.rest(0);
    world.wake();
};
const ASK_FOR_RESTING: Script<World> = World::ask_for_resting;
const ASK: Script<World> = World::ask;
const ASK_TWICE: Script<World> = |world| {
    world.ask();
    world.ask();
};
const ASK_IN_VAIN: Script<World> = World::ask_and_give_up;
const ASK_IN_VAIN_AND_AGAIN: Script<World> = |world| {
    world.ask_and_give_up();
    world.ask();
};
const KEEP: Script<World> = World::keep;
const RELEASE: Script<World> = World::release;
const CLOSE: Script<World> = World::close;
const TASKS: Script<World> = World::run_tasks;

#[test]
fn whoever_waits_gets_what_is_let_go_of_in_any_order() {
    let rows: [(&str, Before, &[Script<World>]); 20] = [
        ("a call ends", BUSY, &[STOP, ASK]),
        ("a call begins", IDLE, &[CALL, ASK]),
        ("a call ends and another begins", BUSY, &[STOP_AND_CALL, ASK]),
        ("two wait for one", BUSY, &[STOP, ASK, ASK]),
        ("one gives up", BUSY, &[STOP, ASK, ASK_IN_VAIN]),
        ("two wait for two", BOTH, &[STOP_BOTH, ASK_TWICE]),
        ("a place is let go of", PERMIT, &[RELEASE, ASK, STOP]),
        ("a place is let go of and one gives up", PERMIT, &[RELEASE, ASK_IN_VAIN, ASK]),
        ("a new tenant is idle at once", SPARE, &[KEEP, ASK_IN_VAIN_AND_AGAIN]),
        ("an owner ends its session", BUSY, &[STOP_AND_END, ASK, TASKS]),
        ("a call comes to rest", BUSY, &[REST, ASK_FOR_RESTING]),
        ("what rests is taken while it wakes", BUSY, &[REST_AND_WAKE, ASK_FOR_RESTING]),
        ("what rests is taken beside a waiter", BUSY, &[REST_AND_WAKE, ASK_FOR_RESTING, ASK]),
        ("what rests is taken and a place comes back", PERMIT, &[REST, RELEASE, ASK_FOR_RESTING]),
        ("all is closed while something rests", BUSY, &[CLOSE, REST_AND_WAKE, ASK_FOR_RESTING]),
        ("all is closed before a waiter", BUSY, &[CLOSE, ASK]),
        ("all is closed before a call", IDLE, &[CLOSE, CALL, ASK]),
        ("all is closed before a tenant", SPARE, &[CLOSE, KEEP]),
        ("all is closed before all ends", SPARE, &[CLOSE, KEEP, STOP_AND_CALL]),
        ("all is closed while places come back", PERMIT, &[CLOSE, ASK, STOP_AND_RELEASE]),
    ];
    for (what, before, scripts) in rows {
        let orders = in_all_orders(2, || before.world(), scripts, World::check);
        assert!(orders > 5, "{what}: {orders}");
    }
}
