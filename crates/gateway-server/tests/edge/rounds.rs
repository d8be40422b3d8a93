//! Questions and tasks towards clients of 2026-07-28.

use gateway_domain::{
    Asker, InputRequired, Outcome, ParkId, PeerError, RawJson, SessionKey, State, Target, TaskHandle,
};
use gateway_testkit::client::{Answer, HttpClient, Speaks};

use crate::support::{Served, files, keys, object, start};

const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"n":1.0}}}"#;
const URL: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","elicitationId":"e","url":"https://x"}}"#;
const SHOWN_URL: &str =
    r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x"}}"#;
const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"maxTokens":1,"tools":[]}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;
const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const COMPLETE: &str = r#"{"content":[]}"#;

fn asks(questions: &str, state: State) -> Outcome {
    let requests = Some(object(questions));
    Outcome::InputRequired(InputRequired { asker: Some(Asker::Downstream(files())), requests, state })
}

fn fails(text: &str) -> Outcome {
    Outcome::Failed(PeerError::new(object(text)).unwrap())
}

impl Served {
    fn script(&self, outcomes: impl IntoIterator<Item = Outcome>) {
        self.world.script.lock().unwrap().extend(outcomes);
    }

    async fn ask(&self, method: &str, members: &str, capabilities: &str) -> Answer {
        self.able(capabilities).request("1", method, &format!("{{{members}}}")).await.unwrap()
    }
}

fn state(answer: &Answer) -> String {
    answer.result_member("requestState").expect("a state")
}

