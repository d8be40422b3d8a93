//! Single runs: when they end, how they are cancelled, what bounds them, and what is told of them.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_composite::{
    Composer, ComposerConfig, MemoryStore, Observer, Quota, RoutingTable, Run, RunContext, RunEvent,
    RunEventKind, RunRecord, RunStatus, StateError, StateStore, StepError, StepEventKind, StepStatus, Turn,
    WorkflowError, WorkflowResult,
};
use gateway_domain::{
    Call, CallerError, Dispatcher, Error, Event, EventSink, OfferedTool, Outcome, RawObject,
};
use tokio::time::{Instant, sleep, timeout};

use crate::fake::{Tools, context, exchange, object, workflow};

mod starved;
mod told;

const FORMS: &str = r#"{"elicitation":{}}"#;

fn step(id: &str, needs: &[&str], arguments: &str, rest: &str) -> String {
    let needs: Vec<_> = needs.iter().map(|need| format!("{need:?}")).collect();
    let needs = needs.join(",");
    format!(r#"{{"id":"{id}","tool":"t__work","dependsOn":[{needs}],"arguments":{arguments}{rest}}}"#)
}

fn question(id: &str, needs: &[&str], rest: &str) -> String {
    let needs: Vec<_> = needs.iter().map(|need| format!("{need:?}")).collect();
    let needs = needs.join(",");
    format!(
        r#"{{"id":"{id}","type":"elicitation","dependsOn":[{needs}],"message":"Sure about {id}?",
          "schema":{{"type":"object","properties":{{"yes":{{"type":"boolean"}}}}}}{rest}}}"#
    )
}

fn composer(tools: &Tools, config: ComposerConfig) -> Composer {
    Composer::new(config, Arc::new(tools.clone()))
}

fn begin(composer: &Composer, tools: &Tools, steps: &[String], rest: &str) -> Run {
    let context = context(tools, "c", FORMS);
    composer.begin(workflow(steps, rest), RawObject::empty(), context).unwrap()
}

async fn end(run: &mut Run) -> WorkflowResult {
    match run.next().await {
        Turn::Ended(result) => result,
        Turn::Asks(requests) => panic!("it asks: {requests:?}"),
    }
}

async fn asks(run: &mut Run) -> Vec<String> {
    match run.next().await {
        Turn::Asks(requests) => requests.iter().map(|(key, _)| key.into_owned()).collect(),
        Turn::Ended(result) => panic!("it ended: {result:?}"),
    }
}

/// Runs to the end.
async fn run(steps: &[String], rest: &str) -> (WorkflowResult, Tools) {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let result = end(&mut begin(&composer, &tools, steps, rest)).await;
    (result, tools)
}

fn statuses(result: &WorkflowResult) -> Vec<StepStatus> {
    result.steps.iter().map(|step| step.status).collect()
}

