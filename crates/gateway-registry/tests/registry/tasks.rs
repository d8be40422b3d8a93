//! Tools that are tasks, for clients that know tasks and for those that do not.

use std::sync::{Arc, Mutex, atomic::Ordering::SeqCst};

use gateway_domain::{
    Call, CallerError, Dispatcher, DownstreamFault, Event, EventSink, Outcome, RawObject, SessionKey,
    Sessions, Subject, Target, TaskAct, TaskHandle, TaskSupport,
};
use gateway_registry::{Manager, ManagerConfig, PoolConfig};
use tokio::time::{Duration, Instant};

use crate::{
    fake::{Fake, SECOND, Speaks, fault, name},
    fixture::{Client, PerClient, Shared, answered_by, downstream, legacy, manager, modern},
};

const MINUTE: Duration = Duration::from_secs(60);

fn polling() -> Client {
    modern("m").with_profile("io.modelcontextprotocol/tasks")
}

fn call(client: &Client, task: TaskSupport) -> Call {
    let subject = Subject::Tool { name: "task".into(), headers: Arc::default(), task };
    Call { target: Target::Downstream { downstream: name("fake"), subject }, ..client.to("fake", "task") }
}

fn required(client: &Client) -> Call {
    call(client, TaskSupport::Required)
}

