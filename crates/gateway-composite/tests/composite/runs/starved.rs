//! Expressions that do much hold up nobody else, and end with whoever wants them.

use super::*;

/// As much as an expression may do, nearly.
const HEAVY: &str = "{{ range(9000)|map('string')|map('upper')|list|length }}";
const PATIENCE: Duration = Duration::from_millis(500);

/// A step with so many heavy expressions.
fn heavy(id: &str, count: usize, rest: &str) -> String {
    let all: Vec<_> = (0..count).map(|n| format!(r#""x{n}":"{HEAVY}""#)).collect();
    step(id, &[], &format!("{{{}}}", all.join(",")), rest)
}

/// The longest time between two ticks of a timer, until it is aborted.
fn longest_pause() -> (tokio::task::JoinHandle<()>, Arc<Mutex<Duration>>) {
    let longest = Arc::new(Mutex::new(Duration::ZERO));
    let noted = longest.clone();
    let ticks = tokio::spawn(async move {
        loop {
            let before = Instant::now();
            sleep(Duration::from_millis(10)).await;
            let mut longest = noted.lock().unwrap();
            *longest = before.elapsed().max(*longest);
        }
    });
    (ticks, longest)
}

async fn evaluates(composer: &Composer) {
    while composer.evaluating() == 0 {
        sleep(Duration::from_millis(1)).await;
    }
}

async fn evaluates_nothing(composer: &Composer) {
    while composer.evaluating() > 0 {
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_go_on_while_runs_evaluate() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps: Vec<_> = (0..8).map(|n| heavy(&format!("s{n}"), 10, "")).collect();
    let (ticks, longest) = longest_pause();
    let runs: Vec<_> = (0..4).map(|_| begin(&composer, &tools, &steps, "")).collect();
    evaluates(&composer).await;
    sleep(Duration::from_secs(1)).await;
    assert!(composer.evaluating() > 0, "there is enough to do");
    composer.close().await;
    let longest = *longest.lock().unwrap();
    assert!(longest < Duration::from_millis(200), "nothing went on for {longest:?}");
    ticks.abort();
    drop(runs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_of_a_step_is_kept_while_it_evaluates() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let wait = r#","timeout":"20ms""#;
    let all = "{{ range(9000)|map('string')|map('upper')|list|length }}".repeat(10);
    let rows = [
        heavy("a", 10, wait),
        step("a", &[], "{}", &format!(r#"{wait},"condition":"{all}""#)),
        format!(
            r#"{{"id":"a","type":"elicitation","message":"{all}","schema":{{"type":"object","properties":{{}}}}{wait}}}"#
        ),
        format!(r#"{{"id":"a","type":"forEach","collection":["{all}"],"step":{{"tool":"t__work"}}{wait}}}"#),
    ];
    for steps in rows {
        let since = Instant::now();
        let mut run = begin(&composer, &tools, std::slice::from_ref(&steps), "");
        let result = end(&mut run).await;
        let took = since.elapsed();
        assert!(result.outcome.unwrap_err().to_string().contains("20ms"), "{steps}");
        assert!(took >= Duration::from_millis(20) && took < PATIENCE, "{took:?}: {steps}");
        timeout(PATIENCE, evaluates_nothing(&composer)).await.expect("nothing is evaluated for nobody");
    }
    assert!(tools.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_of_a_run_is_kept_while_it_evaluates_what_belongs_to_no_step() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let all = "{{ range(9000)|map('string')|map('upper')|list|length }}".repeat(10);
    let steps = [step("a", &[], "{}", "")];
    for rest in [
        format!(r#","vars":{{"v":"{all}"}}"#),
        format!(
            r#","output":{{"properties":{{"v":{{"type":"string","description":"V.","value":"{all}"}}}}}}"#
        ),
    ] {
        let since = Instant::now();
        let mut run = begin(&composer, &tools, &steps, &format!(r#"{rest},"timeout":"20ms""#));
        assert_eq!(end(&mut run).await.status(), RunStatus::TimedOut, "{rest}");
        assert!(since.elapsed() < PATIENCE, "{:?}: {rest}", since.elapsed());
        timeout(PATIENCE, evaluates_nothing(&composer)).await.expect("nothing is evaluated for nobody");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_evaluated_for_a_run_that_is_dropped() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps: Vec<_> = (0..8).map(|n| heavy(&format!("s{n}"), 10, "")).collect();
    let run = begin(&composer, &tools, &steps, "");
    evaluates(&composer).await;
    drop(run);
    timeout(PATIENCE, evaluates_nothing(&composer)).await.expect("it ends");
    sleep(Duration::from_millis(50)).await;
    assert_eq!(composer.evaluating(), 0, "and nothing else begins");
    assert!(tools.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_ten_expressions_of_one_value_may_do_much() {
    for (count, reason) in [(10, None), (11, Some("10 expressions before it do much already"))] {
        let (result, _) = run(&[heavy("a", count, r#","timeout":"5m""#)], "").await;
        match reason {
            None => assert_eq!(result.status(), RunStatus::Completed),
            Some(reason) => assert!(result.outcome.unwrap_err().to_string().contains(reason)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn small_expressions_are_evaluated_in_place() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let small: Vec<_> = (0..100).map(|n| format!(r#""x{n}":"{{{{ {n} + 1 }}}}""#)).collect();
    let mut run = begin(&composer, &tools, &[step("a", &[], &format!("{{{}}}", small.join(",")), "")], "");
    tokio::select! {
        biased;
        result = end(&mut run) => assert_eq!(result.status(), RunStatus::Completed),
        () = evaluates(&composer) => panic!("a thread was taken"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_with_little_to_evaluate_is_not_behind_all_that_another_has() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let much: Vec<_> = (0..10).map(|n| heavy(&format!("s{n}"), 10, r#","timeout":"5m""#)).collect();
    let _much = begin(&composer, &tools, &much, "");
    evaluates(&composer).await;
    let mut little = begin(&composer, &tools, &[heavy("one", 1, r#","timeout":"5m""#)], "");
    assert_eq!(end(&mut little).await.status(), RunStatus::Completed);
    assert!(tools.seen().len() <= 4, "{} steps of the other were before it", tools.seen().len() - 1);
}
