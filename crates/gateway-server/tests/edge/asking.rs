//! Calls that ask a client with a session something.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    Call, CallerError, ClientLink, Dispatcher, Error, Event, InputRequired, LogLevel, Outcome, ParkId,
    PeerError, RawObject, State, Subject, Target,
};
use gateway_server::{Ports, Server, ServerConfig, stdio};
use gateway_testkit::client::{HttpClient, Speaks};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    sync::Notify,
};

use crate::support::{World, config, files, world};

/// Answers what it was told by its client.
pub(crate) struct Asker {
    pub(crate) world: Arc<World>,
    /// What the calls declared, in their order.
    pub(crate) declared: Mutex<Vec<String>>,
    can_be_asked: Mutex<Vec<bool>>,
    /// What was noted of each call when it came.
    noted: Mutex<Vec<u64>>,
    pub(crate) levels: Mutex<Vec<Option<LogLevel>>>,
    pub(crate) client: Mutex<Option<Arc<dyn ClientLink>>>,
    pub(crate) go: Notify,
}

pub(crate) const FORM: &str =
    r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}"#;
const TITLED: &str = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}}}}"#;
const URL: &str =
    r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a"}}"#;
const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
const ROOTS: &str = r#"{"method":"roots/list"}"#;

fn object(text: impl Into<String>) -> RawObject {
    RawObject::parse(text.into()).unwrap()
}