async fn about(manager: &Manager, client: &Client, id: &str, act: TaskAct, more: &str) -> Outcome {
    let mut call = client.to("fake", "task");
    let subject = Subject::Task { id: id.into(), act, tool: None };
    call.target = Target::Downstream { downstream: name("fake"), subject };
    call.params.object = RawObject::parse(format!(r#"{{"taskId":"{id}"{more}}}"#)).unwrap();
    manager.dispatch(call).await.unwrap()
}

async fn get(manager: &Manager, client: &Client) -> RawObject {
    complete(about(manager, client, "t", TaskAct::Get, "").await)
}

fn complete(outcome: Outcome) -> RawObject {
    match outcome {
        Outcome::Complete(result) => result,
        other => panic!("not complete: {other:?}"),
    }
}

async fn create(manager: &Manager, client: &Client) -> RawObject {
    match manager.dispatch(required(client)).await.unwrap() {
        Outcome::Task(TaskHandle { downstream, object, .. }) => {
            assert_eq!(downstream, Some(name("fake")));
            object
        }
        other => panic!("no task: {other:?}"),
    }
}

/// The members of a task beside its status.
fn task(result_type: &str, status: &str, more: &str) -> String {
    format!(
        r#"{{"resultType":"{result_type}","taskId":"t","status":"{status}","statusMessage":"begun","ttlMs":60000,"pollIntervalMs":500{more}}}"#
    )
}

/// The same where the status has been put anew.
fn ended(status: &str, more: &str) -> String {
    format!(
        r#"{{"resultType":"complete","taskId":"t","statusMessage":"begun","ttlMs":60000,"pollIntervalMs":500,"status":"{status}"{more}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn a_legacy_task_reads_as_one_of_the_extension() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let client = polling();
    assert_eq!(create(&manager, &client).await.as_str(), task("task", "working", ""));
    assert_eq!(get(&manager, &client).await.as_str(), task("complete", "working", ""));
    fake.tasks.is("completed");
    let result = r#","result":{"session":7,"isError":false}"#;
    assert_eq!(get(&manager, &client).await.as_str(), ended("completed", result));
    // A tool's own error is a result, in these words (protocol.md §15.3).
    fake.tasks.is("failed");
    let result = r#","result":{"session":7,"isError":true}"#;
    assert_eq!(get(&manager, &client).await.as_str(), ended("completed", result));
    fake.tasks.fails("{}");
    let error = r#","error":{"code":-32000,"message":"no","data":{}}"#;
    assert_eq!(get(&manager, &client).await.as_str(), ended("failed", error));
    fake.tasks.is("cancelled");
    assert_eq!(get(&manager, &client).await.as_str(), task("complete", "cancelled", ""));
    assert_eq!(fake.counts().0, 1, "all in one session");
}

#[tokio::test(start_paused = true)]
async fn its_questions_are_answered_by_updates() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let client = polling();
    create(&manager, &client).await;
    fake.tasks.is("input_required");
    let question = r#","inputRequests":{"q":{"method":"elicitation/create","params":{}}}"#;
    for _ in 0..3 {
        assert_eq!(get(&manager, &client).await.as_str(), task("complete", "input_required", question));
    }
    let asked = fake.tasks.asked.lock().unwrap().iter().filter(|method| *method == "tasks/result").count();
    assert_eq!((asked, fake.parked.load(SeqCst)), (1, 1), "one request is kept open for them");
    let ignored = about(&manager, &client, "t", TaskAct::Update, r#","inputResponses":{"x":1}"#).await;
    assert_eq!(complete(ignored).as_str(), r#"{"resultType":"complete"}"#);
    assert_eq!(get(&manager, &client).await.as_str(), task("complete", "input_required", question));
    let begun = Instant::now();
    about(&manager, &client, "t", TaskAct::Update, r#","inputResponses":{"q":"yes"}"#).await;
    assert_eq!(begun.elapsed(), Duration::ZERO, "acknowledged at once");
    tokio::time::sleep(SECOND).await;
    // The result came through the request that was open.
    assert_eq!(get(&manager, &client).await.as_str(), ended("completed", r#","result":{"session":1}"#));
    assert_eq!(fake.parked.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_and_another_refused() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    let client = polling();
    create(&manager, &client).await;
    for _ in 0..2 {
        let cancelled = about(&manager, &client, "t", TaskAct::Cancel, "").await;
        assert_eq!(complete(cancelled).as_str(), r#"{"resultType":"complete"}"#, "that it has ended is fine");
    }
    assert_eq!(fake.tasks.cancels.load(SeqCst), 1);
    for act in [TaskAct::Get, TaskAct::Cancel] {
        let unknown = about(&manager, &client, "u", act, "").await;
        assert!(matches!(&unknown, Outcome::Failed(error) if error.code == -32602), "{unknown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_keeps_its_session_while_it_is_polled_and_for_a_time() {
    let fake = Fake::new(Speaks::Legacy);
    let config = ManagerConfig { task_time: 20 * MINUTE, ..ManagerConfig::default() };
    let pool = PoolConfig::default();
    let manager = Manager::with_config(vec![downstream("fake", &fake, PerClient, pool)], config).unwrap();
    let client = polling();
    create(&manager, &client).await;
    tokio::time::sleep(19 * MINUTE).await;
    assert_eq!(get(&manager, &client).await.as_str(), task("complete", "working", ""));
    assert_eq!(fake.counts(), (1, 0, 1));
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(fake.counts(), (1, 1, 0), "nobody asks any more");
    // One that has ended keeps nothing.
    create(&manager, &client).await;
    fake.tasks.is("completed");
    get(&manager, &client).await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(fake.counts(), (2, 2, 0));
    fake.tasks.is("input_required");
    get(&manager, &client).await;
    manager.end(client.key()).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!((fake.counts(), fake.parked.load(SeqCst)), ((3, 3, 0), 0), "nor one whose client has ended");
}

#[tokio::test(start_paused = true)]
async fn a_caller_may_poll_with_other_capabilities_and_nobody_else() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    create(&manager, &polling()).await;
    let more = r#"{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    assert_eq!(get(&manager, &modern("m").declaring(more)).await.as_str(), task("complete", "working", ""));
    assert_eq!(fake.counts().0, 1, "in the same session");
    about(&manager, &modern("other").declaring(more), "t", TaskAct::Get, "").await;
    assert_eq!(fake.counts().0, 2, "another caller's own session knows no such task");
}

#[tokio::test(start_paused = true)]
async fn a_client_cannot_have_a_task_by_its_params() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    for support in [TaskSupport::Forbidden, TaskSupport::Optional] {
        let mut call = call(&legacy("a"), support);
        let subject = Subject::Tool { name: "echo".into(), headers: Arc::default(), task: support };
        call.target = Target::Downstream { downstream: name("fake"), subject };
        call.params.object = RawObject::parse(r#"{"a":1e400,"task":{}}"#).unwrap();
        manager.dispatch(call).await.unwrap();
        assert_eq!(fake.echoed.lock().unwrap().pop().unwrap().as_str(), r#"{"a":1e400}"#);
    }
}

/// Who has the task driven.
fn others() -> [Client; 3] {
    [
        legacy("a"),
        modern("m"),
        legacy("b").declaring(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
    ]
}

/// Whether it is told instead what it has not declared.
fn is_told(speaks: Speaks, client: &Client) -> bool {
    speaks == Speaks::Modern && matches!(client.key(), SessionKey::Modern { .. })
}

#[tokio::test(start_paused = true)]
async fn for_who_knows_no_tasks_they_are_driven_to_their_end() {
    for (speaks, mode) in [(Speaks::Legacy, PerClient), (Speaks::Legacy, Shared), (Speaks::Modern, PerClient)]
    {
        for client in others() {
            let fake = Fake::new(speaks);
            let manager = manager(&fake, mode, 4);
            if is_told(speaks, &client) {
                let told = manager.dispatch(required(&client)).await.unwrap();
                assert!(matches!(&told, Outcome::Failed(error) if error.code == -32021), "{told:?}");
                continue;
            }
            let running = tokio::spawn({
                let (manager, call) = (manager.clone(), required(&client));
                async move { manager.dispatch(call).await.unwrap() }
            });
            tokio::time::sleep(MINUTE).await;
            assert!(!running.is_finished());
            let polls = fake.tasks.asked.lock().unwrap().len();
            assert!((110..=121).contains(&polls), "every 500 ms: {polls}");
            fake.tasks.is("completed");
            let result = complete(running.await.unwrap());
            assert_eq!(result.get("session").unwrap().to_integer(), Some(7), "{speaks:?} {mode:?}");
            assert!(!result.contains("_meta"), "it was no task to the client");
            fake.tasks.fails("{}");
            let failed = manager.dispatch(required(&client)).await.unwrap();
            assert!(matches!(&failed, Outcome::Failed(error) if error.code == -32000), "{failed:?}");
            tokio::time::sleep(SECOND).await;
            assert_eq!(fake.tasks.cancels.load(SeqCst), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_knows_tasks_gets_them_as_they_are_from_a_modern_downstream() {
    let fake = Fake::new(Speaks::Modern);
    let manager = manager(&fake, PerClient, 4);
    let client = polling();
    assert_eq!(create(&manager, &client).await.as_str(), task("task", "working", ""));
    assert_eq!(get(&manager, &client).await.as_str(), task("complete", "working", ""));
    fake.tasks.marks.store(true, SeqCst);
    assert_eq!(
        get(&manager, &client).await.as_str(),
        task("complete", "working", ""),
        "however it is marked"
    );
    fake.tasks.is("completed");
    let driven = complete(manager.dispatch(required(&legacy("m"))).await.unwrap());
    assert_eq!(driven.as_str(), r#"{"session":7}"#);
    about(&manager, &client, "t", TaskAct::Update, r#","inputResponses":{"q":1}"#).await;
    assert_eq!(*fake.tasks.updates.lock().unwrap(), [r#"{"q":1}"#]);
}

#[tokio::test(start_paused = true)]
async fn where_tasks_are_optional_only_who_knows_them_has_one() {
    let fake = Fake::new(Speaks::Legacy);
    let manager = manager(&fake, PerClient, 4);
    for (client, support, is_task) in [
        (polling(), TaskSupport::Optional, true),
        (polling(), TaskSupport::Forbidden, false),
        (modern("m"), TaskSupport::Optional, false),
        (legacy("a"), TaskSupport::Optional, false),
    ] {
        let outcome = manager.dispatch(call(&client, support)).await.unwrap();
        assert_eq!(matches!(outcome, Outcome::Task(_)), is_task, "{support:?} {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn questions_of_a_driven_task_reach_the_client() {
    for speaks in [Speaks::Legacy, Speaks::Modern] {
        for client in others().into_iter().filter(|client| !is_told(speaks, client)) {
            let fake = Fake::new(speaks);
            let manager = manager(&fake, PerClient, 4);
            fake.tasks.is("input_required");
            let asked = manager.dispatch(required(&client)).await.unwrap();
            assert_eq!(manager.counts(&name("fake")).unwrap().parked, 1, "{speaks:?}");
            let follow_up = client.answering(required(&client), &asked, Some("yes"));
            let ending = tokio::spawn({
                let manager = manager.clone();
                async move { manager.dispatch(follow_up).await.unwrap() }
            });
            tokio::time::sleep(3 * SECOND).await;
            if speaks == Speaks::Modern {
                assert!(!ending.is_finished(), "it is not asked again what it has been told");
                assert_eq!(*fake.tasks.updates.lock().unwrap(), [r#"{"q":"yes"}"#]);
                fake.tasks.is("completed");
            }
            assert!([1, 7].contains(&answered_by(ending.await.unwrap())));
            tokio::time::sleep(SECOND).await;
            assert_eq!((fake.tasks.cancels.load(SeqCst), fake.parked.load(SeqCst)), (0, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_driven_task_is_cancelled_with_its_call_or_park() {
    for speaks in [Speaks::Legacy, Speaks::Modern] {
        let fake = Fake::new(speaks);
        let manager = manager(&fake, PerClient, 4);
        let client = legacy("a");
        let given_up = tokio::time::timeout(3 * SECOND, manager.dispatch(required(&client)));
        assert!(given_up.await.is_err());
        tokio::time::sleep(SECOND).await;
        assert_eq!(fake.tasks.cancels.load(SeqCst), 1, "{speaks:?}");
        fake.tasks.is("input_required");
        manager.dispatch(required(&client)).await.unwrap();
        tokio::time::sleep(11 * MINUTE).await;
        assert_eq!((fake.tasks.cancels.load(SeqCst), fake.parked.load(SeqCst)), (2, 0), "{speaks:?}");
        fake.tasks.is("working");
        let begun = Instant::now();
        let too_long = manager.dispatch(required(&client)).await;
        assert!(matches!(fault(too_long), DownstreamFault::TimedOut { .. }));
        assert!(begun.elapsed() <= 60 * MINUTE);
        tokio::time::sleep(SECOND).await;
        assert_eq!(fake.tasks.cancels.load(SeqCst), 3, "{speaks:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_driven_task_survives_faults_that_pass_and_no_others() {
    let passing = [
        crate::fake::unreachable(),
        DownstreamFault::Ended { reason: "a stream".into() }.during(&name("fake")),
        DownstreamFault::Status { status: 503 }.during(&name("fake")),
        DownstreamFault::Status { status: 429 }.during(&name("fake")),
        DownstreamFault::TimedOut { after: SECOND }.during(&name("fake")),
        CallerError::Overloaded { what: "requests", limit: 1 }.into(),
    ];
    let nonsense = DownstreamFault::Nonsense { reason: String::new() }.during(&name("fake"));
    let status = DownstreamFault::Status { status: 400 }.during(&name("fake"));
    let cases = passing.into_iter().flat_map(|fault| [(fault.clone(), 5, true), (fault, 6, false)]);
    for (fault, times, survives) in cases.chain([(nonsense, 1, false), (status, 1, false)]) {
        for speaks in [Speaks::Legacy, Speaks::Modern] {
            let fake = Fake::new(speaks);
            let manager = manager(&fake, PerClient, 4);
            let running = tokio::spawn({
                let (manager, call) = (manager.clone(), required(&legacy("a")));
                async move { manager.dispatch(call).await }
            });
            // Twice, with something that works between: it is those in a row that count.
            for _ in 0..2 {
                tokio::time::sleep(2 * SECOND).await;
                fake.tasks.fault(times, fault.clone());
                tokio::time::sleep(10 * SECOND).await;
            }
            assert_eq!(!running.is_finished(), survives, "{fault:?} {times} {speaks:?}");
            assert_eq!(fake.tasks.cancels.load(SeqCst), usize::from(!survives), "{fault:?} {times}");
            if survives {
                fake.tasks.is("completed");
                fake.tasks.fault(times, fault.clone());
                assert_eq!(answered_by(running.await.unwrap().unwrap()), 7, "{fault:?}");
            }
        }
    }
}

#[derive(Default)]
struct Progress(Mutex<Vec<String>>);

impl EventSink for Progress {
    fn emit(&self, event: Event) {
        if let Event::Progress(params) = event {
            self.0.lock().unwrap().push(params.as_str().to_owned());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_driven_task_says_is_its_progress() {
    for wants_progress in [true, false] {
        let fake = Fake::new(Speaks::Legacy);
        let manager = manager(&fake, PerClient, 4);
        let progress = Arc::<Progress>::default();
        let mut call = required(&legacy("a"));
        (call.exchange.wants_progress, call.exchange.events) = (wants_progress, progress.clone());
        let running = tokio::spawn({
            let manager = manager.clone();
            async move { manager.dispatch(call).await.unwrap() }
        });
        tokio::time::sleep(3 * SECOND).await;
        fake.tasks.says("halfway");
        tokio::time::sleep(3 * SECOND).await;
        fake.tasks.is("completed");
        running.await.unwrap();
        let told = [1, 2].map(|n| {
            let message = ["begun", "halfway"][n - 1];
            format!(r#"{{"progressToken":0,"progress":{n},"message":"{message}"}}"#)
        });
        let expected = if wants_progress { told.to_vec() } else { Vec::new() };
        assert_eq!(*progress.0.lock().unwrap(), expected);
    }
}
