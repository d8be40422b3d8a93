//! What files cannot say: when things happen, and how many at once.

use std::time::Duration;

use gateway_composite::{RunStatus, Turn};
use gateway_domain::{Era, Exchange, RawObject, SessionKey};
use proptest::prelude::*;
use tokio::time::{Instant, sleep};

use super::{case::Case, script::Script};

fn case(text: &str) -> (Case, Script) {
    let file = RawObject::parse(text.to_owned()).unwrap();
    (Case::read("timing", &file), Script::read(&file.get_object("tools").unwrap()))
}

async fn ended(case: &Case, script: &Script) -> RunStatus {
    let mut run = case.begin(script, case.exchange(Era::Modern));
    match run.next().await {
        Turn::Ended(ended) => ended.status(),
        Turn::Asks(questions) => panic!("it asks {questions:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_works_on_as_many_items_at_once_as_it_may() {
    // How many at once; how long that takes when each item takes a second.
    for (parallel, most, seconds) in
        [("", 10, 12), (r#""maxParallel":1,"#, 1, 120), (r#""maxParallel":50,"#, 50, 3)]
    {
        let (case, script) = case(&format!(
            r#"{{"workflow":{{"steps":[{{"id":"each","type":"forEach",{parallel}"collection":"{{{{ range(120) | list }}}}",
                "maxIterations":1000,"step":{{"tool":"d__do"}}}}]}},
            "tools":{{"d__do":{{"answers":[{{"structured":{{}},"afterMs":1000}}]}}}}}}"#
        ));
        let begun = Instant::now();
        assert_eq!(ended(&case, &script).await, RunStatus::Completed);
        assert_eq!((script.most_at_once(), begun.elapsed().as_secs()), (most, seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_run_cancels_the_items_of_its_loops() {
    let (case, script) = case(
        r#"{"workflow":{"steps":[{"id":"each","type":"forEach","collection":[1,2,3],"maxParallel":2,"step":{"tool":"d__do"}}]},
        "tools":{"d__do":{"answers":[{"structured":{},"afterMs":1000}]}}}"#,
    );
    let run = case.begin(&script, case.exchange(Era::Modern));
    sleep(Duration::from_millis(500)).await;
    drop(run);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(script.log(), ["d__do {}", "d__do {}", "cancelled d__do", "cancelled d__do"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_run_gives_up_the_calls_that_wait_for_answers() {
    let (case, script) = case(
        r#"{"workflow":{"steps":[{"id":"a","tool":"d__a"}]},"capabilities":{"roots":{}},
        "tools":{"d__a":{"answers":[{"asks":{"k":{"method":"roots/list"}},"state":"parked"}]}}}"#,
    );
    let mut run = case.begin(&script, case.exchange(Era::Modern));
    assert!(matches!(run.next().await, Turn::Asks(_)));
    drop(run);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(script.log(), ["d__a {}", "abandoned p1"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_only_to_be_made_again_is_made_ever_more_slowly() {
    let (case, script) = case(
        r#"{"workflow":{"steps":[{"id":"a","tool":"d__a"}]},"tools":{"d__a":{"answers":[{"again":true,"state":"s"}]}}}"#,
    );
    let begun = Instant::now();
    assert_eq!(ended(&case, &script).await, RunStatus::Failed);
    // 250 ms, doubled five times, and then eleven times 8 s.
    assert_eq!(begun.elapsed().as_millis() / 100, 957);
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_in_the_circumstances_of_the_answer() {
    let (case, script) = case(
        r#"{"workflow":{"steps":[{"id":"a","tool":"d__a"}]},"capabilities":{"roots":{}},
        "tools":{"d__a":{"answers":[{"asks":{"k":{"method":"roots/list"}}},{"structured":{}}]}}}"#,
    );
    let within =
        |id: &str| Exchange { session: SessionKey::Legacy { id: id.into() }, ..case.exchange(Era::Legacy) };
    let mut run = case.begin(&script, within("one"));
    assert!(matches!(run.next().await, Turn::Asks(_)));
    run.answer(&RawObject::parse(r#"{"a.k":{"roots":[]}}"#).unwrap(), within("two"));
    assert!(matches!(run.next().await, Turn::Ended(_)));
    assert_eq!(script.log(), ["d__a {} in one", r#"d__a none {"k":{"roots":[]}} in two"#]);
}

#[tokio::test(start_paused = true)]
async fn what_a_user_gives_is_bounded() {
    let (case, script) = case(
        r#"{"workflow":{"steps":[{"id":"ask","type":"elicitation","message":"?","schema":{"type":"object","properties":{}}}]},"tools":{}}"#,
    );
    let (large, nested) =
        (format!("\"{}\"", "x".repeat(1 << 20)), format!("{}{}", "[".repeat(10), "]".repeat(10)));
    let rows = [
        (large.as_str(), "the answer does not fit: it has more than 1048576 bytes"),
        (nested.as_str(), "the answer does not fit: it is nested deeper than 10 levels"),
    ];
    for (value, reason) in rows {
        let exchange = case.exchange(Era::Modern);
        let mut run = case.begin(&script, exchange.clone());
        for key in ["question", "question2", "question3", "question4"] {
            let Turn::Asks(questions) = run.next().await else { panic!("it ended before {key}") };
            assert!(questions.contains(&format!("ask.{key}")), "{questions:?}");
            let answers = format!(r#"{{"ask.{key}":{{"action":"accept","content":{{"n":{value}}}}}}}"#);
            run.answer(&RawObject::parse(answers).unwrap(), exchange.clone());
        }
        let Turn::Ended(ended) = run.next().await else { panic!("it asks again") };
        assert_eq!(ended.steps[0].error.as_deref(), Some(reason));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_user_is_asked_is_bounded() {
    let question = |length: usize| {
        format!(
            r#"{{"workflow":{{"steps":[{{"id":"a","type":"elicitation","message":"{{{{ 'x' * {length} }}}}","schema":{{"type":"object"}}}}]}},"tools":{{}}}}"#
        )
    };
    let asks = |length: usize| {
        format!(
            r#"{{"workflow":{{"steps":[{{"id":"a","tool":"d__a"}}]}},"capabilities":{{"roots":{{}}}},
            "tools":{{"d__a":{{"answers":[{{"asks":{{"k":{{"method":"roots/list","x":"{}"}}}}}}]}}}}}}"#,
            "x".repeat(length)
        )
    };
    let rows = [
        (question(65_534), None),
        (question(65_535), Some("`message`: `'x' * 65535`: it comes to more than 65536 bytes")),
        (asks(262_000), None),
        (asks(262_144), Some("tool `d__a` asks with more than 256 KiB at once")),
    ];
    for (file, reason) in rows {
        let (case, script) = case(&file);
        let mut run = case.begin(&script, case.exchange(Era::Modern));
        match (run.next().await, reason) {
            (Turn::Asks(_), None) => {}
            (Turn::Ended(ended), Some(reason)) => assert_eq!(ended.steps[0].error.as_deref(), Some(reason)),
            (turn, reason) => panic!("{turn:?} and not {reason:?}"),
        }
    }
}

/// A file of a loop over one item for each delay, in milliseconds.
fn loop_of(delays: &[u16], parallel: usize) -> String {
    let when = delays.iter().enumerate().map(|(item, delay)| {
        format!(r#"{{"arguments":{{"n":{item}}},"answer":{{"echo":true,"afterMs":{delay}}}}}"#)
    });
    format!(
        r#"{{"arguments":{{"n":{count}}},"workflow":{{"parameters":{{"type":"object","properties":{{"n":{{"type":"integer"}}}}}},
            "steps":[{{"id":"each","type":"forEach","collection":"{{{{ range(params.n) | list }}}}","maxParallel":{parallel},
            "step":{{"tool":"d__do","arguments":{{"n":"{{{{ forEach.item }}}}"}}}}}}]}},"tools":{{"d__do":{{"when":[{when}]}}}}}}"#,
        count = delays.len(),
        when = when.collect::<Vec<_>>().join(",")
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_loop_gives_its_items_in_order_whenever_they_end(
        delays in proptest::collection::vec(1..50_u16, 0..25),
        parallel in 1..8_usize,
    ) {
        let (case, script) = case(&loop_of(&delays, parallel));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let output = runtime.block_on(async {
            let mut run = case.begin(&script, case.exchange(Era::Modern));
            let Turn::Ended(ended) = run.next().await else { panic!("it asks") };
            ended.outcome.expect("an output")
        });
        let iteration = |n| {
            format!(r#"{{"index":{n},"item":{n},"status":"completed","output":{{"echo":{{"n":{n}}}}},"error":null}}"#)
        };
        let count = delays.len();
        let iterations = (0..count).map(iteration).collect::<Vec<_>>().join(",");
        let expected = format!(r#"{{"iterations":[{iterations}],"count":{count},"completed":{count},"failed":0}}"#);
        prop_assert_eq!(output.as_str(), expected);
        prop_assert_eq!(script.most_at_once(), parallel.min(count));
    }
}
