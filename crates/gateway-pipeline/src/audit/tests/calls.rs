//! One record per call, whatever happens (P-34, P-35, P-38, P-W8).

use std::panic::AssertUnwindSafe;

use gateway_domain::{
    Asker, Call, Caller, Decision, Dispatcher, DownstreamFault, DownstreamName, FollowUp, Grants, Origin,
    PeerError, Reference, State as Following, Subject, Target, TaskAct, TraceContext, View,
};

use super::*;
use crate::testing::{Fake, call, call_of, complete};

fn files() -> DownstreamName {
    DownstreamName::parse("files").unwrap()
}

/// The record of one call that is answered so.
async fn record_of(
    call: Call,
    answer: impl Fn(Call) -> Result<Outcome, Error> + Send + Sync + 'static,
) -> (Result<Outcome, Error>, RawObject) {
    let (log, memory) = started(&AuditConfig::default());
    let result = Audit::new(log.clone(), Fake::now(answer)).dispatch(call).await;
    log.close().await;
    let records = memory.records();
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(counts(&log), [1, 0, 0, 0]);
    (result, records[0].clone())
}

fn members(record: &RawObject, names: &[&str]) -> String {
    let member = |name: &&str| record.get(name).map_or_else(|| "-".to_owned(), |value| value.to_string());
    names.iter().map(member).collect::<Vec<_>>().join(" ")
}

type Answer = fn(Call) -> Result<Outcome, Error>;

fn noted(call: &Call, decision: Decision) {
    call.exchange.notes.resolved(&files());
    call.exchange.notes.decided(decision);
}

