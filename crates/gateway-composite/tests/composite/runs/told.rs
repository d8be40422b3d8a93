//! What others are told of a run: stores, observers, and clients that want to know how far it is.

use super::*;

/// Fails, or never comes to an end, or breaks off.
enum BadStore {
    Fails,
    Hangs,
    Panics,
}

#[async_trait]
impl StateStore for BadStore {
    async fn save(&self, _: &RunRecord) -> Result<(), StateError> {
        match self {
            Self::Fails => Err(StateError::Store { reason: "full".to_owned() }),
            Self::Hangs => std::future::pending().await,
            Self::Panics => panic!("a store that panics"),
        }
    }

    async fn load(&self, id: &str) -> Result<RunRecord, StateError> {
        Err(StateError::NotFound { id: id.into() })
    }

    async fn delete(&self, id: &str) -> Result<(), StateError> {
        Err(StateError::NotFound { id: id.into() })
    }

    async fn list_active(&self) -> Result<Vec<RunRecord>, StateError> {
        Ok(Vec::new())
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_work_fails_no_run_and_holds_it_up_for_5_seconds_at_most() {
    for (store, seconds) in [(BadStore::Fails, 0), (BadStore::Hangs, 5), (BadStore::Panics, 0)] {
        let tools = Tools::default();
        let composer = composer(&tools, ComposerConfig::default()).with_store(Arc::new(store));
        let steps = [step("a", &[], r#"{"ms":10}"#, ""), step("b", &["a"], r#"{"ms":10}"#, "")];
        let since = Instant::now();
        let result = end(&mut begin(&composer, &tools, &steps, "")).await;
        assert_eq!(result.status(), RunStatus::Completed);
        assert_eq!(since.elapsed().as_secs(), seconds);
        assert!(tools.seen_of("b")[0].from - since < Duration::from_millis(20));
    }
}

/// Remembers every record that was saved.
#[derive(Default)]
struct History(MemoryStore, Mutex<Vec<RunStatus>>);

#[async_trait]
impl StateStore for History {
    async fn save(&self, record: &RunRecord) -> Result<(), StateError> {
        {
            let mut saved = self.1.lock().unwrap();
            saved.push(record.status);
            saved.dedup();
        }
        self.0.save(record).await
    }

    async fn load(&self, id: &str) -> Result<RunRecord, StateError> {
        self.0.load(id).await
    }

    async fn delete(&self, id: &str) -> Result<(), StateError> {
        self.0.delete(id).await
    }

    async fn list_active(&self) -> Result<Vec<RunRecord>, StateError> {
        self.0.list_active().await
    }
}

/// A tool that has much to say of its failure.
struct Wordy;

#[async_trait]
impl Dispatcher for Wordy {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        let words = "x".repeat(900);
        let result = format!(r#"{{"content":[{{"type":"text","text":"{words}"}}],"isError":true}}"#);
        Ok(Outcome::Complete(object(&result)))
    }
}

#[tokio::test(start_paused = true)]
async fn why_a_step_failed_is_cut_in_records_and_whole_in_templates() {
    let composer = Composer::new(ComposerConfig::default(), Arc::new(Wordy));
    let output = r#","output":{"properties":{
        "why":{"type":"string","description":"It.","value":"{{ steps.a.error }}"}}}"#;
    let steps = [step("a", &[], "{}", r#","onError":{"action":"continue"}"#)];
    let mut run = begin(&composer, &Tools::default(), &steps, output);
    let result = end(&mut run).await;
    assert!(result.outcome.unwrap().get_text("why").unwrap().len() > 900);
    let record = composer.status(run.id()).await.unwrap();
    assert_eq!(record.steps, result.steps);
    let told = record.steps[0].error.as_deref().unwrap();
    assert_eq!((told.chars().count(), told.ends_with('…')), (201, true));
}

#[tokio::test(start_paused = true)]
async fn a_record_is_saved_at_the_start_while_waiting_and_at_the_end() {
    let tools = Tools::default();
    let history = Arc::new(History::default());
    let heard = Arc::new(Heard::default());
    let composer = composer(&tools, ComposerConfig::default());
    let composer = composer.with_store(history.clone()).with_observer(heard.clone());
    let mut run =
        begin(&composer, &tools, &[question("q", &[], ""), step("a", &["q"], r#"{"ms":10}"#, "")], "");
    asks(&mut run).await;
    run.answer(&object(r#"{"q.question":{"action":"accept"}}"#), exchange(FORMS));
    end(&mut run).await;
    let saved: Vec<_> = history.1.lock().unwrap().clone();
    use RunStatus::{Completed, Running, WaitingForElicitation};
    assert_eq!(saved, [Running, WaitingForElicitation, Running, Completed]);
    let heard: Vec<_> = std::mem::take(&mut *heard.0.lock().unwrap());
    let waits = heard.iter().filter(|event| event.starts_with("RunSus") || event.starts_with("RunRes"));
    assert_eq!(waits.collect::<Vec<_>>(), ["RunSuspended", "RunResumed"]);
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Observer for Heard {
    fn observe(&self, event: &RunEvent<'_>) {
        assert_eq!(event.caller.to_string(), "c");
        let text = match &event.kind {
            RunEventKind::Step { step, kind: StepEventKind::Completed { after, retries } } => {
                format!("{step} completed after {} ms, {retries} retries", after.as_millis() / 10 * 10)
            }
            RunEventKind::Step { step, kind: StepEventKind::Failed { is_forgiven, error, .. } } => {
                format!("{step} failed, {is_forgiven}: {error}")
            }
            RunEventKind::Step { step, kind: StepEventKind::Cancelled { .. } } => format!("{step} cancelled"),
            RunEventKind::Step { step, kind } => format!("{step} {kind:?}"),
            RunEventKind::RunCompleted { failed_steps, .. } => format!("completed, {failed_steps} failed"),
            RunEventKind::RunFailed { error, .. } => format!("failed: {error}"),
            RunEventKind::RunCancelled { .. } => "cancelled".to_owned(),
            RunEventKind::RunTimedOut { .. } => "timed out".to_owned(),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(text);
    }
}

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        if let Event::Progress(params) = event {
            let part = |name| params.get(name).unwrap().to_string();
            self.0.lock().unwrap().push(format!("{} of {}", part("progress"), part("total")));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_of_everything_in_order() {
    let forgiven = r#","onError":{"action":"continue"}"#;
    let steps = [
        step("a", &[], r#"{"ms":50}"#, ""),
        step("b", &["a"], r#"{"fail":"always"}"#, forgiven),
        step("c", &["b"], "{}", r#","condition":"false""#),
        step("d", &["c"], r#"{"ms":20}"#, ""),
        step("e", &["c"], r#"{"ms":10,"fail":"always"}"#, ""),
    ];
    let tools = Tools::default();
    let heard = Arc::new(Heard::default());
    let composer = composer(&tools, ComposerConfig::default()).with_observer(heard.clone());
    end(&mut begin(&composer, &tools, &steps[..3], "")).await;
    assert_eq!(
        std::mem::take(&mut *heard.0.lock().unwrap()),
        [
            "RunStarted",
            "a Started",
            "a completed after 50 ms, 0 retries",
            "b Started",
            "b failed, true: tool `t__work` failed: it failed",
            "c Started",
            "c Skipped",
            "completed, 1 failed",
        ]
    );
    end(&mut begin(&composer, &tools, &steps, "")).await;
    assert_eq!(
        heard.0.lock().unwrap()[7..],
        [
            "d Started",
            "e Started",
            "e failed, false: tool `t__work` failed: it failed",
            "d cancelled",
            "failed: step `e` failed: tool `t__work` failed: it failed",
        ]
    );
}

fn is_completed_step(kind: &RunEventKind<'_>) -> bool {
    matches!(kind, RunEventKind::Step { kind: StepEventKind::Completed { .. }, .. })
}

/// Hears the end of a run, and looks at what still runs then; or does not bear to hear it.
struct Auditor {
    tools: Tools,
    running: Mutex<Option<usize>>,
    panics: bool,
}

impl Observer for Auditor {
    fn observe(&self, event: &RunEvent<'_>) {
        if matches!(event.kind, RunEventKind::RunCancelled { .. } | RunEventKind::RunTimedOut { .. }) {
            *self.running.lock().unwrap() = Some(self.tools.running());
        }
        assert!(!(self.panics && is_completed_step(&event.kind)), "no nerves");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_is_told_when_everything_has_let_go_of_what_it_called() {
    let each = r#"{"id":"a","type":"forEach","collection":[1,2,3,4,5,6,7,8],"maxParallel":8,
        "step":{"tool":"t__work","arguments":{"ms":5000}}}"#;
    for step in [step("a", &[], r#"{"ms":5000}"#, ""), each.to_owned()] {
        for cancelled_after in [Some(500), None] {
            let tools = Tools::default();
            let auditor = Auditor { tools: tools.clone(), running: Mutex::default(), panics: false };
            let auditor = Arc::new(auditor);
            let composer = composer(&tools, ComposerConfig::default()).with_observer(auditor.clone());
            let mut run = begin(&composer, &tools, std::slice::from_ref(&step), r#","timeout":"1s""#);
            if let Some(after) = cancelled_after {
                sleep(Duration::from_millis(after)).await;
                assert!(tools.running() > 0);
                composer.cancel(run.id()).await.unwrap();
            }
            end(&mut run).await;
            assert_eq!(*auditor.running.lock().unwrap(), Some(0), "{step}");
        }
    }
}

/// Never answers, and takes a moment to let go. Hears how many calls are going on at the end of a run.
#[derive(Default)]
struct Sluggish {
    running: AtomicUsize,
    at_the_end: Mutex<Option<usize>>,
}

struct SlowToLetGo<'a>(&'a Sluggish);

impl Drop for SlowToLetGo<'_> {
    #[expect(clippy::disallowed_methods, reason = "it blocks one worker, so that others overtake it")]
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(50));
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Dispatcher for Sluggish {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let _call = SlowToLetGo(self);
        std::future::pending().await
    }
}

impl Observer for Sluggish {
    fn observe(&self, event: &RunEvent<'_>) {
        if matches!(event.kind, RunEventKind::RunCancelled { .. }) {
            *self.at_the_end.lock().unwrap() = Some(self.running.load(Ordering::SeqCst));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_end_waits_for_the_items_of_a_loop() {
    let each = r#"{"id":"a","type":"forEach","collection":[1,2],"step":{"tool":"t__work"}}"#;
    let sluggish = Arc::new(Sluggish::default());
    let composer = Composer::new(ComposerConfig::default(), sluggish.clone()).with_observer(sluggish.clone());
    let mut run = begin(&composer, &Tools::default(), &[each.to_owned()], "");
    while sluggish.running.load(Ordering::SeqCst) < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    composer.cancel(run.id()).await.unwrap();
    end(&mut run).await;
    assert_eq!(*sluggish.at_the_end.lock().unwrap(), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_breaks_off_ends_as_a_failure_and_leaves_nothing_behind() {
    let tools = Tools::default();
    let auditor = Arc::new(Auditor { tools: tools.clone(), running: Mutex::default(), panics: true });
    let composer = composer(&tools, ComposerConfig::default()).with_observer(auditor);
    let steps = [step("a", &[], "{}", ""), step("b", &[], r#"{"ms":5000}"#, "")];
    let mut run = begin(&composer, &tools, &steps, "");
    let result = end(&mut run).await;
    assert_eq!((result.status(), result.outcome), (RunStatus::Failed, Err(WorkflowError::Internal)));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(tools.running(), 0);
    let record = composer.status(run.id()).await.unwrap();
    let error = Some(WorkflowError::Internal.to_string());
    assert_eq!((record.status, record.error), (RunStatus::Failed, error));
    composer.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_it_is_told_how_far_the_run_is() {
    let each = r#"{"id":"each","type":"forEach","dependsOn":["a"],"collection":[1,2,3,4],"maxParallel":1,
        "step":{"tool":"t__work","arguments":{"ms":10}}}"#;
    let tools = Tools::default();
    let heard = Arc::new(Heard::default());
    let composer = composer(&tools, ComposerConfig::default());
    let mut context = context(&tools, "c", "{}");
    (context.exchange.wants_progress, context.exchange.events) = (true, heard.clone());
    let steps = [step("a", &[], "{}", ""), each.to_owned()];
    let mut run = composer.begin(workflow(&steps, ""), RawObject::empty(), context).unwrap();
    end(&mut run).await;
    let told = heard.0.lock().unwrap();
    assert_eq!(*told, ["1 of 2", "1.25 of 2", "1.50 of 2", "1.75 of 2", "1.99 of 2", "2 of 2"]);
}
