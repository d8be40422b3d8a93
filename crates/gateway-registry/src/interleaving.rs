//! Runs a few threads in every order that their locks allow, up to a number of preemptions: a lock is asked
//! for, and let go of, only when the scheduler says so, and one thread runs at a time. What else threads share
//! (a channel's slot, a counter) is touched between two such points.

mod handoff;

use std::{
    cell::RefCell,
    collections::HashSet,
    ops::{Deref, DerefMut},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::from_ref,
    sync::{self, Arc, Condvar, LockResult, PoisonError},
};

thread_local! {
    static ME: RefCell<Option<(Arc<Scheduler>, usize)>> = const { RefCell::new(None) };
}

/// One decision: which of how many that could go on did.
#[derive(Debug, Clone, Copy)]
struct Choice {
    taken: usize,
    of: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ready,
    /// For the lock at that address.
    Blocked(usize),
    Done,
}

struct Scheduler {
    state: sync::Mutex<State>,
    /// Each thread's own.
    turns: Vec<Condvar>,
}

struct State {
    turn: Option<usize>,
    threads: Vec<Status>,
    locked: HashSet<usize>,
    /// What was decided before and is to be decided again; then what is new.
    path: Vec<Choice>,
    decided: usize,
    preemptions_left: usize,
    stuck: bool,
}

impl State {
    /// Decides who goes on after `me` has come to a point; `me` first, so that the first path has no preemption.
    fn decide(&mut self, me: usize) {
        let count = self.threads.len();
        let order = (0..count).map(|n| (me + n) % count);
        let can_go_on = |&thread: &usize| match self.threads[thread] {
            Status::Ready => true,
            Status::Blocked(lock) => !self.locked.contains(&lock),
            Status::Done => false,
        };
        let mut able: Vec<_> = order.filter(can_go_on).collect();
        let continues = able.first() == Some(&me);
        if continues && self.preemptions_left == 0 {
            able.truncate(1);
        }
        if able.is_empty() {
            self.stuck = self.threads.iter().any(|status| *status != Status::Done);
            self.turn = None;
            return;
        }
        let taken = match self.path.get(self.decided) {
            Some(choice) => choice.taken,
            None => {
                self.path.push(Choice { taken: 0, of: able.len() });
                0
            }
        };
        self.decided += 1;
        if continues && taken > 0 {
            self.preemptions_left -= 1;
        }
        self.turn = Some(able[taken]);
    }
}

impl Scheduler {
    fn state(&self) -> sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn come_to(&self, me: usize, status: Status) {
        let mut state = self.state();
        state.threads[me] = status;
        state.decide(me);
        if state.turn != Some(me) {
            self.wake(&state);
        }
        if status != Status::Done {
            self.wait_for(me, state);
        }
    }

    fn wake(&self, state: &State) {
        match state.turn {
            Some(next) => self.turns[next].notify_one(),
            None => self.turns.iter().for_each(Condvar::notify_one),
        }
    }