/// What happens to a call, and decision, allowed, breaker_state, redactions, truncated, error and downstream of its record.
const OUTCOMES: &[(&str, Answer, &str)] = &[
    (
        "allowed",
        |call| {
            noted(&call, Decision::Allowed);
            complete("{}")
        },
        r#""allowed" true "closed" 0 false null "files""#,
    ),
    ("answered without any rules", |_| complete("{}"), r#""allowed" true "closed" 0 false null -"#),
    (
        "a tool that says it failed",
        |_| complete(r#"{"isError":true}"#),
        r#""allowed" true "closed" 0 false "tool_error" -"#,
    ),
    (
        "an error of the downstream",
        |_| Ok(Outcome::Failed(PeerError::new(object(r#"{"code":1}"#)).unwrap())),
        r#""allowed" true "closed" 0 false "peer_error" -"#,
    ),
    (
        "P-35: denied",
        |call| {
            noted(&call, Decision::Denied);
            Err(unknown("t"))
        },
        r#""denied_explicit" false "closed" 0 false "unknown_tool" "files""#,
    ),
    ("P-W8: unknown", |_| Err(unknown("t")), r#""denied_default" false "closed" 0 false "unknown_tool" -"#),
    (
        "a scope is missing though a rule allows it",
        |call| {
            noted(&call, Decision::Allowed);
            Err(CallerError::InsufficientScope { scopes: vec!["s".to_owned()] }.into())
        },
        r#""denied_default" false "closed" 0 false "insufficient_scope" "files""#,
    ),
    (
        "stopped before it was decided",
        |_| Err(CallerError::InvalidCursor.into()),
        r#""denied_default" false "closed" 0 false "invalid_cursor" -"#,
    ),
    (
        "too many",
        |call| {
            noted(&call, Decision::Allowed);
            Err(CallerError::RateLimited { of: "of this tool", retry_in: MILLI }.into())
        },
        r#""allowed" true "closed" 0 false "rate_limited" "files""#,
    ),
    (
        "P-38: shed by the breaker",
        |_| Err(DownstreamFault::Broken { retry_in: MILLI, reason: "secret".to_owned() }.before(&files())),
        r#""allowed" true "open" 0 false "downstream_broken" "files""#,
    ),
    (
        "any other failure",
        |_| Err(DownstreamFault::TimedOut { after: MILLI }.during(&files())),
        r#""allowed" true "closed" 0 false "downstream_timeout" "files""#,
    ),
    (
        "redacted and replaced",
        |call| {
            call.exchange.notes.redacted(3);
            call.exchange.notes.truncated();
            complete("{}")
        },
        r#""allowed" true "closed" 3 true null -"#,
    ),
];

#[tokio::test]
async fn each_outcome_has_one_record_that_says_it() {
    let names = ["decision", "allowed", "breaker_state", "redactions", "truncated", "error", "downstream"];
    for (what, answer, expected) in OUTCOMES {
        let (result, record) = record_of(call("t"), answer).await;
        assert_eq!(members(&record, &names), *expected, "{what}");
        let expected = answer(call("t"));
        assert_eq!(format!("{result:?}"), format!("{expected:?}"), "{what}: nothing is changed");
    }
}

#[tokio::test]
async fn a_record_names_what_the_client_named() {
    let name = || "n".into();
    let rows = [
        (Subject::tool("a\nb"), r#""a\u000ab" "tools/call""#),
        (Subject::Prompt { name: name() }, r#""n" "prompts/get""#),
        (Subject::Resource { uri: "file:///x".into() }, r#""file:///x" "resources/read""#),
        (Subject::Completion(Reference::Prompt(name())), r#""n" "completion/complete""#),
        (Subject::Completion(Reference::Resource(name())), r#""n" "completion/complete""#),
        (Subject::Task { id: name(), act: TaskAct::Get, tool: None }, r#"null "tasks/get""#),
        (Subject::Task { id: name(), act: TaskAct::Update, tool: None }, r#"null "tasks/update""#),
        (Subject::Task { id: name(), act: TaskAct::Cancel, tool: None }, r#"null "tasks/cancel""#),
        (Subject::Other { method: "x/y".into() }, r#"null "x/y""#),
    ];
    for (subject, expected) in rows {
        let (_, record) = record_of(call_of(Caller::anonymous(), subject), |_| complete("{}")).await;
        assert_eq!(members(&record, &["tool", "method"]), expected);
    }
}

#[tokio::test]
async fn a_record_names_who_called_and_from_where() {
    let rows = [
        (Caller::anonymous(), r#""anonymous""#),
        (Caller::client("desk"), r#""desk""#),
        (Caller::user("https://i", "ann", Grants::default()), r#""ann at https://i""#),
    ];
    for (caller, expected) in rows {
        let mut call = call_of(caller, Subject::tool("t"));
        call.origin = Some(Origin { workflow: "w".into(), run: "r".into(), step: "s".into() });
        call.exchange.trace = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let Target::Exposed { view, .. } = &mut call.target else { unreachable!() };
        *view = View::Downstream(files());
        call.follow_up = Some(FollowUp {
            asker: Asker::Downstream(files()),
            state: Following::None,
            responses: object("{}"),
        });
        let (_, record) = record_of(call, |_| Err(unknown("t"))).await;
        assert_eq!(
            members(&record, &["client", "downstream", "workflow", "run", "step", "trace_id"]),
            format!(r#"{expected} "files" "w" "r" "s" "4bf92f3577b34da6a3ce929d0e0e4736""#)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn latency_is_what_the_call_took() {
    let (log, memory) = started(&AuditConfig::default());
    let slow = Fake::new(|_| async {
        sleep(1500 * MILLI).await;
        complete("{}")
    });
    Audit::new(log.clone(), slow).dispatch(call("t")).await.unwrap();
    log.close().await;
    assert_eq!(memory.text("latency_ms"), ["1500.000"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_has_its_record() {
    let rows =
        [(None, r#""denied_default" "cancelled""#), (Some(Decision::Allowed), r#""allowed" "cancelled""#)];
    for (decision, expected) in rows {
        let (log, memory) = started(&AuditConfig::default());
        let hung = Fake::new(move |call| {
            decision.into_iter().for_each(|decision| call.exchange.notes.decided(decision));
            std::future::pending()
        });
        let stage = Audit::new(log.clone(), hung);
        assert!(tokio::time::timeout(MILLI, stage.dispatch(call("t"))).await.is_err());
        log.close().await;
        let records = memory.records();
        assert_eq!(records.len(), 1);
        assert_eq!(members(&records[0], &["decision", "error"]), expected);
    }
}

#[tokio::test]
async fn a_panic_passes_through_and_has_its_record() {
    let (log, memory) = started(&AuditConfig::default());
    let stage = Arc::new(Audit::new(log.clone(), Fake::now(|_| panic!("as told"))));
    let task = tokio::spawn(AssertUnwindSafe(async move { stage.dispatch(call("t")).await }).0);
    assert!(task.await.unwrap_err().is_panic());
    log.close().await;
    assert_eq!(memory.text("error"), [r#""panicked""#]);
}

#[tokio::test]
async fn refusals_at_the_door_are_records_of_the_same_shape() {
    use gateway_domain::{DoorAudit as _, DoorRefusal};
    let (log, memory) = started(&AuditConfig::default());
    let caller = Caller::client("desk");
    let refusal = DoorRefusal {
        caller: None,
        peer: Some([10, 0, 0, 7].into()),
        method: None,
        name: None,
        reason: "unauthorized",
    };
    log.refused(&refusal);
    let known = DoorRefusal { caller: Some(&caller), method: Some("tools/call"), name: Some("t"), ..refusal };
    log.refused(&DoorRefusal { reason: "header_mismatch", ..known });
    log.close().await;
    let names = ["client", "tool", "decision", "allowed", "latency_ms", "error", "method", "peer"];
    let shown: Vec<_> = memory.records().iter().map(|record| members(record, &names)).collect();
    assert_eq!(
        shown,
        [
            r#"null null "denied_default" false 0.000 "unauthorized" - "10.0.0.7""#,
            r#""desk" "t" "denied_default" false 0.000 "header_mismatch" "tools/call" "10.0.0.7""#,
        ]
    );
}

#[tokio::test]
async fn no_secret_stands_in_a_record_whole_or_cut() {
    use gateway_domain::{DoorAudit as _, DoorRefusal};

    use crate::redaction::{LiveRedactor, NamedSecret, RedactSettings, RedactorConfig};
    let secrets = vec![NamedSecret { name: "s".to_owned(), value: "hunter2/2".into() }];
    let settings = RedactSettings { arguments: false, results: false, ..RedactSettings::default() };
    let config = RedactorConfig { secrets, ..RedactorConfig::default() };
    let redactor = Arc::new(LiveRedactor::new(config, settings).unwrap());
    let (log, memory) = started(&AuditConfig::default());
    let log = log.hiding(redactor.clone());
    let stage = Audit::new(log.clone(), Fake::now(|_| complete("{}")));
    let uri = format!("x://{}hunter2/2", "y".repeat(248));
    let subjects = [
        Subject::Resource { uri: "x://h?t=hunter2%2F2".into() },
        Subject::Resource { uri: uri.into() },
        Subject::Other { method: "hunter2/2".into() },
    ];
    for subject in subjects {
        stage.dispatch(call_of(Caller::client("hunter2/2"), subject)).await.unwrap();
    }
    redactor.learn("token-of-today");
    log.refused(&DoorRefusal {
        caller: None,
        peer: None,
        method: Some("a token-of-today"),
        name: Some("hunter2/2"),
        reason: "hunter2/2",
    });
    log.close().await;
    let text = memory.with(|state| state.text.clone());
    assert!(!text.contains("hunter") && !text.contains("token-of-today"), "{text}");
    assert_eq!(memory.text("tool")[0], r#""x://h?t=[REDACTED]""#);
    assert_eq!(memory.text("client")[0], r#""[REDACTED]""#);
    assert_eq!(memory.text("error")[3], r#""[REDACTED]""#);
    assert_eq!(memory.text("method")[2..], [r#""[REDACTED]""#, r#""a [REDACTED]""#]);
}
