use super::{super::LimitsError, *};
use crate::testing::Fake;

fn limited(of: &'static str, milliseconds: u64) -> Result<(), CallerError> {
    Err(CallerError::RateLimited { of, retry_in: Duration::from_millis(milliseconds) })
}

#[tokio::test(start_paused = true)]
async fn a_burst_passes_and_then_as_much_as_the_rate_allows() {
    let rig = Rig::new(rates(Rates { caller: Limit::of(rate(0.25, 3)), ..Rates::default() }));
    let call = || rig.call(tool("ann", "d", "t"));
    // Each call that is made takes a second.
    for _ in 0..3 {
        assert_eq!(call().await, Ok(()));
    }
    assert_eq!(call().await, limited("of this caller", 1000));
    sleep(Duration::from_millis(999)).await;
    assert_eq!(call().await, limited("of this caller", 1));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(call().await, Ok(()));
    assert_eq!(call().await, limited("of this caller", 3000));
    sleep(Duration::from_secs(1000)).await;
    for _ in 0..3 {
        assert_eq!(call().await, Ok(()));
    }
    assert_eq!(call().await, limited("of this caller", 1000));
    assert_eq!(rig.calls().len(), 7, "what is refused reaches no downstream");
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_bucket_bounds_what_it_is_for() {
    let one = || Limit::of(rate(0.01, 1));
    let rows = [
        (Rates { caller: one(), ..Rates::default() }, "of this caller", [true, true, true, true, false]),
        (
            Rates { caller_tool: one(), ..Rates::default() },
            "of this tool by this caller",
            [true, false, false, false, false],
        ),
        (Rates { tool: one(), ..Rates::default() }, "of this tool", [true, false, false, false, true]),
        (
            Rates { downstream: one(), ..Rates::default() },
            "of this downstream",
            [true, true, true, false, true],
        ),
    ];
    for (config, of, refused) in rows {
        let calls = [
            tool("ann", "d", "t"),
            tool("ann", "d", "u"),
            call("ann", "d", Subject::Prompt { name: "t".into() }),
            tool("ann", "e", "t"),
            tool("bob", "d", "t"),
        ];
        for (call, is_refused) in calls.into_iter().zip(refused) {
            let rig = Rig::new(rates(config.clone()));
            assert_eq!(rig.call(tool("ann", "d", "t")).await, Ok(()));
            let shown = format!("{of}: {call:?}");
            let expected = if is_refused { limited(of, 99_000) } else { Ok(()) };
            assert_eq!(rig.call(call).await, expected, "{shown}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_refused_takes_no_token_but_its_callers() {
    let rig = Rig::new(rates(Rates {
        caller: Limit::of(rate(0.001, 3)),
        caller_tool: Limit::of(rate(0.001, 2)),
        tool: Limit::of(rate(0.001, 3)),
        downstream: Limit::of(rate(0.001, 4)),
        ..Rates::default()
    }));
    for _ in 0..2 {
        assert_eq!(rig.call(tool("ann", "d", "t")).await, Ok(()));
    }
    assert!(matches!(
        rig.call(tool("ann", "d", "t")).await,
        Err(CallerError::RateLimited { of: "of this tool by this caller", .. })
    ));
    for _ in 0..10 {
        assert!(matches!(
            rig.call(tool("ann", "d", "t")).await,
            Err(CallerError::RateLimited { of: "of this caller", .. })
        ));
    }
    // There is one left of the tool, and then one of the downstream.
    assert_eq!(rig.call(tool("bob", "d", "t")).await, Ok(()));
    assert!(matches!(
        rig.call(tool("bob", "d", "t")).await,
        Err(CallerError::RateLimited { of: "of this tool", .. })
    ));
    assert_eq!(rig.call(tool("bob", "d", "u")).await, Ok(()));
    assert!(matches!(
        rig.call(tool("eve", "d", "v")).await,
        Err(CallerError::RateLimited { of: "of this downstream", .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn the_longest_wait_is_told() {
    let rig = Rig::new(rates(Rates {
        downstream: Limit::of(rate(0.1, 1)),
        tool: Limit::of(rate(0.01, 1)),
        ..Rates::default()
    }));
    assert_eq!(rig.call(tool("ann", "d", "t")).await, Ok(()));
    assert_eq!(rig.call(tool("ann", "d", "t")).await, limited("of this tool", 99_000));
    assert_eq!(rig.call(tool("ann", "d", "u")).await, limited("of this downstream", 9_000));
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_refused_before_anything_is_looked_up() {
    let rig = Rig::new(rates(Rates { caller: Limit::of(rate(0.01, 2)), ..Rates::default() }));
    let resolve = Arc::new(Fake::now(|_| Err(CallerError::UnknownTool { name: "guess".to_owned() }.into())));
    let stage = Counted::new(rig.limits.clone(), resolve.clone());
    let guess = |n: usize| stage.dispatch(tool("ann", "", &format!("guess-{n}")));
    for n in 0..2 {
        assert!(matches!(outcome(guess(n).await), Err(CallerError::UnknownTool { .. })));
    }
    assert_eq!(outcome(guess(2).await), limited("of this caller", 100_000));
    assert_eq!(resolve.count(), 2, "what is refused is not looked up");
    assert_eq!(rig.call(tool("ann", "d", "t")).await, limited("of this caller", 100_000));
    assert_eq!(rig.call(tool("bob", "d", "t")).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn what_is_resolved_is_not_counted_again() {
    let rig = Rig::new(rates(Rates { caller: Limit::of(rate(0.01, 1)), ..Rates::default() }));
    let resolved = Limited::new(rig.limits.clone(), rig.downstream.clone());
    for _ in 0..3 {
        assert_eq!(outcome(resolved.dispatch(tool("ann", "d", "t")).await), Ok(()));
    }
    assert_eq!(rig.call(tool("ann", "d", "t")).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn globs_give_other_bounds() {
    let few = Limit::of(rate(0.001, 1));
    let rig = Rig::new(rates(Rates {
        caller: Limit::default().except("ci-*", Some(rate(0.001, 1))),
        tool: few.clone().except("d__read_*", None).except("d__*", Some(rate(0.001, 2))).except("flow", None),
        ..Rates::default()
    }));
    for (caller, downstream, name, passes) in [
        ("ann", "d", "read_x", 5),
        ("ann", "d", "t", 2),
        ("ann", "e", "read_x", 1),
        ("ci-1", "d", "read_y", 1),
        ("ann", "", "flow", 5),
    ] {
        for n in 0..passes {
            assert_eq!(rig.call(tool(caller, downstream, name)).await, Ok(()), "{name} {n}");
        }
        if passes < 5 {
            assert!(rig.call(tool(caller, downstream, name)).await.is_err(), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn steps_of_workflows_count_for_the_caller() {
    let rig = Rig::new(rates(Rates { caller: Limit::of(rate(0.001, 2)), ..Rates::default() }));
    let step = || {
        let origin = Origin { workflow: "w".into(), run: "r".into(), step: "s".into() };
        Call { origin: Some(origin), ..tool("ann", "d", "t") }
    };
    assert_eq!(rig.call(tool("ann", "", "w")).await, Ok(()));
    assert_eq!(rig.call(step()).await, Ok(()));
    assert!(rig.call(step()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn looks_at_tasks_count_apart() {
    let task = |act| call("ann", "d", Subject::Task { id: "1".into(), act, tool: None });
    let one = || Limit::of(rate(0.01, 1));
    let rig =
        Rig::new(rates(Rates { caller: one(), downstream: one(), task_polls: one(), ..Rates::default() }));
    assert_eq!(rig.call(task(TaskAct::Get)).await, Ok(()));
    assert_eq!(rig.call(task(TaskAct::Get)).await, limited("about tasks", 99_000));
    assert_eq!(rig.call(task(TaskAct::Cancel)).await, limited("about tasks", 99_000));
    assert_eq!(rig.call(task(TaskAct::Update)).await, Ok(()));
    assert!(matches!(
        rig.call(task(TaskAct::Update)).await,
        Err(CallerError::RateLimited { of: "of this caller", .. })
    ));
    assert_eq!(
        rig.call(call("bob", "e", Subject::Task { id: "1".into(), act: TaskAct::Get, tool: None })).await,
        Ok(())
    );
}

#[test]
fn each_bound_is_a_bound() {
    assert!(LimitsConfig::default().is_none());
    let one = || Limit::of(rate(1.0, 1));
    for bounds in [
        Rates { caller: one(), ..Rates::default() },
        Rates { caller_tool: one(), ..Rates::default() },
        Rates { tool: one(), ..Rates::default() },
        Rates { downstream: one(), ..Rates::default() },
        Rates { task_polls: one(), ..Rates::default() },
        Rates { tool: Limit::default().except("d__*", Some(rate(1.0, 1))), ..Rates::default() },
    ] {
        let shown = format!("{bounds:?}");
        assert!(!rates(bounds).is_none(), "{shown}");
    }
    for places in [
        Concurrency { caller: Limit::of(1), ..Concurrency::default() },
        Concurrency { tool: Limit::of(1), ..Concurrency::default() },
        Concurrency { downstream: Limit::of(1), ..Concurrency::default() },
        Concurrency { downstream: Limit::default().except("d", Some(1)), ..Concurrency::default() },
    ] {
        let shown = format!("{places:?}");
        assert!(!at_once(places).is_none(), "{shown}");
    }
    let exempt = Limit::default().except("d__*", None);
    assert!(rates(Rates { tool: exempt, ..Rates::default() }).is_none());
}

#[test]
fn rates_are_checked() {
    for (per_second, burst, expected) in [
        (1.0, 1, None),
        (1_000_000.0, u32::MAX, None),
        (0.1, 1000, None),
        (1.0 / 31_536_000.0, 1, None),
        (0.0, 1, Some(LimitsError::PerSecond)),
        (-1.0, 1, Some(LimitsError::PerSecond)),
        (f64::NAN, 1, Some(LimitsError::PerSecond)),
        (f64::INFINITY, 1, Some(LimitsError::PerSecond)),
        (2_000_000.0, 1, Some(LimitsError::PerSecond)),
        (1e-9, 1, Some(LimitsError::PerSecond)),
        (1.0, 0, Some(LimitsError::Burst)),
        (1.0 / 31_536_000.0, 2, Some(LimitsError::Filling)),
    ] {
        assert_eq!(Rate::new(per_second, burst).err(), expected, "{per_second} {burst}");
    }
}
