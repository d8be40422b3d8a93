use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn overloaded(what: &'static str, limit: usize) -> Result<(), CallerError> {
    Err(CallerError::Overloaded { what, limit })
}

fn one_of_the_downstream() -> LimitsConfig {
    at_once(Concurrency { downstream: Limit::of(1), ..Concurrency::default() })
}

fn names(calls: &[(String, u64)]) -> Vec<&str> {
    calls.iter().map(|(caller, _)| caller.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn callers_take_turns_in_the_line_of_a_downstream() {
    let rig = Rig::new(one_of_the_downstream());
    let mut begun = Vec::new();
    for caller in ["ann", "ann", "ann", "ann", "bob", "bob", "eve"] {
        begun.push(rig.begin(tool(caller, "d", "t")));
        settle().await;
    }
    for call in begun {
        assert_eq!(call.await.unwrap(), Ok(()));
    }
    let calls = rig.calls();
    assert_eq!(names(&calls), ["ann", "ann", "bob", "eve", "ann", "bob", "ann"]);
    assert_eq!(calls.iter().map(|(_, at)| *at).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    assert!(rig.limits.is_idle());
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_are_made_at_once() {
    let rows = [
        Concurrency { caller: Limit::of(2), ..Concurrency::default() },
        Concurrency { tool: Limit::of(2), ..Concurrency::default() },
        Concurrency { downstream: Limit::of(2), ..Concurrency::default() },
    ];
    for config in rows {
        let rig = Rig::new(at_once(config));
        let begun: Vec<_> = (0..6).map(|_| rig.begin(tool("ann", "d", "t"))).collect();
        for call in begun {
            assert_eq!(call.await.unwrap(), Ok(()));
        }
        assert_eq!(rig.calls().iter().map(|(_, at)| *at).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
        assert!(rig.limits.is_idle());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_another_kinds_is_not_in_the_way() {
    let rig = Rig::new(at_once(Concurrency {
        caller: Limit::of(3),
        tool: Limit::of(1),
        downstream: Limit::of(2).except("e", None),
    }));
    for call in [
        tool("ann", "d", "t"),
        tool("ann", "d", "u"),
        tool("bob", "e", "t"),
        tool("bob", "e", "u"),
        call("eve", "e", Subject::Prompt { name: "t".into() }),
        call("eve", "e", Subject::Prompt { name: "t".into() }),
    ] {
        drop(rig.begin(call));
    }
    settle().await;
    assert_eq!(rig.calls().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_full_line_refuses_at_once() {
    for (queue, limit, made) in [(2, 1, 3), (0, 1, 1), (2, 0, 0)] {
        let concurrency = Concurrency { downstream: Limit::of(limit), ..Concurrency::default() };
        let rig = Rig::new(LimitsConfig { queue, ..at_once(concurrency) });
        let begun: Vec<_> = (0..made).map(|_| rig.begin(tool("ann", "d", "t"))).collect();
        settle().await;
        let before = Instant::now();
        assert_eq!(rig.call(tool("bob", "d", "t")).await, overloaded("calls of this downstream", limit));
        assert_eq!(Instant::now(), before);
        for call in begun {
            assert_eq!(call.await.unwrap(), Ok(()));
        }
        assert_eq!(rig.calls().len(), made);
        assert!(rig.limits.is_idle());
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_is_set() {
    for (concurrency, what) in [
        (Concurrency { caller: Limit::of(1), ..Concurrency::default() }, "calls of this caller"),
        (Concurrency { tool: Limit::of(1), ..Concurrency::default() }, "calls of this tool"),
        (Concurrency { downstream: Limit::of(1), ..Concurrency::default() }, "calls of this downstream"),
    ] {
        let config = LimitsConfig { max_wait: Duration::from_millis(1500), ..at_once(concurrency) };
        let rig = Rig::new(config);
        let begun: Vec<_> = (0..3).map(|_| rig.begin(tool("ann", "d", "t"))).collect();
        let mut outcomes = Vec::new();
        for call in begun {
            outcomes.push(call.await.unwrap());
        }
        assert_eq!(outcomes, [Ok(()), Ok(()), overloaded(what, 1)]);
        assert_eq!(rig.downstream.started.elapsed(), Duration::from_secs(2));
        assert!(rig.limits.is_idle());
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_one_for_all_places() {
    let concurrency = Concurrency { tool: Limit::of(1), downstream: Limit::of(1), ..Concurrency::default() };
    let rig = Rig::new(LimitsConfig { max_wait: Duration::from_millis(1500), ..at_once(concurrency) });
    // One has the tool's place of another downstream's, so that the last one waits for its tool and then its downstream.
    let first = rig.begin(tool("ann", "d", "t"));
    settle().await;
    let others = [rig.begin(tool("ann", "d", "u")), rig.begin(tool("ann", "d", "t"))];
    settle().await;
    assert_eq!(first.await.unwrap(), Ok(()));
    let [other, last] = others;
    assert_eq!(other.await.unwrap(), Ok(()));
    assert_eq!(last.await.unwrap(), overloaded("calls of this downstream", 1));
    assert!(rig.limits.is_idle());
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_the_line() {
    let rig = Rig::new(LimitsConfig { queue: 2, ..one_of_the_downstream() });
    let first = rig.begin(tool("ann", "d", "t"));
    settle().await;
    let (second, third) = (rig.begin(tool("bob", "d", "t")), rig.begin(tool("eve", "d", "t")));
    settle().await;
    assert_eq!(rig.call(tool("joe", "d", "t")).await, overloaded("calls of this downstream", 1));
    second.abort();
    settle().await;
    // There is room in the line again, and nobody waits for who has left.
    let fourth = rig.begin(tool("joe", "d", "t"));
    for call in [first, third, fourth] {
        assert_eq!(call.await.unwrap(), Ok(()));
    }
    assert_eq!(names(&rig.calls()), ["ann", "eve", "joe"]);
    assert_eq!(rig.downstream.started.elapsed(), Duration::from_secs(3));
    assert!(rig.limits.is_idle());
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_lets_nobody_in_whose_turn_has_not_come() {
    let rig = Rig::new(one_of_the_downstream());
    let first = rig.begin(tool("ann", "d", "t"));
    settle().await;
    let (second, third) = (rig.begin(tool("bob", "d", "t")), rig.begin(tool("eve", "d", "t")));
    settle().await;
    third.abort();
    settle().await;
    assert_eq!(names(&rig.calls()), ["ann"]);
    for call in [first, second] {
        assert_eq!(call.await.unwrap(), Ok(()));
    }
    assert_eq!(rig.calls(), [("ann".to_owned(), 0), ("bob".to_owned(), 1)]);
    assert!(rig.limits.is_idle());
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_takes_none_of_its_other_calls_along() {
    let rig = Rig::new(LimitsConfig { queue: 4, ..one_of_the_downstream() });
    let first = rig.begin(tool("ann", "d", "t"));
    settle().await;
    let others: Vec<_> = (0..4).map(|_| rig.begin(tool("bob", "d", "t"))).collect();
    settle().await;
    others[1].abort();
    others[2].abort();
    settle().await;
    assert_eq!(first.await.unwrap(), Ok(()));
    let mut made = 0;
    for call in others {
        made += usize::from(call.await.is_ok_and(|outcome| outcome == Ok(())));
    }
    assert_eq!((made, names(&rig.calls())), (2, vec!["ann", "bob", "bob"]));
    assert!(rig.limits.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_place_that_was_given_to_who_gives_up_goes_to_the_next() {
    let rig = Rig::new(one_of_the_downstream());
    let first = rig.begin(tool("ann", "d", "t"));
    settle().await;
    let mut second = Box::pin(rig.call(tool("bob", "d", "t")));
    assert!(poll_once(&mut second).await.is_pending());
    let third = rig.begin(tool("eve", "d", "t"));
    assert_eq!(first.await.unwrap(), Ok(()));
    settle().await;
    // It has been given the place, and has not heard of it.
    assert_eq!(rig.calls().len(), 1);
    drop(second);
    assert_eq!(third.await.unwrap(), Ok(()));
    assert_eq!(names(&rig.calls()), ["ann", "eve"]);
    assert!(rig.limits.is_idle());
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_during_a_call_gives_the_place_back() {
    let rig = Rig::new(one_of_the_downstream());
    let (first, second) = (rig.begin(tool("ann", "d", "t")), rig.begin(tool("bob", "d", "t")));
    settle().await;
    first.abort();
    assert_eq!(second.await.unwrap(), Ok(()));
    assert_eq!(rig.calls(), [("ann".to_owned(), 0), ("bob".to_owned(), 0)]);
    assert!(rig.limits.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_workflow_is_not_in_the_way_of_its_own_steps() {
    let rig = Rig::new(at_once(Concurrency { caller: Limit::of(1), ..Concurrency::default() }));
    let workflow = rig.begin(tool("ann", "", "w"));
    settle().await;
    assert_eq!(rig.call(tool("ann", "d", "t")).await, Ok(()));
    assert_eq!(workflow.await.unwrap(), Ok(()));
    assert_eq!(rig.calls().iter().map(|(_, at)| *at).collect::<Vec<_>>(), [0, 0]);
}

/// Counts how many calls it has at once, and the most it ever had.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Dispatcher for Crowd {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        struct Gone<'a>(&'a AtomicUsize);
        impl Drop for Gone<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _gone = Gone(&self.now);
        tokio::task::yield_now().await;
        Ok(Outcome::Complete(RawObject::empty()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_place_is_lost_or_made_up_whoever_gives_up() {
    let concurrency = Concurrency { caller: Limit::of(5), tool: Limit::of(4), downstream: Limit::of(3) };
    let limits = Arc::new(Limits::new(LimitsConfig { queue: 1000, ..at_once(concurrency) }));
    let crowd = Arc::new(Crowd::default());
    let stage = Arc::new(Limited::new(limits.clone(), crowd.clone()));
    let begun: Vec<_> = (0..900)
        .map(|n| {
            let stage = stage.clone();
            let call = tool(["ann", "bob", "eve"][n % 3], "d", ["t", "u"][n % 2]);
            (n, tokio::spawn(async move { outcome(stage.dispatch(call).await) }))
        })
        .collect();
    for (n, call) in begun {
        if n % 4 == 0 {
            call.abort();
        }
        assert!(call.await.is_ok_and(|outcome| outcome == Ok(())) || n % 4 == 0, "call {n}");
    }
    assert_eq!(crowd.now.load(Ordering::SeqCst), 0);
    assert!((2..=3).contains(&crowd.most.load(Ordering::SeqCst)), "{:?}", crowd.most);
    assert!(limits.is_idle());
}

/// Polls once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context)))
        .await
}