/// What a call of this tool asks.
fn questions(tool: &str) -> Option<String> {
    Some(match tool {
        "all" | "flow" => format!(r#"{{"a":{FORM},"b":{SAMPLE},"c":{ROOTS}}}"#),
        "form" | "flow_on_and_on" => format!(r#"{{"q":{FORM}}}"#),
        "flow_idle" => "{}".to_owned(),
        "titled" => format!(r#"{{"q":{TITLED}}}"#),
        "sample" => format!(r#"{{"q":{SAMPLE}}}"#),
        "url" | "parked" => format!(r#"{{"q":{URL}}}"#),
        "lost" | "over" => format!(r#"{{"q":{FORM}}}"#),
        "strange" => r#"{"q":7}"#.to_owned(),
        "nothing" => "{}".to_owned(),
        "many" => {
            let questions: Vec<_> = (0..17).map(|number| format!(r#""q{number}":{FORM}"#)).collect();
            format!("{{{}}}", questions.join(","))
        }
        _ => return None,
    })
}

#[expect(clippy::too_many_lines, reason = "one table")]
#[async_trait]
impl Dispatcher for Asker {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.declared.lock().unwrap().push(call.exchange.capabilities.raw().as_str().to_owned());
        self.can_be_asked.lock().unwrap().push(call.exchange.can_be_asked);
        self.noted.lock().unwrap().push(call.exchange.notes.redactions());
        call.exchange.notes.redacted(1);
        self.levels.lock().unwrap().push(call.exchange.log_level);
        *self.client.lock().unwrap() = call.exchange.client.clone();
        let Target::Exposed { subject: Subject::Tool { name, .. }, .. } = &call.target else {
            return Ok(Outcome::Complete(object(r#"{"contents":[]}"#)));
        };
        let done = |text: &str| {
            Ok(Outcome::Complete(object(format!(r#"{{"content":[],"structuredContent":{text}}}"#))))
        };
        match &**name {
            "failed" => {
                let error = r#"{"code":-32042,"message":"m","data":{"elicitations":[]}}"#;
                return Ok(Outcome::Failed(PeerError::new(object(error)).unwrap()));
            }
            "step" => {
                call.exchange.events.emit(Event::Progress(object(r#"{"progressToken":9,"progress":1}"#)));
                self.go.notified().await;
                return done("{}");
            }
            "log" => {
                let log = |level: &str| object(format!(r#"{{"level":"{level}","data":"d"}}"#));
                ["info", "error"].iter().for_each(|level| call.exchange.events.emit(Event::Log(log(level))));
                return done("{}");
            }
            _ => {}
        }
        let Some(questions) = questions(name) else { return done("{}") };
        let rounds = self.declared.lock().unwrap().len();
        let asks_again = match &**name {
            // What a URL is for is done a while after the user has agreed.
            "url" | "nothing" => rounds <= 3,
            "parked" => rounds <= 2,
            "flow_on_and_on" => rounds <= 12,
            "flow_idle" => true,
            // What there was no time for is asked again.
            "flow" => call.follow_up.as_ref().is_some_and(|follow_up| !follow_up.responses.contains("a")),
            _ => false,
        };
        match &call.follow_up {
            Some(_) if &**name == "lost" => Err(CallerError::UnknownState.into()),
            Some(follow_up) if !asks_again => {
                let is_as_given = match &follow_up.state {
                    State::Own(state) => state.as_str() == "\"s\"",
                    state => matches!(state, State::Parked(_)),
                };
                assert!(is_as_given, "{:?}", follow_up.state);
                done(follow_up.responses.as_str())
            }
            _ => Ok(Outcome::InputRequired(InputRequired {
                asker: Some(match name.starts_with("flow") {
                    true => gateway_domain::Asker::Workflow("w".into()),
                    false => gateway_domain::Asker::Downstream(files()),
                }),
                requests: Some(object(questions)),
                state: match &**name {
                    flow if flow.starts_with("flow") => State::Parked(ParkId("p".into())),
                    "parked" | "lost" | "many" | "over" => State::Parked(ParkId("p".into())),
                    _ => State::Own(gateway_domain::RawJson::string("s")),
                },
            })),
        }
    }
}

pub(crate) fn asker() -> (Arc<Asker>, Ports) {
    let world = world();
    let asker = Arc::new(Asker {
        world: world.clone(),
        declared: Mutex::default(),
        can_be_asked: Mutex::default(),
        noted: Mutex::default(),
        levels: Mutex::default(),
        client: Mutex::default(),
        go: Notify::new(),
    });
    let ports = Ports { dispatcher: asker.clone(), ..world.ports() };
    (asker, ports)
}

pub(crate) async fn serve(configure: impl FnOnce(&mut ServerConfig)) -> (Arc<Asker>, std::net::SocketAddr) {
    let (asker, ports) = asker();
    let mut config = config();
    configure(&mut config);
    let server = Server::bind(config, ports).await.unwrap();
    let addr = server.local_addr();
    tokio::spawn(server.run(std::future::pending()));
    (asker, addr)
}

pub(crate) const ALL: &str =
    r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}"#;

pub(crate) fn hello(revision: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities}}}}}"#
    )
}

pub(crate) async fn client(addr: std::net::SocketAddr, revision: &str, capabilities: &str) -> HttpClient {
    let client = HttpClient::new(&format!("http://{addr}/mcp"), Speaks::Legacy(revision.to_owned())).unwrap();
    let welcome = client.post(&hello(revision, capabilities), &[]).await.unwrap();
    client.use_session(Some(welcome.headers["mcp-session-id"].to_str().unwrap()));
    client.notify("notifications/initialized", "{}").await.unwrap();
    client
}

async fn respond(client: &HttpClient, id: u64, content: &str) {
    let response = format!(r#"{{"jsonrpc":"2.0","id":{id},{content}}}"#);
    assert_eq!(client.post(&response, &[]).await.unwrap().status, 202);
}

fn call(name: &str) -> String {
    format!(r#"{{"name":"{name}"}}"#)
}

#[tokio::test]
async fn questions_are_asked_one_by_one_and_their_answers_go_on_with_the_call() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let other = self::client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("all")).await.unwrap();
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}"#
    );
    // In another session it is no answer.
    respond(&other, 1, r#""result":{"action":"accept"}"#).await;
    respond(&client, 1, r#""result":{"action":"decline"}"#).await;
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#
    );
    respond(&client, 2, r#""result":{"n":1.0}"#).await;
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":3,"method":"roots/list","params":{}}"#
    );
    respond(&client, 3, r#""result":{"roots":[]}"#).await;
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","id":5,"result":{"content":[],"structuredContent":{"a":{"action":"decline"},"b":{"n":1.0},"c":{"roots":[]}}}}"#
    );
    assert_eq!(stream.next().await.unwrap(), None);
    assert_eq!(asker.declared.lock().unwrap()[0], ALL);
    assert_eq!(*asker.noted.lock().unwrap(), [0, 0], "each round has notes of its own");
}

#[tokio::test]
async fn what_a_client_refuses_or_cannot_be_asked_is_said_plainly() {
    let (_, addr) = serve(|_| {}).await;
    let no = r#""error":{"code":-1,"message":"User rejected"}"#;
    for (revision, tool, said, expected) in [
        (
            "2025-11-25",
            "sample",
            Some(no),
            r#""error":{"code":-32603,"message":"the client gave no answer: it refused `sampling/createMessage` with code -1: User rejected""#,
        ),
        ("2025-11-25", "form", Some(no), r#"{"q":{"action":"cancel"}}"#),
        ("2025-11-25", "form", Some(r#""result":{"action":"cancel"}"#), r#"{"q":{"action":"cancel"}}"#),
        (
            "2025-11-25",
            "titled",
            Some(r#""result":{"action":"accept","content":{"a":"x"}}"#),
            r#""content":{"a":"x"}"#,
        ),
        ("2025-06-18", "titled", None, r#"{"q":{"action":"cancel"}}"#),
        (
            "2025-06-18",
            "url",
            None,
            r#""error":{"code":-32603,"message":"the client gave no answer: it has not declared elicitation by URL"#,
        ),
        (
            "2025-03-26",
            "form",
            None,
            r#""error":{"code":-32603,"message":"the client gave no answer: it has not declared elicitation"#,
        ),
        ("2025-11-25", "strange", None, r#""error":{"code":-32603,"#),
        ("2025-11-25", "failed", None, r#""error":{"code":-32042,"#),
        ("2025-06-18", "failed", None, r#""error":{"code":-32603,"#),
    ] {
        let client = client(addr, revision, ALL).await;
        let mut stream = client.open("5", "tools/call", &call(tool)).await.unwrap();
        let mut last = stream.next().await.unwrap().unwrap();
        if let Some(said) = said {
            assert!(last.contains(r#""id":1,"method":"#), "{revision} {tool}: {last}");
            respond(&client, 1, said).await;
            last = stream.next().await.unwrap().unwrap();
        }
        assert!(
            last.starts_with(r#"{"jsonrpc":"2.0","id":5,"#) && last.contains(expected),
            "{revision} {tool}: {last}"
        );
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_asked_anything_says_so_and_leaves_its_session_as_it_is() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let request = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}}"#, call("form"));
    let answer = client.post(&request, &[("accept", "application/json")]).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(
        answer.text.contains(r#""error":{"code":-32603,"message":"the client gave no answer"#),
        "{}",
        answer.text
    );
    let batch = format!("[{request}]");
    let old = self::client(addr, "2025-03-26", ALL).await;
    let answer = old.post(&batch, &[]).await.unwrap();
    assert!(answer.text.contains("the client gave no answer"), "{}", answer.text);
    client.call("6", "echo", "{}").await.unwrap();
    let declared = asker.declared.lock().unwrap().clone();
    assert_eq!(declared[0], declared[2], "whichever call comes first, downstreams are told the same");
    assert!(declared[0].contains("elicitation") && declared[1].contains("roots"), "{declared:?}");
    assert_eq!(*asker.can_be_asked.lock().unwrap(), [false, false, true]);
}

#[tokio::test]
async fn who_cancels_a_call_need_not_answer_and_goes_on() {
    let (_, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("form")).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap().contains(r#""id":1,"#));
    client.notify("notifications/cancelled", r#"{"requestId":5}"#).await.unwrap();
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
    );
    assert_eq!(stream.next().await.unwrap(), None);
    respond(&client, 1, r#""result":{"action":"accept"}"#).await;
    assert!(client.call("6", "echo", "{}").await.unwrap().result().is_some());
}

#[tokio::test]
async fn questions_end_with_their_time_and_with_the_session() {
    let (_, addr) = serve(|config| config.limits.question_time = Duration::from_millis(50)).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let answer = client.request("5", "tools/call", &call("form")).await.unwrap();
    assert!(answer.text.contains("took too long"), "{}", answer.text);
    assert!(answer.before[1].contains("notifications/cancelled"), "{:?}", answer.before);

    let (_, addr) = serve(|_| {}).await;
    let client = self::client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("form")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    assert_eq!(client.delete().await.unwrap().status, 204);
    let last = stream.next().await.unwrap().unwrap();
    assert!(last.contains(r#""kind":"session_closed""#), "{last}");
}

#[tokio::test]
async fn a_workflow_goes_on_with_what_a_client_refuses() {
    let (_, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("flow")).await.unwrap();
    let no = r#""error":{"code":-1,"message":"User rejected"}"#;
    for (id, said) in [(1, no), (2, no), (3, r#""result":{"roots":[]}"#)] {
        let question = stream.next().await.unwrap().unwrap();
        assert!(question.contains(&format!(r#""id":{id},"method":"#)), "{question}");
        respond(&client, id, said).await;
    }
    let answer = stream.next().await.unwrap().unwrap();
    let expected =
        r#""structuredContent":{"a":{"action":"cancel"},"b":{"action":"cancel"},"c":{"roots":[]}}}}"#;
    assert!(answer.ends_with(expected), "{answer}");
}

#[tokio::test]
async fn a_workflow_goes_on_when_a_client_says_nothing() {
    let (asker, addr) = serve(|config| config.limits.question_time = Duration::from_millis(50)).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let answer = client.request("5", "tools/call", &call("flow")).await.unwrap();
    assert!(answer.text.ends_with(r#""structuredContent":{"a":{"action":"cancel"}}}}"#), "{}", answer.text);
    assert_eq!(answer.before.len(), 2, "what there was no time for is not asked: {:?}", answer.before);
    assert_eq!(asker.declared.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn how_often_a_workflow_gets_on_by_asking_is_for_its_steps_to_bound() {
    let (_, addr) = serve(|config| config.limits.question_rounds = 1).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("flow_on_and_on")).await.unwrap();
    for id in 1..=12 {
        let question = stream.next().await.unwrap().unwrap();
        assert!(question.contains(&format!(r#""id":{id},"method":"#)), "{question}");
        respond(&client, id, r#""result":{"action":"accept"}"#).await;
    }
    let answer = stream.next().await.unwrap().unwrap();
    assert!(answer.contains(r#"{"q":{"action":"accept"}}"#), "{answer}");
    let answer = client.request("6", "tools/call", &call("flow_idle")).await.unwrap();
    assert!(answer.text.contains("the call asks too often"), "{}", answer.text);
}

#[tokio::test]
async fn the_edge_shows_which_downstream_asks_and_leaves_the_rest_to_workflows() {
    let (_, addr) = serve(|config| config.label_questions = true).await;
    for (tool, message) in [("form", r#""message":"[files] m""#), ("flow", r#""message":"m""#)] {
        let client = client(addr, "2025-11-25", ALL).await;
        let mut stream = client.open("5", "tools/call", &call(tool)).await.unwrap();
        let question = stream.next().await.unwrap().unwrap();
        assert!(question.contains(message), "{tool}: {question}");
    }
}

#[tokio::test]
async fn a_url_is_shown_once() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("url")).await.unwrap();
    let question = stream.next().await.unwrap().unwrap();
    let (_, id) = question.split_once(r#""elicitationId":""#).expect("an id of ours");
    assert!(id.len() > 20, "{question}");
    respond(&client, 1, r#""result":{"action":"accept"}"#).await;
    let answer = stream.next().await.unwrap().unwrap();
    assert!(answer.contains(r#"{"q":{"action":"accept"}}"#), "{answer}");
    assert_eq!(asker.declared.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_call_that_waits_has_its_url_shown_again() {
    let (_, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("parked")).await.unwrap();
    for id in 1..=2 {
        let question = stream.next().await.unwrap().unwrap();
        assert!(question.contains(&format!(r#""id":{id},"method":"elicitation/create""#)), "{question}");
        respond(&client, id, r#""result":{"action":"accept"}"#).await;
    }
    let answer = stream.next().await.unwrap().unwrap();
    assert!(answer.contains(r#"{"q":{"action":"accept"}}"#), "{answer}");
}

#[tokio::test]
async fn a_question_ends_when_its_call_has_ended_without_an_answer() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("over")).await.unwrap();
    assert!(stream.next().await.unwrap().unwrap().contains(r#""id":1,"#));
    asker.world.over.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
    );
    let answer = stream.next().await.unwrap().unwrap();
    assert!(answer.contains(r#""id":5,"result":{"content":[],"structuredContent":{}}"#), "{answer}");
}

#[tokio::test]
async fn a_round_that_asks_nothing_is_a_round() {
    let (_, addr) = serve(|config| config.limits.question_rounds = 1).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let answer = client.request("5", "tools/call", &call("nothing")).await.unwrap();
    assert!(answer.text.contains("the call asks too often"), "{}", answer.text);
}

#[tokio::test]
async fn a_call_that_is_not_gone_on_with_is_given_up() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-11-25", ALL).await;
    let mut stream = client.open("5", "tools/call", &call("lost")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    assert!(asker.world.abandoned.lock().unwrap().is_empty());
    respond(&client, 1, r#""result":{"action":"accept"}"#).await;
    assert!(stream.next().await.unwrap().unwrap().contains("-32602"));
    assert_eq!(asker.world.abandoned.lock().unwrap().len(), 1, "the follow-up may not have reached it");
    let answer = client.request("6", "tools/call", &call("many")).await.unwrap();
    assert!(answer.before.is_empty() && answer.error_code() == Some(-32603), "{answer:?}");
    assert_eq!(asker.world.abandoned.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn the_level_of_a_session_is_that_of_its_calls() {
    let (asker, addr) = serve(|_| {}).await;
    let client = client(addr, "2025-06-18", "{}").await;
    let before = |answer: &gateway_testkit::client::Answer| answer.before.len();
    // A client that says nothing leaves it to the server.
    assert_eq!(before(&client.call("1", "log", "{}").await.unwrap()), 2);
    for params in ["{}", r#"{"level":"loud"}"#, r#"{"level":7}"#] {
        let answer = client.request("2", "logging/setLevel", params).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "for {params}");
    }
    let set = client.request("3", "logging/setLevel", r#"{"level":"warning"}"#).await.unwrap();
    assert_eq!(set.result().as_deref(), Some("{}"));
    assert_eq!(before(&client.call("4", "log", "{}").await.unwrap()), 1);
    assert_eq!(*asker.levels.lock().unwrap(), [None, Some(LogLevel::Warning)]);
}

#[tokio::test]
async fn over_stdio_questions_and_answers_are_lines() {
    let (_, ports) = asker();
    let (mut input, reader) = tokio::io::duplex(1 << 16);
    let (output, writer) = tokio::io::duplex(1 << 16);
    let served = tokio::spawn(stdio::serve(
        config(),
        ports,
        gateway_domain::Caller::anonymous(),
        reader,
        writer,
        std::future::pending(),
    ));
    let mut lines = BufReader::new(output).lines();
    let request = |id: u64, tool: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{}}}"#, call(tool))
    };
    for (said, heard) in [
        (hello("2025-11-25", ALL), r#""protocolVersion":"2025-11-25""#),
        (request(5, "sample"), r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","#),
        // Another one does not wait for the answer to the first.
        (request(6, "echo"), r#"{"jsonrpc":"2.0","id":6,"result":"#),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.0}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":5,"result":{"content":[],"structuredContent":{"q":{"n":1.0}}}}"#,
        ),
        (request(7, "form"), r#"{"jsonrpc":"2.0","id":2,"method":"elicitation/create","#),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
        ),
        (request(8, "echo"), r#"{"jsonrpc":"2.0","id":8,"result":"#),
        // A late answer of the session before must not meet a question of the next.
        (hello("2025-11-25", ALL), r#""protocolVersion":"2025-11-25""#),
        (request(9, "form"), r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create","#),
        (
            r#"{"jsonrpc":"2.0","id":3,"result":{"action":"decline"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":9,"result":"#,
        ),
    ] {
        input.write_all(format!("{said}\n").as_bytes()).await.unwrap();
        let line = tokio::time::timeout(Duration::from_secs(5), lines.next_line()).await;
        let line = line.expect("no line within 5 s").unwrap().unwrap();
        assert!(line.contains(heard), "for {said}: {line}");
    }
    input.shutdown().await.unwrap();
    served.await.unwrap().unwrap();
}