    fn wait_for(&self, me: usize, mut state: sync::MutexGuard<'_, State>) {
        while state.turn != Some(me) {
            // Let go of what has got stuck, so that the test can say so.
            assert!(!state.stuck, "deadlock");
            state = self.turns[me].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Status::Blocked(lock) = state.threads[me] {
            state.locked.insert(lock);
        }
        state.threads[me] = Status::Ready;
    }
}

fn with_scheduler(act: impl FnOnce(&Scheduler, usize)) {
    let me = ME.with_borrow(Clone::clone);
    if let Some((scheduler, me)) = me {
        act(&scheduler, me);
    }
}

/// A point where another thread may go on.
fn point() {
    with_scheduler(|scheduler, me| scheduler.come_to(me, Status::Ready));
}

/// What one thread does to the world.
type Script<W> = fn(&W);

/// Runs the scripts of each world that `make` makes, one thread each, in all orders; then `check`s the world.
/// Returns how many orders there were.
fn in_all_orders<W: Sync>(
    preemptions: usize,
    make: impl Fn() -> W,
    scripts: &[Script<W>],
    check: impl Fn(W),
) -> usize {
    let mut path = Vec::new();
    for orders in 1.. {
        let world = make();
        let (taken, failure) = run(path, preemptions, &world, scripts);
        let checked = failure.map_or_else(|| catch_unwind(AssertUnwindSafe(|| check(world))), Err);
        if let Err(failure) = checked {
            let order: Vec<_> = taken.iter().map(|choice| choice.taken).collect();
            eprint_order(orders, &order);
            resume_unwind(failure);
        }
        path = taken;
        while path.pop_if(|choice| choice.taken + 1 == choice.of).is_some() {}
        match path.last_mut() {
            Some(choice) => choice.taken += 1,
            None => return orders,
        }
    }
    unreachable!("orders end")
}

fn eprint_order(orders: usize, order: &[usize]) {
    eprintln!("in order {orders}: {order:?}");
}

type Failure = Box<dyn std::any::Any + Send>;

fn run<W: Sync>(
    path: Vec<Choice>,
    preemptions: usize,
    world: &W,
    scripts: &[Script<W>],
) -> (Vec<Choice>, Option<Failure>) {
    let state = State {
        turn: None,
        threads: vec![Status::Ready; scripts.len()],
        locked: HashSet::new(),
        path,
        decided: 0,
        preemptions_left: preemptions,
        stuck: false,
    };
    let turns = scripts.iter().map(|_| Condvar::new()).collect();
    let scheduler = Arc::new(Scheduler { state: sync::Mutex::new(state), turns });
    let mut failure = None;
    std::thread::scope(|scope| {
        let threads: Vec<_> = scripts
            .iter()
            .enumerate()
            .map(|(me, script)| {
                let scheduler = scheduler.clone();
                scope.spawn(move || {
                    ME.set(Some((scheduler.clone(), me)));
                    scheduler.wait_for(me, scheduler.state());
                    let ended = catch_unwind(AssertUnwindSafe(|| script(world)));
                    scheduler.come_to(me, Status::Done);
                    ME.set(None);
                    if let Err(failure) = ended {
                        resume_unwind(failure);
                    }
                })
            })
            .collect();
        // Whoever is first is a decision as well.
        let mut state = scheduler.state();
        state.decide_first();
        scheduler.wake(&state);
        drop(state);
        for thread in threads {
            if let Err(failed) = thread.join() {
                failure = Some(failed);
            }
        }
    });
    let path = std::mem::take(&mut scheduler.state().path);
    (path, failure)
}

impl State {
    fn decide_first(&mut self) {
        // None of them is preempted by this.
        let left = std::mem::replace(&mut self.preemptions_left, usize::MAX);
        self.decide(0);
        self.preemptions_left = left;
    }
}

/// A lock that asks the scheduler, where there is one.
pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let address = from_ref(self).addr();
        with_scheduler(|scheduler, me| scheduler.come_to(me, Status::Blocked(address)));
        match self.0.lock() {
            Ok(guard) => Ok(MutexGuard { guard: Some(guard), address }),
            Err(poisoned) => {
                Err(PoisonError::new(MutexGuard { guard: Some(poisoned.into_inner()), address }))
            }
        }
    }
}

pub(crate) struct MutexGuard<'a, T> {
    /// `None` only while being dropped.
    guard: Option<sync::MutexGuard<'a, T>>,
    address: usize,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().unwrap()
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.guard.take());
        with_scheduler(|scheduler, _| {
            scheduler.state().locked.remove(&self.address);
        });
        if !std::thread::panicking() {
            point();
        }
    }
}

#[test]
fn a_lost_update_between_two_locks_is_found() {
    let seen = sync::Mutex::new(HashSet::new());
    let add: Script<Mutex<u32>> = |counter| {
        let read = *counter.lock().unwrap();
        *counter.lock().unwrap() = read + 1;
    };
    let orders = in_all_orders(
        2,
        || Mutex::new(0),
        &[add, add],
        |counter| {
            seen.lock().unwrap().insert(*counter.lock().unwrap());
        },
    );
    assert_eq!(*seen.lock().unwrap(), HashSet::from([1, 2]));
    assert!(orders > 10, "{orders}");
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_deadlock_is_found() {
    fn both(locks: &[Mutex<()>; 2], first: usize, second: usize) {
        let _first = locks[first].lock().unwrap();
        let _second = locks[second].lock().unwrap();
    }
    let scripts: [Script<[Mutex<()>; 2]>; 2] = [|locks| both(locks, 0, 1), |locks| both(locks, 1, 0)];
    in_all_orders(1, || [Mutex::new(()), Mutex::new(())], &scripts, drop);
}