#[tokio::test(start_paused = true)]
async fn a_step_starts_when_its_own_dependencies_are_done() {
    let steps = [
        step("a", &[], r#"{"ms":10}"#, ""),
        step("b", &[], r#"{"ms":1000}"#, ""),
        step("c", &["a"], r#"{"ms":10}"#, ""),
    ];
    let (result, tools) = run(&steps, "").await;
    assert_eq!(result.status(), RunStatus::Completed);
    assert!(tools.seen_of("c")[0].until < tools.seen_of("b")[0].until);
}

#[tokio::test(start_paused = true)]
async fn the_output_is_that_of_the_last_step_in_the_file_that_has_one() {
    let skipped = r#","condition":"{{ 1 > 2 }}""#;
    let steps = [
        step("a", &[], r#"{"id":"a","ms":30}"#, ""),
        step("b", &[], r#"{"id":"b","ms":10}"#, ""),
        step("c", &[], r#"{"id":"c"}"#, skipped),
    ];
    for (steps, output) in
        [(&steps[..], r#"{"id":"b"}"#), (&steps[..1], r#"{"id":"a"}"#), (&steps[2..], "{}")]
    {
        let (result, _) = run(steps, "").await;
        assert_eq!(result.outcome.unwrap().as_str(), output);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_skipped_is_done_for_those_that_depend_on_it() {
    let skipped = r#","condition":"false","defaultResults":{"id":"default"}"#;
    let steps = [
        step("a", &[], r#"{"id":"a"}"#, skipped),
        step("b", &["a"], r#"{"id":"{{ steps.a.output.id }} of {{ steps.a.status }}"}"#, ""),
    ];
    let (result, _) = run(&steps, "").await;
    assert_eq!(statuses(&result), [StepStatus::Skipped, StepStatus::Completed]);
    assert_eq!(result.outcome.unwrap().as_str(), r#"{"id":"default of skipped"}"#);
}

#[tokio::test(start_paused = true)]
async fn retries_are_counted() {
    let retry = r#","onError":{"action":"retry","retryCount":2}"#;
    for (fail, calls, retries, status) in [
        ("never", 1, 0, RunStatus::Completed),
        ("once", 2, 1, RunStatus::Completed),
        ("always", 3, 2, RunStatus::Failed),
    ] {
        let (result, tools) = run(&[step("a", &[], &format!(r#"{{"fail":"{fail}"}}"#), retry)], "").await;
        assert_eq!((result.status(), result.steps[0].retries), (status, retries), "{fail}");
        assert_eq!(tools.seen().len(), calls, "{fail}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_with_its_time_and_so_do_its_calls() {
    let steps = [step("a", &[], r#"{"ms":1000}"#, ""), step("b", &[], r#"{"ms":90000}"#, "")];
    let since = Instant::now();
    let (result, tools) = run(&steps, r#","timeout":"10s""#).await;
    assert_eq!(result.status(), RunStatus::TimedOut);
    assert_eq!(result.outcome, Err(WorkflowError::TimedOut { after: Duration::from_secs(10) }));
    assert_eq!(statuses(&result), [StepStatus::Completed, StepStatus::Failed]);
    assert_eq!(since.elapsed().as_secs(), 10);
    assert_eq!(tools.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_definition_may_exceed_the_longest_time_and_questions_count() {
    let tools = Tools::default();
    let max_time = Duration::from_secs(5);
    let composer = composer(&tools, ComposerConfig { max_time, ..ComposerConfig::default() });
    let mut run = begin(&composer, &tools, &[question("q", &[], "")], r#","timeout":"1h""#);
    assert_eq!(asks(&mut run).await, ["q.question"]);
    sleep(Duration::from_secs(6)).await;
    assert!(run.is_over());
    assert_eq!(end(&mut run).await.outcome, Err(WorkflowError::TimedOut { after: max_time }));
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_end_the_run_before_anything_is_called() {
    let parameters = r#","parameters":{"type":"object","properties":{"n":{"type":"integer","default":7}}}"#;
    for (arguments, id) in [("{}", Some("7")), (r#"{"n":8}"#, Some("8")), (r#"{"n":"8"}"#, None)] {
        let tools = Tools::default();
        let composer = composer(&tools, ComposerConfig::default());
        let workflow = workflow(&[step("a", &[], r#"{"id":"{{ params.n }}"}"#, "")], parameters);
        let mut run = composer.begin(workflow, object(arguments), context(&tools, "c", "{}")).unwrap();
        let result = end(&mut run).await;
        match id {
            Some(id) => assert_eq!(tools.seen()[0].arguments.get("id").unwrap().as_str(), id),
            None => {
                assert!(matches!(result.outcome, Err(WorkflowError::InvalidParameters { .. })), "{result:?}");
                assert_eq!(result.status(), RunStatus::Failed);
                assert!(tools.seen().is_empty());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn vars_are_computed_once_and_say_where_they_fail() {
    let steps = [step("a", &[], r#"{"id":"{{ vars.two }}"}"#, "")];
    let (result, _) = run(&steps, r#","vars":{"two":"{{ 1 + 1 }}"}"#).await;
    assert_eq!(result.outcome.unwrap().as_str(), r#"{"id":2}"#);
    let (result, tools) = run(&steps, r#","vars":{"two":{"deep":["{{ params.none }}"]}}"#).await;
    let Err(WorkflowError::Template(error)) = result.outcome else { panic!("{result:?}") };
    assert_eq!(error.place, "vars.two.deep[0]");
    assert!(tools.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_comes_to_a_bound_ends_whatever_is_forgiven() {
    let forgiven = r#","onError":{"action":"continue"}"#;
    let steps = ["a", "b", "c"].map(|id| step(id, &[], r#"{"id":"12345"}"#, forgiven));
    let default = ComposerConfig::default;
    for (config, what, limit) in [
        (ComposerConfig { max_calls: 2, ..default() }, Quota::Calls, 2),
        (ComposerConfig { max_bytes: 60, ..default() }, Quota::Bytes, 60),
    ] {
        let tools = Tools::default();
        let result = end(&mut begin(&composer(&tools, config), &tools, &steps, "")).await;
        assert_eq!(result.outcome, Err(WorkflowError::LimitExceeded { what, limit }));
        assert_eq!(result.status(), RunStatus::Failed);
    }
}

#[tokio::test(start_paused = true)]
async fn there_are_so_many_runs_of_a_caller_and_in_all() {
    let tools = Tools::default();
    let config = ComposerConfig { max_runs: 3, max_runs_per_caller: 2, ..ComposerConfig::default() };
    let composer = composer(&tools, config);
    let workflow = workflow(&[step("a", &[], r#"{"ms":1000}"#, "")], "");
    let begin = |caller| composer.begin(workflow.clone(), RawObject::empty(), context(&tools, caller, "{}"));
    let overloaded = |run: Result<Run, Error>, what, limit| {
        assert_eq!(run.unwrap_err(), Error::from(CallerError::Overloaded { what, limit }));
    };
    let (mut first, _second) = (begin("a").unwrap(), begin("a").unwrap());
    overloaded(begin("a"), "workflows of this caller", 2);
    let third = begin("b").unwrap();
    overloaded(begin("b"), "workflows", 3);
    drop(third);
    sleep(Duration::from_millis(1)).await;
    let _third = begin("b").unwrap();
    end(&mut first).await;
    overloaded(begin("a"), "workflows of this caller", 2);
    drop(first);
    begin("a").unwrap();
}

#[tokio::test(start_paused = true)]
async fn runs_that_have_ended_count_while_their_results_are_held() {
    let tools = Tools::default();
    let config = ComposerConfig { max_runs: 2, ..ComposerConfig::default() };
    let composer = composer(&tools, config);
    let steps = [step("a", &[], r#"{"ms":10}"#, "")];
    let held = [begin(&composer, &tools, &steps, ""), begin(&composer, &tools, &steps, "")];
    sleep(Duration::from_secs(60)).await;
    assert!(composer.active().await.unwrap().is_empty());
    let refused = composer.begin(workflow(&steps, ""), RawObject::empty(), context(&tools, "c", "{}"));
    let full = CallerError::Overloaded { what: "workflows", limit: 2 };
    assert_eq!(refused.unwrap_err(), full.into());
    drop(held);
    end(&mut begin(&composer, &tools, &steps, "")).await;
}

#[tokio::test(start_paused = true)]
async fn a_composer_can_be_closed_while_results_are_held() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps = [step("a", &[], r#"{"id":"a"}"#, "")];
    let mut run = begin(&composer, &tools, &steps, "");
    sleep(Duration::from_secs(1)).await;
    timeout(Duration::from_secs(1), composer.close()).await.unwrap();
    assert_eq!(end(&mut run).await.status(), RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_what_runs_and_is_an_error_afterwards() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let mut run = begin(&composer, &tools, &[step("a", &[], r#"{"ms":1000}"#, "")], "");
    let id = run.id().clone();
    sleep(Duration::from_millis(10)).await;
    assert_eq!(composer.active().await.unwrap().len(), 1);
    composer.cancel(&id).await.unwrap();
    let result = end(&mut run).await;
    assert_eq!(result.status(), RunStatus::Cancelled);
    assert_eq!((result.outcome, tools.running()), (Err(WorkflowError::Cancelled), 0));
    assert_eq!(composer.status(&id).await.unwrap().status, RunStatus::Cancelled);
    assert!(composer.active().await.unwrap().is_empty());
    let ended = StateError::Ended { id: id.clone(), status: RunStatus::Cancelled };
    assert_eq!(composer.cancel(&id).await, Err(ended));
    assert_eq!(composer.cancel("none").await, Err(StateError::NotFound { id: "none".into() }));
    assert_eq!(composer.cancel("").await, Err(StateError::EmptyId));
}

#[tokio::test(start_paused = true)]
async fn a_composer_that_is_closed_has_no_runs_and_takes_none() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps = [step("a", &[], r#"{"ms":1000}"#, "")];
    let mut run = begin(&composer, &tools, &steps, "");
    sleep(Duration::from_millis(10)).await;
    composer.close().await;
    assert_eq!(tools.running(), 0);
    assert_eq!(end(&mut run).await.status(), RunStatus::Cancelled);
    let refused = composer.begin(workflow(&steps, ""), RawObject::empty(), context(&tools, "c", "{}"));
    assert_eq!(refused.unwrap_err(), CallerError::SessionClosed.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_runs_that_end_are_cancelled_and_dropped_at_once_leave_nothing_behind() {
    let tools = Tools::default();
    let config = ComposerConfig { max_runs: 300, max_runs_per_caller: 300, ..ComposerConfig::default() };
    let composer = composer(&tools, config);
    let steps = [
        step("a", &[], r#"{"ms":1}"#, ""),
        step("b", &["a"], r#"{"ms":2}"#, ""),
        step("c", &["a"], r#"{"ms":3,"fail":"always"}"#, r#","onError":{"action":"continue"}"#),
        step("d", &["b", "c"], r#"{"ms":1}"#, ""),
        question("q", &["a"], ""),
    ];
    let mut ends = tokio::task::JoinSet::new();
    for number in 0..300_u64 {
        let (composer, mut run) = (composer.clone(), begin(&composer, &tools, &steps, ""));
        ends.spawn(async move {
            sleep(Duration::from_millis(number % 10)).await;
            match number % 3 {
                0 => composer.cancel(run.id()).await.unwrap(),
                1 => return drop(run),
                _ => {
                    asks(&mut run).await;
                    run.answer(&object(r#"{"q.question":{"action":"accept"}}"#), exchange(FORMS));
                }
            }
            let status = if number % 3 == 0 { RunStatus::Cancelled } else { RunStatus::Completed };
            assert_eq!(end(&mut run).await.status(), status);
            assert_eq!(composer.status(run.id()).await.unwrap().status, status);
        });
    }
    while let Some(end) = ends.join_next().await {
        end.unwrap();
    }
    composer.close().await;
    assert_eq!(tools.running(), 0);
    assert!(composer.active().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_step_that_panics_fails_the_run_and_is_not_forgiven() {
    let forgiven = r#","onError":{"action":"continue"}"#;
    let steps = [step("a", &[], r#"{"fail":"panic"}"#, forgiven), step("b", &[], r#"{"ms":1000}"#, "")];
    let (result, tools) = run(&steps, "").await;
    let cause = Box::new(StepError::Internal);
    assert_eq!(result.outcome, Err(WorkflowError::StepFailed { step: "a".into(), cause }));
    assert_eq!(tools.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cannot_be_asked_is_refused_only_if_it_surely_has_to_be() {
    for (rest, is_refused) in
        [("", true), (r#","condition":"false""#, false), (r#","onError":{"action":"continue"}"#, false)]
    {
        let tools = Tools::default();
        let composer = composer(&tools, ComposerConfig::default());
        let workflow = workflow(&[question("q", &[], rest)], "");
        for (capabilities, can) in [(FORMS, true), (r#"{"elicitation":{"url":{}}}"#, false), ("{}", false)] {
            let run =
                composer.begin(workflow.clone(), RawObject::empty(), context(&tools, "c", capabilities));
            match (run, is_refused && !can) {
                (Ok(_), false) => {}
                (Err(Error::Caller(CallerError::MissingCapability { required })), true) => {
                    assert_eq!(required.as_str(), r#"{"elicitation":{"form":{}}}"#);
                }
                (run, _) => panic!("{rest} {capabilities}: {run:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn questions_are_asked_together_and_again_until_they_are_answered() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps = [
        question("p", &[], ""),
        question("q", &[], ""),
        step("a", &[], r#"{"id":"a","ms":100}"#, ""),
        step(
            "b",
            &["p", "q"],
            r#"{"id":"{{ steps.p.output.action }} {{ steps.q.output.content.yes | default(false) }}"}"#,
            "",
        ),
    ];
    let mut run = begin(&composer, &tools, &steps, "");
    let status = async || composer.status(run_id(&composer).await.as_str()).await.unwrap().status;
    assert_eq!(asks(&mut run).await, ["p.question", "q.question"]);
    assert!(!run.is_over());
    assert_eq!(asks(&mut run).await, ["p.question", "q.question"]);
    assert_eq!(status().await, RunStatus::WaitingForElicitation);
    sleep(Duration::from_secs(1)).await;
    assert!(tools.seen_of("a")[0].until.is_some(), "others go on meanwhile");
    run.answer(
        &object(r#"{"q.question":{"action":"accept","content":{"yes":true}},"x":1}"#),
        exchange(FORMS),
    );
    assert_eq!(asks(&mut run).await, ["p.question"]);
    run.answer(&object(r#"{"p.question":{"action":"accept","content":{}}}"#), exchange(FORMS));
    assert!(run.is_over());
    let result = end(&mut run).await;
    assert_eq!(result.outcome.unwrap().as_str(), r#"{"id":"accept true"}"#);
    assert_eq!(end(&mut run).await.status(), RunStatus::Completed);
}

async fn run_id(composer: &Composer) -> String {
    composer.active().await.unwrap()[0].id.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_taken_back() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps = [question("q", &[], r#","timeout":"30s","onCancel":"continue""#)];
    let mut run = begin(&composer, &tools, &steps, "");
    assert_eq!(asks(&mut run).await, ["q.question"]);
    assert!(!run.is_over());
    sleep(Duration::from_secs(31)).await;
    assert!(run.is_over());
    assert_eq!(end(&mut run).await.outcome.unwrap().as_str(), r#"{"action":"cancel"}"#);
}

#[tokio::test(start_paused = true)]
async fn questions_are_over_when_others_are_asked_instead() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps = [
        question("p", &[], r#","timeout":"30s","onCancel":"continue""#),
        question("q", &["p"], r#","timeout":"5m""#),
    ];
    let mut run = begin(&composer, &tools, &steps, "");
    assert_eq!(asks(&mut run).await, ["p.question"]);
    sleep(Duration::from_secs(29)).await;
    assert!(!run.is_over());
    sleep(Duration::from_secs(2)).await;
    let record = composer.status(run.id()).await.unwrap();
    assert_eq!(record.status, RunStatus::WaitingForElicitation);
    assert!(run.is_over(), "though a question is open");
    assert_eq!(asks(&mut run).await, ["q.question"]);
    assert!(!run.is_over());
}

#[tokio::test(start_paused = true)]
async fn steps_that_have_not_begun_are_skipped_when_an_answer_says_so() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let steps = [
        question("q", &[], r#","onDecline":"skip_remaining""#),
        step("a", &[], r#"{"id":"a","ms":5000}"#, ""),
        step("b", &["a"], r#"{"id":"b"}"#, ""),
        step("c", &["q"], r#"{"id":"c"}"#, ""),
    ];
    let mut run = begin(&composer, &tools, &steps, "");
    asks(&mut run).await;
    run.answer(&object(r#"{"q.question":{"action":"decline"}}"#), exchange(FORMS));
    let result = end(&mut run).await;
    use StepStatus::{Completed, Skipped};
    assert_eq!(statuses(&result), [Completed, Completed, Skipped, Skipped]);
    assert_eq!(result.status(), RunStatus::Completed);
    assert_eq!(result.outcome.unwrap().as_str(), r#"{"id":"a"}"#);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_what_comes_next_can_be_given_up() {
    let tools = Tools::default();
    let composer = composer(&tools, ComposerConfig::default());
    let mut run = begin(&composer, &tools, &[question("q", &[], "")], "");
    assert!(timeout(Duration::from_millis(5), run.next()).await.is_err());
    assert_eq!(asks(&mut run).await, ["q.question"]);
}

/// Has `t__work` or has not, and knows what it was asked for.
#[derive(Default)]
struct Table {
    is_there: AtomicBool,
    asked: Mutex<Vec<String>>,
}

impl RoutingTable for Table {
    fn exact(&self, name: &str) -> Option<Arc<OfferedTool>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let tool = Tools::default().exact("t__work");
        self.is_there.load(Ordering::SeqCst).then_some(tool?)
    }

    fn of(&self, _: &str, _: &str) -> Option<Arc<OfferedTool>> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn the_tools_of_a_run_are_those_that_were_there_when_it_began() {
    for was_there in [true, false] {
        let tools = Tools::default();
        let composer = composer(&tools, ComposerConfig::default());
        let table = Arc::new(Table { is_there: AtomicBool::new(was_there), asked: Mutex::default() });
        let context = RunContext { tools: table.clone(), ..context(&tools, "c", "{}") };
        let steps = [step("a", &[], r#"{"ms":10}"#, ""), step("b", &["a"], r#"{"id":"b"}"#, "")];
        let mut run = composer.begin(workflow(&steps, ""), RawObject::empty(), context).unwrap();
        table.is_there.store(!was_there, Ordering::SeqCst);
        let result = end(&mut run).await;
        assert_eq!(tools.seen().len(), if was_there { 2 } else { 0 });
        let cause = Box::new(StepError::UnknownTool { tool: "t__work".into() });
        let error = WorkflowError::StepFailed { step: "a".into(), cause };
        assert_eq!(result.outcome.err(), (!was_there).then_some(error));
        assert_eq!(*table.asked.lock().unwrap(), ["t__work"]);
    }
}
