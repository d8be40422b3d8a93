use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    Asker, Call, Caller, CallerError, ClientCapabilities, Dispatcher, DownstreamFault, DownstreamName, Era,
    Error, Event, EventSink, Exchange, FollowUp, InputRequired, OperatorError, Outcome, Params, ParkId,
    PeerError, RawJson, RawObject, SessionKey, State, Subject, Target, TaskAct, TaskHandle, View,
};

use super::super::{LiveRedactor, NamedSecret, Redact, RedactSettings, RedactorConfig};

const SECRET: &str = "hunter22";

/// Answers every call with the same, says something meanwhile, and keeps what it was asked.
struct Downstream {
    answer: Result<Outcome, Error>,
    asked: Mutex<Vec<Call>>,
}

#[async_trait]
impl Dispatcher for Downstream {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let said = object(r#"{"progressToken":7,"message":"hunter22","progress":1.0}"#);
        call.exchange.events.emit(Event::Progress(said.clone()));
        call.exchange.events.emit(Event::Log(said));
        self.asked.lock().unwrap().push(call);
        self.answer.clone()
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        let (Event::Progress(params) | Event::Log(params)) = event;
        self.0.lock().unwrap().push(params.as_str().to_owned());
    }
}

/// What came of a call.
struct Passed {
    outcome: Result<Outcome, Error>,
    asked: Call,
    heard: Vec<String>,
    redactions: u64,
    is_truncated: bool,
}

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn call(subject: Subject, params: &str) -> Call {
    let caller = Caller::client("ann");
    let session = SessionKey::Modern { caller: caller.clone(), capabilities: ClientCapabilities::none() };
    let object = object(params);
    Call {
        target: Target::Exposed { view: View::All, subject },
        params: Params { meta: object.get_object("_meta"), object },
        follow_up: None,
        caller,
        exchange: Exchange::quiet(Era::Modern, session, ClientCapabilities::none()),
        origin: None,
    }
}