#[tokio::test]
async fn a_question_is_answered_with_the_same_request_again() {
    let server = start(|_| {}).await;
    server.world.offer_all();
    for (method, call) in [
        ("tools/call", r#""name":"files__x","arguments":{"a":1.0}"#),
        ("prompts/get", r#""name":"files__x""#),
        ("resources/read", r#""uri":"a:b""#),
    ] {
        for given in [
            State::None,
            State::Own(RawJson::parse(r#""s\u0041é""#).unwrap()),
            State::Parked(ParkId("p".into())),
        ] {
            let questions = format!(r#"{{"f":{FORM},"u":{URL},"s":{SAMPLE},"r":{ROOTS}}}"#);
            server.script([asks(&questions, given.clone()), Outcome::Complete(object(COMPLETE))]);
            let asked = server.ask(method, call, ALL).await;
            assert_eq!(asked.result_member("resultType").as_deref(), Some(r#""input_required""#));
            assert_eq!(
                asked.result_member("inputRequests").unwrap(),
                questions.replace(URL, SHOWN_URL),
                "only the id that this era does not have is gone"
            );
            assert_eq!(asked.result_member("ttlMs"), None);
            let answers = r#""inputResponses":{"f":{"action":"decline"},"x":{}}"#;
            let again = format!(r#"{call},{answers},"requestState":{}"#, state(&asked));
            let done = server.ask(method, &again, ALL).await;
            assert_eq!(done.result_member("resultType").as_deref(), Some(r#""complete""#), "{done:?}");
            let call = server.world.asked.lock().unwrap().pop().unwrap();
            let follow_up = call.follow_up.unwrap();
            assert_eq!(format!("{:?}", follow_up.state), format!("{given:?}"));
            assert_eq!(follow_up.asker, Asker::Downstream(files()));
            assert_eq!(follow_up.responses.as_str(), r#"{"f":{"action":"decline"},"x":{}}"#);
            let params = call.params.object;
            assert!(!params.contains("requestState") && !params.contains("inputResponses"), "{params:?}");
        }
    }
}

#[tokio::test]
async fn a_state_that_is_not_of_this_request_calls_nobody() {
    let server = start(|_| {}).await;
    let call = r#""name":"files__x","arguments":{"a":1.0}"#;
    server.script([asks(&format!(r#"{{"f":{FORM}}}"#), State::None)]);
    let given = state(&server.ask("tools/call", call, ALL).await);
    server.world.asked.lock().unwrap().clear();
    server.script([Outcome::Complete(object(COMPLETE))]);
    let (first, rest) = given.split_at(given.len() / 2);
    let tampered = format!("{first}{}{}", if rest.starts_with('A') { 'B' } else { 'A' }, &rest[1..]);
    for (call, answers) in [
        (call, format!(r#""requestState":{tampered}"#)),
        (call, r#""requestState":"""#.to_owned()),
        (call, r#""requestState":7"#.to_owned()),
        (call, format!(r#""inputResponses":[],"requestState":{given}"#)),
        (call, r#""inputResponses":{"f":1}"#.to_owned()),
        (call, r#""inputResponses":null"#.to_owned()),
        (r#""name":"files__y","arguments":{"a":1.0}"#, format!(r#""requestState":{given}"#)),
        (r#""name":"files__x","arguments":{"a":2.0}"#, format!(r#""requestState":{given}"#)),
    ] {
        let answer = server.ask("tools/call", &format!("{call},{answers}"), ALL).await;
        assert_eq!((answer.status, answer.error_code()), (200, Some(-32602)), "{call} {answers}");
    }
    assert!(server.world.asked.lock().unwrap().is_empty());
    // Answers without a state are for a downstream to judge that keeps none.
    let members = format!(r#"{call},"inputResponses":{{"f":{{"action":"accept"}}}}"#);
    assert!(server.ask("tools/call", &members, ALL).await.result().is_some());
    let call = server.world.asked.lock().unwrap().pop().unwrap();
    assert!(call.follow_up.is_none() && call.params.object.contains("inputResponses"));
}

#[tokio::test]
async fn what_a_client_has_not_declared_is_never_asked_of_it() {
    let server = start(|_| {}).await;
    for (capabilities, questions, required) in [
        ("{}", format!(r#"{{"f":{FORM}}}"#), Some(r#"{"elicitation":{"form":{}}}"#)),
        (r#"{"elicitation":{}}"#, format!(r#"{{"f":{FORM}}}"#), None),
        (
            r#"{"elicitation":{}}"#,
            format!(r#"{{"u":{URL},"f":{FORM}}}"#),
            Some(r#"{"elicitation":{"url":{}}}"#),
        ),
        (r#"{"sampling":{}}"#, format!(r#"{{"s":{SAMPLE}}}"#), Some(r#"{"sampling":{"tools":{}}}"#)),
        (
            "{}",
            format!(r#"{{"f":{FORM},"u":{URL},"s":{SAMPLE},"r":{ROOTS}}}"#),
            Some(r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#),
        ),
    ] {
        server.script([asks(&questions, State::None)]);
        let answer = server.ask("tools/call", r#""name":"files__x""#, capabilities).await;
        let Some(required) = required else {
            assert!(answer.result().is_some(), "{answer:?}");
            continue;
        };
        assert_eq!((answer.status, answer.error_code()), (400, Some(-32021)), "{answer:?}");
        let error = answer.error().unwrap();
        assert!(error.contains(&format!(r#""requiredCapabilities":{required}}}"#)), "{error}");
        assert!(!error.contains("requestState"));
    }
}

#[tokio::test]
async fn what_cannot_be_gone_on_with_asks_nothing_and_declares_nothing() {
    let server = start(|_| {}).await;
    server.world.offer_all();
    for (method, members) in [
        ("completion/complete", r#""ref":{"type":"ref/prompt","name":"files__x"},"argument":{}"#),
        ("x/own", ""),
    ] {
        let park = ParkId(method.into());
        server.script([asks(&format!(r#"{{"f":{FORM}}}"#), State::Parked(park.clone()))]);
        let url = format!("http://{}/mcp/files", server.addr);
        let client = HttpClient::new(&url, Speaks::Modern(ALL.to_owned())).unwrap();
        let answer = client.request("1", method, &format!("{{{members}}}")).await.unwrap();
        assert_eq!((answer.status, answer.error_code()), (200, Some(-32603)), "{method}: {answer:?}");
        let call = server.world.asked.lock().unwrap().pop().unwrap();
        assert!(!call.exchange.capabilities.is_interactive(), "{method}");
        assert!(call.exchange.capabilities.extension("io.modelcontextprotocol/tasks").is_some());
        let SessionKey::Modern { capabilities, .. } = &call.exchange.session else { panic!("{call:?}") };
        assert_eq!(*capabilities, call.exchange.capabilities, "a session is opened as what it is for");
        assert_eq!(*server.world.abandoned.lock().unwrap(), [park]);
        server.world.abandoned.lock().unwrap().clear();
    }
}

#[tokio::test]
async fn no_more_is_asked_at_once_than_a_user_can_answer() {
    let server = start(|_| {}).await;
    for (count, code) in [(16, None), (17, Some(-32603))] {
        let questions: Vec<_> = (0..count).map(|number| format!(r#""q{number}":{FORM}"#)).collect();
        let park = State::Parked(ParkId("p".into()));
        server.script([asks(&format!("{{{}}}", questions.join(",")), park)]);
        let answer = server.ask("tools/call", r#""name":"files__x""#, ALL).await;
        assert_eq!(answer.error_code(), code, "{count} questions: {answer:?}");
        assert_eq!(server.world.abandoned.lock().unwrap().len(), usize::from(code.is_some()));
    }
}

#[tokio::test]
async fn what_is_read_is_shared_by_nobody_where_callers_are_told_apart() {
    for (clients, scope) in [(Vec::new(), r#""public""#), (keys(), r#""private""#)] {
        let server = start(|config| config.clients = clients).await;
        server.world.offer_all();
        server.script([Outcome::Complete(object(r#"{"contents":[],"ttlMs":-1,"cacheScope":"public"}"#))]);
        let read = server.modern().request("1", "resources/read", r#"{"uri":"a:b"}"#).await.unwrap();
        assert_eq!(read.result_member("cacheScope").as_deref(), Some(scope));
        assert_eq!(read.result_member("ttlMs").as_deref(), Some("0"));
    }
}

#[tokio::test]
async fn a_url_that_has_to_be_visited_is_asked_for_and_then_the_call_is_made_afresh() {
    let server = start(|_| {}).await;
    let required = r#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","message":"m","elicitationId":"e","url":"https://x"}]}}"#;
    let call = r#""name":"files__x""#;
    server.script([fails(required)]);
    let asked = server.ask("tools/call", call, ALL).await;
    assert_eq!(asked.result_member("inputRequests").unwrap(), format!(r#"{{"url1":{SHOWN_URL}}}"#));
    server.world.asked.lock().unwrap().clear();
    for (action, code) in [("decline", Some(-32603)), ("accept", None)] {
        server.world.script.lock().unwrap().clear();
        server.script([Outcome::Complete(object(COMPLETE))]);
        let answers = format!(r#""inputResponses":{{"url1":{{"action":"{action}"}}}}"#);
        let again = format!(r#"{call},{answers},"requestState":{}"#, state(&asked));
        assert_eq!(server.ask("tools/call", &again, ALL).await.error_code(), code, "after {action}");
    }
    let asked = std::mem::take(&mut *server.world.asked.lock().unwrap());
    assert!(asked.len() == 1 && asked[0].follow_up.is_none(), "{asked:?}");
    server.script([fails(required)]);
    let answer = server.ask("tools/call", call, r#"{"elicitation":{}}"#).await;
    assert_eq!((answer.status, answer.error_code()), (400, Some(-32021)));
}

#[tokio::test]
async fn what_a_downstream_misses_is_told_if_the_client_can_mend_it() {
    let server = start(|_| {}).await;
    for (capabilities, required, told) in [
        ("{}", r#"{"sampling":{}}"#, true),
        (r#"{"sampling":{}}"#, r#"{"sampling":{}}"#, false),
        (r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}}}"#, true),
        (r#"{"extensions":{"x.y/z":{}}}"#, r#"{"extensions":{"x.y/z":{}}}"#, false),
        ("{}", r#"{"extensions":{"x.y/z":{}}}"#, true),
    ] {
        let text = format!(r#"{{"code":-32021,"message":"m","data":{{"requiredCapabilities":{required}}}}}"#);
        server.script([fails(&text)]);
        let answer = server.ask("tools/call", r#""name":"files__x""#, capabilities).await;
        let expected = if told { (400, Some(-32021)) } else { (200, Some(-32603)) };
        assert_eq!((answer.status, answer.error_code()), expected, "{capabilities} {required}");
    }
}

#[tokio::test]
async fn users_are_told_who_asks_where_the_operator_wants_that() {
    let server = start(|config| config.label_questions = true).await;
    server.script([asks(&format!(r#"{{"f":{FORM},"r":{ROOTS}}}"#), State::None)]);
    let asked = server.ask("tools/call", r#""name":"files__x""#, ALL).await;
    let labelled = FORM.replace(r#""message":"m""#, r#""message":"[files] m""#);
    assert_eq!(asked.result_member("inputRequests").unwrap(), format!(r#"{{"f":{labelled},"r":{ROOTS}}}"#));
}

#[tokio::test]
async fn a_task_has_a_sealed_id_that_leads_to_whoever_runs_it() {
    let server = start(|_| {}).await;
    let task = || {
        let object = object(r#"{"resultType":"task","taskId":"inner","status":"working","ttlMs":1.0}"#);
        Outcome::Task(TaskHandle { downstream: Some(files()), tool: Some("files__x".into()), object })
    };
    server.script([task()]);
    let begun = server.ask("tools/call", r#""name":"files__x""#, ALL).await;
    let id = begun.result_member("taskId").unwrap();
    assert_eq!(begun.result_member("resultType").as_deref(), Some(r#""task""#));
    assert_eq!(begun.result_member("ttlMs").as_deref(), Some("1.0"));
    assert!(!begun.result().unwrap().contains("inner"));
    for (method, act) in [("tasks/get", "Get"), ("tasks/update", "Update"), ("tasks/cancel", "Cancel")] {
        server.world.asked.lock().unwrap().clear();
        server.script([Outcome::Complete(object(r#"{"taskId":"inner","status":"working"}"#))]);
        let members = format!(r#""taskId":{id},"inputResponses":{{}}"#);
        let answer = server.ask(method, &members, ALL).await;
        if act == "Get" {
            assert_eq!(answer.result_member("taskId").as_ref(), Some(&id));
        }
        assert_eq!(answer.result_member("resultType").as_deref(), Some(r#""complete""#));
        let call = server.world.asked.lock().unwrap().pop().unwrap();
        let Target::Downstream { downstream, subject } = call.target else { panic!("{:?}", call.target) };
        assert_eq!(downstream, files());
        assert_eq!(
            format!("{subject:?}"),
            format!(r#"Task {{ id: "inner", act: {act}, tool: Some("files__x") }}"#)
        );
        assert!(call.params.object.contains("inputResponses"));

        for (id, capabilities, status, code) in
            [(id.as_str(), "{}", 400, -32021), (r#""inner""#, ALL, 200, -32602), (r#""""#, ALL, 200, -32602)]
        {
            let answer = server.ask(method, &format!(r#""taskId":{id}"#), capabilities).await;
            assert_eq!((answer.status, answer.error_code()), (status, Some(code)), "{method} {id}");
        }
        assert!(server.world.asked.lock().unwrap().is_empty());
    }
    // Nor is one made for a client that cannot follow it.
    server.script([task()]);
    let answer = server.ask("tools/call", r#""name":"files__x""#, "{}").await;
    assert_eq!((answer.status, answer.error_code()), (400, Some(-32021)));
}
