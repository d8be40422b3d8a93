//! Composite tools around a session (C-11 to C-15, C-W7, C-W24).

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_composite::{
    Decorator, Executed, StepRecord, StepStatus, ToolSession, WorkflowError, WorkflowExecutor, WorkflowResult,
};
use gateway_domain::{
    Asker, Call, Caller, CallerError, ClientCapabilities, Dispatcher, DownstreamFault, DownstreamName, Era,
    Error, Exchange, InputRequired, InternalError, Outcome, Params, ParkId, RawObject, SessionKey, State,
    Subject, Target, Tool, View,
};

/// A session that answers every call with its name.
#[derive(Debug, Default)]
struct Session {
    tools: Vec<Tool>,
    called: Mutex<Vec<Call>>,
}

impl ToolSession for Session {
    fn tools(&self) -> Cow<'_, [Tool]> {
        Cow::Borrowed(&self.tools)
    }
}

#[async_trait]
impl Dispatcher for Session {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.called.lock().expect("no panic").push(call);
        Ok(Outcome::Complete(RawObject::parse(r#"{"from":"session"}"#).expect("an object")))
    }
}

/// Always comes to the same.
struct Fixed(Mutex<Option<Result<Executed, Error>>>);

#[async_trait]
impl WorkflowExecutor for Fixed {
    async fn execute(&self, _: Call) -> Result<Executed, Error> {
        self.0.lock().expect("no panic").take().expect("called once")
    }
}

fn call(target: Target) -> Call {
    let session = SessionKey::Legacy { id: "s".into() };
    Call {
        target,
        params: Params {
            object: RawObject::parse(r#"{"name":"w","arguments":{"n":1.0},"_meta":{"k":1}}"#)
                .expect("an object"),
            meta: Some(RawObject::parse(r#"{"k":1}"#).expect("an object")),
        },
        follow_up: None,
        caller: Caller::client("c"),
        exchange: Exchange::quiet(Era::Legacy, session, ClientCapabilities::none()),
        origin: None,
    }
}

fn exposed(view: View, subject: Subject) -> Target {
    Target::Exposed { view, subject }
}

async fn executed(executed: Result<Executed, Error>) -> Result<Outcome, Error> {
    let fixed: Arc<dyn WorkflowExecutor> = Arc::new(Fixed(Mutex::new(Some(executed))));
    let decorator = Decorator::new(Session::default(), [Tool::new("w")], [("w".into(), fixed)]);
    decorator.dispatch(call(exposed(View::All, Subject::tool("w")))).await
}

fn result() -> WorkflowResult {
    WorkflowResult {
        run: "r-1".into(),
        workflow: "w".into(),
        outcome: Ok(RawObject::empty()),
        steps: Vec::new(),
    }
}

fn step(id: &str, status: StepStatus, error: Option<&str>) -> StepRecord {
    StepRecord { id: id.into(), status, retries: 0, error: error.map(str::to_owned) }
}

#[track_caller]
fn check(outcome: Result<Outcome, Error>, expected: &str) {
    match outcome {
        Ok(Outcome::Complete(result)) => assert_eq!(result.as_str(), expected),
        other => panic!("no result: {other:?}"),
    }
}

#[test]
fn composite_tools_follow_the_sessions_own() {
    let names = |tools: &[Tool]| tools.iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>();
    let session = || Session { tools: vec![Tool::new("b"), Tool::new("a")], called: Mutex::default() };
    let decorator = Decorator::new(session(), [Tool::new("y"), Tool::new("x")], []);
    assert_eq!(names(&decorator.tools()), ["b", "a", "y", "x"]);
    assert_eq!(names(&decorator.tools()), ["b", "a", "y", "x"], "nothing is added to the session's own");

    let decorator = Decorator::new(session(), [], []);
    assert!(matches!(decorator.tools(), Cow::Borrowed(own) if names(own) == ["b", "a"]));
}

#[tokio::test]
async fn only_calls_of_workflows_do_not_reach_the_session() {
    let w = || Subject::tool("w");
    let other_views = View::Downstream(DownstreamName::parse("d").expect("a name"));
    let targets = [
        exposed(View::All, Subject::tool("other")),
        exposed(other_views, w()),
        exposed(View::All, Subject::Prompt { name: "w".into() }),
        exposed(View::All, Subject::Resource { uri: "w".into() }),
        Target::Downstream { downstream: DownstreamName::parse("d").expect("a name"), subject: w() },
    ];
    let session = Arc::new(Session::default());
    struct Shared(Arc<Session>);
    #[async_trait]
    impl Dispatcher for Shared {
        async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
            self.0.dispatch(call).await
        }
    }
    let fixed: Arc<dyn WorkflowExecutor> = Arc::new(Fixed(Mutex::new(Some(Ok(Executed::Ended(None))))));
    let decorator = Decorator::new(Shared(session.clone()), [], [("w".into(), fixed)]);
    for target in targets {
        check(decorator.dispatch(call(target)).await, r#"{"from":"session"}"#);
    }
    {
        let called = session.called.lock().expect("no panic");
        assert_eq!(called.len(), 5);
        for passed in &*called {
            assert_eq!(
                passed.params.object.as_str(),
                r#"{"name":"w","arguments":{"n":1.0},"_meta":{"k":1}}"#
            );
            assert_eq!(passed.params.meta.as_ref().map(RawObject::as_str), Some(r#"{"k":1}"#));
            assert_eq!(passed.caller, Caller::client("c"));
        }
    }
    let outcome = decorator.dispatch(call(exposed(View::All, w()))).await;
    assert!(matches!(outcome, Ok(Outcome::Complete(_))));
    assert_eq!(session.called.lock().expect("no panic").len(), 5, "the session has not heard of it");
}

#[tokio::test]
async fn a_result_is_there_as_text_and_as_it_is() {
    let outcome = Ok(RawObject::parse(r#"{"n":9007199254740993,"s":"\"x\"","f":1.0}"#).expect("JSON"));
    check(
        executed(Ok(Executed::Ended(Some(WorkflowResult { outcome, ..result() })))).await,
        concat!(
            r#"{"content":[{"type":"text","text":"{\"n\":9007199254740993,\"s\":\"\\\"x\\\"\",\"f\":1.0}"}],"#,
            r#""structuredContent":{"n":9007199254740993,"s":"\"x\"","f":1.0},"#,
            r#""_meta":{"gatewayd/workflow":{"run":"r-1","status":"completed","failed":[],"skipped":[]}}}"#,
        ),
    );
}

#[tokio::test]
async fn steps_that_failed_or_were_skipped_show_in_the_result() {
    let steps = vec![
        step("a", StepStatus::Completed, None),
        step("b", StepStatus::Failed, Some("tool `d__t` failed: \"no\"\nat all")),
        step("c", StepStatus::Skipped, None),
    ];
    check(
        executed(Ok(Executed::Ended(Some(WorkflowResult { steps, ..result() })))).await,
        concat!(
            r#"{"content":[{"type":"text","text":"{}"},"#,
            r#"{"type":"text","text":"step `b` failed: tool `d__t` failed: \"no\" at all\nstep `c` was skipped"}],"#,
            r#""structuredContent":{},"_meta":{"gatewayd/workflow":{"run":"r-1","status":"completed","#,
            r#""failed":[{"step":"b","error":"tool `d__t` failed: \"no\" at all"}],"skipped":["c"]}}}"#,
        ),
    );
}

fn failed(text: &str, meta: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":true{meta}}}"#)
}

#[tokio::test]
async fn whatever_goes_wrong_is_a_result_that_says_so() {
    let nothing = "the workflow gave no result";
    check(executed(Ok(Executed::Ended(None))).await, &failed(nothing, ""));
    let meta = |status: &str, error: &str| {
        format!(
            r#","_meta":{{"gatewayd/workflow":{{"run":"r-1","status":"{status}",{error}"failed":[],"skipped":[]}}}}"#
        )
    };
    let timed_out = "the workflow timed out: it took longer than it may, and was ended";
    let timed_out = failed(timed_out, &meta("timed_out", r#""error":"workflow_timeout","#));
    let after = |seconds| WorkflowError::TimedOut { after: Duration::from_secs(seconds) };
    // As deep as a value may be: in a result it would be deeper.
    let depth = gateway_domain::DEPTH_LIMIT - 1;
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let too_deep = "the workflow's output is nested too deep for a result to hold it";
    for (outcome, expected) in [
        (Err(after(1)), timed_out.clone()),
        // The same text however long it took.
        (Err(after(1800)), timed_out),
        (
            Err(WorkflowError::Cancelled),
            failed("the workflow was cancelled", &meta("cancelled", r#""error":"workflow_cancelled","#)),
        ),
        (
            Err(WorkflowError::InvalidParameters { reason: "no \"n\"".into() }),
            failed(r#"invalid arguments: no \"n\""#, &meta("failed", r#""error":"invalid_parameters","#)),
        ),
        (Ok(RawObject::parse(deep).expect("an object")), failed(too_deep, &meta("completed", ""))),
    ] {
        let result = WorkflowResult { outcome, ..result() };
        check(executed(Ok(Executed::Ended(Some(result)))).await, &expected);
    }
}

#[tokio::test]
async fn what_an_executor_fails_with_is_a_result_unless_it_is_the_callers_fault() {
    let downstream = DownstreamName::parse("d").expect("a name");
    let fault = DownstreamFault::Unreachable { reason: "https://secret.example:1/".into() };
    check(executed(Err(fault.before(&downstream))).await, &failed("downstream `d` cannot be reached", ""));
    check(executed(Err(InternalError { what: "x" }.into())).await, &failed("internal error", ""));
    for error in [
        CallerError::UnknownTool { name: "w".into() },
        CallerError::Overloaded { what: "runs", limit: 1 },
        CallerError::UnknownState,
        CallerError::Cancelled,
        CallerError::MissingCapability { required: RawObject::empty().raw().clone() },
    ] {
        let outcome = executed(Err(error.clone().into())).await;
        assert_eq!(outcome.expect_err("the caller's fault"), error.into());
    }
}

#[tokio::test]
async fn texts_of_failures_are_cut() {
    let long = "é".repeat(10_000);
    let error = WorkflowError::InvalidParameters { reason: long.clone() };
    let outcome = executed(Ok(Executed::Ended(Some(WorkflowResult {
        outcome: Err(error),
        steps: vec![step("a", StepStatus::Failed, Some(&long))],
        ..result()
    }))));
    let Ok(Outcome::Complete(result)) = outcome.await else { panic!("no result") };
    assert!(result.as_str().contains('…'));
    assert!(result.as_str().chars().count() < 5_000);
}

#[tokio::test]
async fn questions_go_to_the_client() {
    let asker = Some(Asker::Workflow("w".into()));
    let requests = Some(RawObject::parse(r#"{"ask.q":{"method":"elicitation/create"}}"#).expect("an object"));
    let asks = InputRequired {
        asker: asker.clone(),
        requests: requests.clone(),
        state: State::Parked(ParkId("p".into())),
    };
    let outcome = executed(Ok(Executed::Asks(asks))).await;
    let Ok(Outcome::InputRequired(asked)) = outcome else { panic!("nothing is asked") };
    assert_eq!((asked.asker, asked.requests), (asker, requests));
    assert!(matches!(asked.state, State::Parked(park) if *park.0 == *"p"));
}