fn plain_call() -> Call {
    call(Subject::tool("t"), r#"{"name":"t","arguments":{}}"#)
}

async fn pass(settings: RedactSettings, mut call: Call, answer: Result<Outcome, Error>) -> Passed {
    let secrets = vec![NamedSecret { name: "s".to_owned(), value: SECRET.into() }];
    let config = RedactorConfig { secrets, ..RedactorConfig::default() };
    let redactor = Arc::new(LiveRedactor::new(config, settings).unwrap());
    let downstream = Arc::new(Downstream { answer, asked: Mutex::default() });
    let heard = Arc::new(Heard::default());
    call.exchange.events = heard.clone();
    let notes = call.exchange.notes.clone();
    let outcome = Redact::new(redactor, downstream.clone()).dispatch(call).await;
    let heard = heard.0.lock().unwrap().clone();
    Passed {
        outcome,
        asked: downstream.asked.lock().unwrap().remove(0),
        heard,
        // What was said meanwhile is counted too.
        redactions: notes.redactions() - if settings.results { 2 } else { 0 },
        is_truncated: notes.is_truncated(),
    }
}

async fn answered(answer: Outcome) -> (Outcome, u64) {
    let passed = pass(RedactSettings::default(), plain_call(), Ok(answer)).await;
    (passed.outcome.unwrap(), passed.redactions)
}

fn complete(text: &str) -> Result<Outcome, Error> {
    Ok(Outcome::Complete(object(text)))
}

#[tokio::test]
async fn arguments_and_answers_are_redacted_and_not_counted() {
    let mut call = call(
        Subject::tool("hunter22"),
        r#"{"name":"hunter22","arguments":{"a":"hunter22","n":1.0},"_meta":{"progressToken":"hunter22"},"x":"-hunter22"}"#,
    );
    call.follow_up = Some(FollowUp {
        asker: Asker::Workflow("w".into()),
        state: State::Own(RawJson::string("hunter22")),
        responses: object(r#"{"q":{"action":"accept","content":{"p":"hunter22"}}}"#),
    });
    let passed = pass(RedactSettings::default(), call, complete("{}")).await;
    assert_eq!(
        passed.asked.params.object.as_str(),
        r#"{"name":"hunter22","arguments":{"a":"[REDACTED]","n":1.0},"_meta":{"progressToken":"hunter22"},"x":"-[REDACTED]"}"#
    );
    let follow_up = passed.asked.follow_up.unwrap();
    assert_eq!(follow_up.responses.as_str(), r#"{"q":{"action":"accept","content":{"p":"[REDACTED]"}}}"#);
    assert!(matches!(follow_up.state, State::Own(state) if state.as_str() == "\"hunter22\""));
    assert_eq!(passed.asked.params.meta.unwrap().as_str(), r#"{"progressToken":"hunter22"}"#);
    assert!(
        matches!(passed.asked.target, Target::Exposed { subject: Subject::Tool { name, .. }, .. } if &*name == SECRET)
    );
    assert_eq!(passed.redactions, 0);
}

#[tokio::test]
async fn results_and_what_is_said_meanwhile_are_redacted_and_counted() {
    let result =
        r#"{"content":[{"type":"text","text":"a hunter22 b"}],"structuredContent":{"k":"hunter22"}}"#;
    let passed = pass(RedactSettings::default(), plain_call(), complete(result)).await;
    let Ok(Outcome::Complete(result)) = passed.outcome else { panic!("{:?}", passed.outcome) };
    assert_eq!(
        result.as_str(),
        r#"{"content":[{"type":"text","text":"a [REDACTED] b"}],"structuredContent":{"k":"[REDACTED]"}}"#
    );
    assert_eq!(passed.redactions, 2);
    assert_eq!(passed.heard, [r#"{"progressToken":7,"message":"[REDACTED]","progress":1.0}"#; 2]);
    assert!(!passed.is_truncated);
}

#[tokio::test]
async fn each_way_can_be_left_alone() {
    let leaking = r#"{"a":"hunter22"}"#;
    for (arguments, results) in [(true, false), (false, true), (false, false)] {
        let settings = RedactSettings { arguments, results, ..RedactSettings::default() };
        let call = call(Subject::tool("t"), r#"{"arguments":{"a":"hunter22"}}"#);
        let passed = pass(settings, call, complete(leaking)).await;
        let Ok(Outcome::Complete(result)) = passed.outcome else { panic!("{:?}", passed.outcome) };
        assert_eq!(passed.asked.params.object.raw().mentions(SECRET.as_bytes()), !arguments);
        assert_eq!(result.raw().mentions(SECRET.as_bytes()), !results);
        assert_eq!(passed.heard[0].contains(SECRET), !results);
        assert_eq!(passed.redactions, u64::from(results));
    }
}

#[tokio::test]
async fn a_downstreams_error_keeps_code_and_data() {
    let error = object(
        r#"{"code":-32042,"message":"no hunter22","data":{"kind":"k","n":1.0,"of":["hunter22"]},"x":1}"#,
    );
    let (outcome, redactions) = answered(Outcome::Failed(PeerError::new(error).unwrap())).await;
    let Outcome::Failed(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!((error.code, redactions), (-32042, 2));
    assert_eq!(
        error.raw.as_str(),
        r#"{"code":-32042,"message":"no [REDACTED]","data":{"kind":"k","n":1.0,"of":["[REDACTED]"]},"x":1}"#
    );
}

#[tokio::test]
async fn questions_and_tasks_are_redacted_but_not_what_they_go_on_with() {
    let requests = object(r#"{"q":{"method":"elicitation/create","params":{"message":"is it hunter22?"}}}"#);
    let asker = Some(Asker::Workflow("w".into()));
    let state = State::Parked(ParkId("hunter22".into()));
    let (outcome, redactions) = answered(Outcome::InputRequired(InputRequired {
        asker: asker.clone(),
        requests: Some(requests),
        state,
    }))
    .await;
    let Outcome::InputRequired(input) = outcome else { panic!("{outcome:?}") };
    assert_eq!(
        input.requests.unwrap().as_str(),
        r#"{"q":{"method":"elicitation/create","params":{"message":"is it [REDACTED]?"}}}"#
    );
    assert!(matches!(input.state, State::Parked(ParkId(id)) if &*id == SECRET));
    assert_eq!((input.asker, redactions), (asker, 1));

    let downstream = Some(DownstreamName::parse("d").unwrap());
    let task = object(r#"{"taskId":"1","statusMessage":"hunter22"}"#);
    let (outcome, redactions) =
        answered(Outcome::Task(TaskHandle { downstream: downstream.clone(), tool: None, object: task }))
            .await;
    let Outcome::Task(task) = outcome else { panic!("{outcome:?}") };
    assert_eq!(task.object.as_str(), r#"{"taskId":"1","statusMessage":"[REDACTED]"}"#);
    assert_eq!((task.downstream, redactions), (downstream, 1));
}

/// Each error that holds words of others, with these.
fn errors_that_say(words: &str) -> Vec<Error> {
    let (text, downstream) = (|| words.to_owned(), DownstreamName::parse("d").unwrap());
    let of_callers = [
        CallerError::UnknownTool { name: text() },
        CallerError::UnknownDownstream { name: text() },
        CallerError::UnknownPrompt { name: text() },
        CallerError::UnknownResource { uri: text() },
        CallerError::UnknownMethod { method: text() },
        CallerError::Unanswered { reason: text() },
        CallerError::InvalidParams { reason: text() },
        CallerError::InsufficientScope { scopes: vec!["s".to_owned(), text()] },
        CallerError::MissingCapability { required: RawJson::string(words) },
    ];
    let of_downstreams = [
        DownstreamFault::Unreachable { reason: text() },
        DownstreamFault::Ended { reason: text() },
        DownstreamFault::Handshake { reason: text() },
        DownstreamFault::Nonsense { reason: text() },
        DownstreamFault::Credentials { reason: text(), visit: None },
        DownstreamFault::Broken { retry_in: Duration::from_secs(3), reason: text() },
    ];
    let of_operators = [OperatorError::Configuration { reason: text() }];
    let of_downstreams = of_downstreams.map(|fault| fault.during(&downstream));
    of_callers
        .map(Error::from)
        .into_iter()
        .chain(of_downstreams)
        .chain(of_operators.map(Error::from))
        .collect()
}

#[tokio::test]
async fn errors_keep_their_kind() {
    for (error, expected) in errors_that_say("is hunter22").into_iter().zip(errors_that_say("is [REDACTED]"))
    {
        let passed = pass(RedactSettings::default(), plain_call(), Err(error)).await;
        assert_eq!((passed.outcome.unwrap_err(), passed.redactions), (expected, 1));
    }
    let downstream = DownstreamName::parse("d").unwrap();
    let exhausted = DownstreamFault::Exhausted { max: 3 }.before(&downstream);
    let passed = pass(RedactSettings::default(), plain_call(), Err(exhausted.clone())).await;
    assert_eq!((passed.outcome.unwrap_err(), passed.redactions), (exhausted, 0));
}

fn bounded(limit: usize, keep: usize) -> RedactSettings {
    RedactSettings { max_result_bytes: Some(limit), keep, ..RedactSettings::default() }
}

#[tokio::test]
async fn a_result_that_is_too_large_is_replaced_unscanned() {
    let result = |text: &str| {
        format!(r#"{{"content":[{{"type":"image","data":"hunter22"}} , {{"type":"text","text":"{text}"}}]}}"#)
    };
    let size = result("").len();
    for (text, keep, shown, redactions) in [
        ("ab\\ncdef", 4, Some("ab\\nc"), 0),
        ("ab\\ncdef", 0, None, 0),
        ("ab\\ncdef", 100, Some("ab\\ncdef"), 0),
        ("éé", 3, Some("é"), 0),
        ("a hunter22 b hunter22", 12, Some("a [REDACTED] b"), 1),
        // It is not cut in two, wherever the end is.
        ("a hunter22 b", 3, Some("a [REDACTED]"), 1),
        ("a hunter22 b", 9, Some("a [REDACTED]"), 1),
        ("a hunter22 b", 10, Some("a [REDACTED]"), 1),
        ("a hunter22 b", 2, Some("a "), 0),
        ("a \\u0068unter22 b", 4, Some("a [REDACTED]"), 1),
        ("a \\u0068\\u0075\\u006e\\u0074\\u0065\\u0072\\u0032\\u0032 b", 3, Some("a [REDACTED]"), 1),
    ] {
        let whole = result(text);
        let passed = pass(bounded(size, keep), plain_call(), complete(&whole)).await;
        let Ok(Outcome::Complete(replaced)) = passed.outcome else { panic!("{:?}", passed.outcome) };
        let sizes = format!("The result has {} bytes; the limit is {size} bytes.", whole.len());
        let shown = shown
            .map(|shown| format!(r#",{{"type":"text","text":"The first text in it begins:\n{shown}"}}"#))
            .unwrap_or_default();
        assert_eq!(
            replaced.as_str(),
            format!(r#"{{"content":[{{"type":"text","text":"{sizes}"}}{shown}],"isError":true}}"#),
        );
        assert_eq!((passed.redactions, passed.is_truncated), (redactions, true), "{text}");
    }
    let fits = pass(bounded(size + 1, 9), plain_call(), complete(&result("x"))).await;
    assert!(!fits.is_truncated);
}

#[tokio::test]
async fn whatever_is_too_large_says_so_in_a_way_of_its_method() {
    let large = object(r#"{"contents":[{"uri":"a:b","text":"hunter22"}]}"#);
    let size = large.raw().as_bytes().len();
    for subject in [
        Subject::Resource { uri: "a:b".into() },
        Subject::Prompt { name: "p".into() },
        Subject::Task { id: "1".into(), act: TaskAct::Get, tool: None },
    ] {
        let passed = pass(bounded(8, 9), call(subject, "{}"), Ok(Outcome::Complete(large.clone()))).await;
        let Ok(Outcome::Failed(error)) = passed.outcome else { panic!("{:?}", passed.outcome) };
        assert_eq!(
            error.raw.as_str(),
            format!(
                r#"{{"code":-32603,"message":"The result has {size} bytes; the limit is 8 bytes.","data":{{"kind":"result_too_large","bytes":{size},"limit":8}}}}"#
            )
        );
        assert_eq!((error.code, passed.is_truncated, passed.redactions), (-32603, true, 0));
    }
    let error = object(r#"{"code":-7,"message":"no hunter22 here","data":{"a":"hunter22"}}"#);
    let passed = pass(bounded(8, 4), plain_call(), Ok(Outcome::Failed(PeerError::new(error).unwrap()))).await;
    let Ok(Outcome::Failed(error)) = passed.outcome else { panic!("{:?}", passed.outcome) };
    assert_eq!(
        error.raw.as_str(),
        r#"{"code":-7,"message":"The error has 64 bytes; the limit is 8 bytes. It begins: no [REDACTED]","data":{"kind":"error_too_large","bytes":64,"limit":8}}"#
    );
    assert_eq!((error.code, passed.is_truncated, passed.redactions), (-7, true, 1));
}

#[tokio::test]
async fn results_without_text_show_none() {
    for result in [
        r#"{"content":"hunter22"}"#,
        r#"{"content":[]      }"#,
        r#"{"content":[7,{"text":7}]}"#,
        r#"{"a":"0123456789"}"#,
    ] {
        let passed = pass(bounded(8, 9), plain_call(), complete(result)).await;
        let Ok(Outcome::Complete(replaced)) = passed.outcome else { panic!("{:?}", passed.outcome) };
        assert_eq!(
            replaced.as_str(),
            format!(
                r#"{{"content":[{{"type":"text","text":"The result has {} bytes; the limit is 8 bytes."}}],"isError":true}}"#,
                result.len()
            )
        );
    }
}

/// Learns a secret while a call runs.
struct Learning(Arc<LiveRedactor>);

#[async_trait]
impl Dispatcher for Learning {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.0.learn("token-of-today");
        call.exchange.events.emit(Event::Log(object(r#"{"data":"token-of-today"}"#)));
        complete(r#"{"a":"token-of-today"}"#)
    }
}

#[tokio::test]
async fn what_is_learnt_in_a_call_is_not_told_in_its_answer() {
    let settings = RedactSettings::default();
    let redactor = Arc::new(LiveRedactor::new(RedactorConfig::default(), settings).unwrap());
    let heard = Arc::new(Heard::default());
    let mut call = plain_call();
    call.exchange.events = heard.clone();
    let stage = Redact::new(redactor.clone(), Learning(redactor));
    let Ok(Outcome::Complete(result)) = stage.dispatch(call).await else { panic!() };
    assert_eq!(result.as_str(), r#"{"a":"[REDACTED]"}"#);
    assert_eq!(*heard.0.lock().unwrap(), [r#"{"data":"[REDACTED]"}"#]);
}
