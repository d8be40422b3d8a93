use std::sync::{Arc, Mutex};

use gateway_domain::{
    ClientCapabilities, DownstreamSession, Era, Exchange, InputRequired, ListKind, LogLevel, Outcome,
    ParamHeader, ParamKind, RawObject, Reference, SessionProfile, State, Subject, TaskAct, Tool,
};
use gateway_testkit::{
    Era as Serves, Paging, Profile,
    fixtures::{ODD_RESULT, ODD_RESULT_MODERN, ODD_TOOL},
    http::{Faults, HttpFake, LineEnd, Recorded, Shape},
};

use crate::support::{
    Act, Raw, Sink, answer, exchange, factory, id, json, legacy, open, params, profile, quiet,
};

type Switch = fn(&mut Faults);

#[track_caller]
fn result(outcome: Outcome) -> String {
    match outcome {
        Outcome::Complete(result) => result.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_result_is_the_downstreams_own_however_it_is_sent() {
    let shapes: [(&str, Switch); 10] = [
        ("json", |_| {}),
        ("pretty json", |faults| faults.pretty = true),
        ("json in drops", |faults| faults.drip = Some((97, std::time::Duration::ZERO))),
        ("lf", |faults| faults.shape = Shape::Sse),
        ("crlf", |faults| (faults.shape, faults.line_end) = (Shape::Sse, LineEnd::Crlf)),
        ("cr", |faults| (faults.shape, faults.line_end) = (Shape::Sse, LineEnd::Cr)),
        ("byte order mark", |faults| (faults.shape, faults.bom) = (Shape::Sse, true)),
        ("named events", |faults| (faults.shape, faults.named_events) = (Shape::Sse, true)),
        ("primed", |faults| (faults.shape, faults.prime) = (Shape::Sse, Some(10))),
        ("stream in drops", |faults| {
            (faults.shape, faults.drip) = (Shape::Sse, Some((53, std::time::Duration::ZERO)));
        }),
    ];
    for (era, expected) in [(Era::Legacy, ODD_RESULT), (Era::Modern, ODD_RESULT_MODERN)] {
        let fake = HttpFake::start(Profile::default());
        let session = open(&fake, era).await;
        for (name, shape) in shapes {
            fake.heal();
            fake.set(shape);
            let outcome = session.call_tool("odd", &[], &params("{}"), &quiet()).await.unwrap();
            assert_eq!(result(outcome), expected, "{era:?}, {name}");
        }
        fake.heal();
        fake.set(|faults| (faults.shape, faults.multi_line_data) = (Shape::Sse, true));
        let outcome = session.call_tool("odd", &[], &params("{}"), &quiet()).await.unwrap();
        assert_eq!(result(outcome), expected, "{era:?}, data over many lines");
    }
}

#[tokio::test]
async fn arguments_arrive_byte_for_byte() {
    let odd = r#"{"arguments":{ "n":1.0,"big":9007199254740993,"x":1e400,"u":"\u00e9" },"name":"d__echo"}"#;
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let session = open(&fake, era).await;
        session.call_tool("echo", &[], &params(odd), &quiet()).await.unwrap();
        let sent = fake.requests_of("tools/call").remove(0).body;
        let arguments = r#""arguments":{ "n":1.0,"big":9007199254740993,"x":1e400,"u":"\u00e9" }"#;
        assert!(sent.contains(arguments) && sent.contains(r#""name":"echo""#), "{sent}");
    }
}

#[tokio::test]
async fn modern_requests_mirror_what_they_are_about() {
    let fake = HttpFake::start(Profile { era: Serves::Modern, ..Profile::default() });
    let session = open(&fake, Era::Modern).await;
    let header = |name: &str, path: &str, kind| ParamHeader {
        name: name.into(),
        path: [path.to_owned()].into(),
        kind,
    };
    let mirrored = [
        header("Site", "site", ParamKind::String),
        header("Count", "count", ParamKind::Integer),
        header("Dry", "dry", ParamKind::Boolean),
    ];
    let call = params(r#"{"name":"x","arguments":{"site":"Zürich","count":42.0,"dry":true}}"#);
    // The fake refuses what does not agree with the body.
    result(session.call_tool("mirror", &mirrored, &call, &quiet()).await.unwrap());
    let sent = fake.requests_of("tools/call").remove(0).headers;
    for (name, value) in [
        ("mcp-method", "tools/call"),
        ("mcp-name", "mirror"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-param-site", "=?base64?WsO8cmljaA==?="),
        ("mcp-param-count", "42"),
        ("mcp-param-dry", "true"),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(sent.get(name).map(|value| value.to_str().unwrap()), Some(value), "{name}");
    }
    assert!(!sent.contains_key("mcp-session-id") && !sent.contains_key("accept-encoding"));

    let call = params(r#"{"arguments":{"site":null}}"#);
    result(session.call_tool("mirror", &mirrored, &call, &quiet()).await.unwrap());
    let sent = fake.requests_of("tools/call").remove(1).headers;
    assert!(!sent.contains_key("mcp-param-site"), "{sent:?}");
}

#[tokio::test]
async fn each_modern_request_names_its_method_and_what_it_is_about() {
    let fake = HttpFake::start(Profile { era: Serves::Modern, ..Profile::default() });
    let session = open(&fake, Era::Modern).await;
    let other = |method: &str| Subject::Other { method: method.into() };
    for (subject, method, name) in [
        (Subject::tool("t"), "tools/call", Some("t")),
        (Subject::Prompt { name: "p".into() }, "prompts/get", Some("p")),
        (Subject::Resource { uri: "a:é".into() }, "resources/read", Some("=?base64?YTrDqQ==?=")),
        (Subject::Completion(Reference::Prompt("p".into())), "completion/complete", None),
        (Subject::Task { id: "i".into(), act: TaskAct::Update, tool: None }, "tasks/update", Some("i")),
        (other("tasks/get"), "tasks/get", Some("own")),
        (other("a.b/c"), "a.b/c", None),
    ] {
        // Whatever the fake makes of it.
        let _ = session.call(&subject, &params(r#"{"taskId":"own"}"#), &quiet()).await;
        let sent = fake.requests_of(method).remove(0).headers;
        let header = |name: &str| sent.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((header("mcp-method"), header("mcp-name")), (Some(method), name), "{subject:?}");
    }
}

#[tokio::test]
async fn a_refused_mirror_has_the_tools_read_again() {
    for (code, changes) in [(-32020, vec![ListKind::Tools]), (-32602, vec![])] {
        let raw = Raw::start(move |request| {
            let id = id(request);
            if request.contains("server/discover") {
                let result = r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;
                return Act::Send(json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)));
            }
            let error = format!(r#"{{"code":{code},"message":"m"}}"#);
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
            Act::Send(answer("400 Bad Request", "application/json", "", &body))
        })
        .await;
        let (factory, observer) = factory(&raw.url(), |_| {});
        let session = factory.open(&profile(Era::Modern)).await.unwrap();
        let outcome = session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap();
        assert!(matches!(outcome, Outcome::Failed(error) if error.code == code));
        assert_eq!(observer.changed(), changes, "after {code}");
    }
}

#[tokio::test]
async fn every_list_is_asked_for_in_both_eras() {
    for era in [Era::Legacy, Era::Modern] {
        for list in ListKind::ALL {
            let raw = Raw::start(move |request| {
                let result = if request.contains("server/discover") {
                    r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#.to_owned()
                } else if request.contains(r#""method":"initialize""#) {
                    r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#.to_owned()
                } else if request.contains(r#""id":"#) {
                    format!(r#"{{"{}":[{{"k":1.0}}],"nextCursor":"n"}}"#, list.member())
                } else {
                    return Act::Send(crate::support::ACCEPTED.into());
                };
                Act::Send(json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id(request))))
            })
            .await;
            let session = factory(&raw.url(), |_| {}).0.open(&profile(era)).await.unwrap();
            let page = session.list(list, Some("c")).await.unwrap();
            assert_eq!(page.items[0].as_str(), r#"{"k":1.0}"#);
            assert_eq!(page.next_cursor.as_deref(), Some("n"));
            let asked = raw.requests().pop().unwrap();
            let method = gateway_protocol::method::of_list(list);
            assert!(asked.contains(&format!(r#""method":"{method}","params":{{"cursor":"c""#)), "{asked}");
            drop(session);
        }
    }
}

#[tokio::test]
async fn calls_declare_what_their_own_client_can_do_and_handshakes_what_their_sessions() {
    let declares = |text: &str| ClientCapabilities::from(RawObject::parse(text.to_owned()).unwrap());
    let key = "io.modelcontextprotocol/clientCapabilities";
    for (era, opened_with) in [(Era::Modern, "server/discover"), (Era::Legacy, "initialize")] {
        let fake = HttpFake::start(Profile::default());
        let profile =
            SessionProfile { era, capabilities: declares(r#"{"roots":{}}"#), ..SessionProfile::default() };
        let session = factory(&fake.url(), |_| {}).0.open(&profile).await.unwrap();
        let exchange = Exchange { capabilities: declares(r#"{"sampling":{}}"#), ..quiet() };
        session.call_tool("echo", &[], &params("{}"), &exchange).await.unwrap();
        session.list_tools(None).await.unwrap();
        session.ping().await.unwrap();
        let called = fake.requests_of("tools/call").remove(0).body;
        let declared = called.contains(&format!(r#""{key}":{{"sampling":{{}}}}"#));
        assert_eq!(declared, era == Era::Modern, "{called}");
        let handshake = |request: &Recorded| request.rpc.as_deref() == Some("initialize");
        for request in fake.requests() {
            assert_eq!(request.body.contains("roots"), handshake(&request), "{request:?}");
        }
        let opening = fake.requests_of(opened_with).remove(0).body;
        let declared = if era == Era::Legacy { r#"{"roots":{}}"# } else { "{}" };
        assert!(opening.contains(&format!(r#"apabilities":{declared}"#)), "{opening}");
        for method in ["tools/list", opened_with] {
            assert!(!fake.requests_of(method).remove(0).body.contains("sampling"), "{method}");
        }
    }
}

#[tokio::test]
async fn a_stream_is_taken_up_behind_an_id_that_came_without_data() {
    let called = Mutex::new(String::new());
    let raw = legacy("2025-11-25", move |request| {
        let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        if request.starts_with("POST") {
            *called.lock().unwrap() = id(request).to_owned();
            return Act::Last(format!("{events}id: e-1\nretry: 1\n\n"));
        }
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"ok":1}}}}"#, called.lock().unwrap());
        Act::Last(format!("{events}data: {answer}\n\n"))
    })
    .await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
    let begun = tokio::time::Instant::now();
    let answer = session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap();
    assert_eq!(result(answer), r#"{"ok":1}"#);
    assert!(begun.elapsed() < std::time::Duration::from_millis(900), "the server wants us back at once");
    let resumed = raw.requests().into_iter().find(|request| request.starts_with("GET")).unwrap();
    assert!(resumed.contains("last-event-id: e-1"), "{resumed}");
}

#[tokio::test]
async fn legacy_requests_mirror_nothing() {
    let fake = HttpFake::start(Profile::default());
    let session = open(&fake, Era::Legacy).await;
    session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    let sent = fake.requests_of("tools/call").remove(0).headers;
    assert!(!sent.contains_key("mcp-method") && !sent.contains_key("mcp-name"), "{sent:?}");
}

#[tokio::test]
async fn configured_headers_are_on_every_request() {
    let fake = HttpFake::start(Profile { era: Serves::Legacy, ..Profile::default() });
    let (factory, _) = factory(&fake.url(), |config| {
        config.headers = vec![("Authorization".into(), "Bearer s3cret".into())];
        config.change_stream = true;
    });
    assert!(!format!("{factory:?}").contains("s3cret"));
    let session = factory.open(&profile(Era::Modern)).await.unwrap();
    crate::support::eventually("the change stream", || {
        fake.requests().iter().any(|request| request.method == "GET")
    })
    .await;
    session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
    gateway_domain::Session::close(&session).await;
    let requests = fake.requests();
    assert_eq!(requests.len(), 6, "probe, initialize, initialized, GET, call, DELETE");
    assert!(requests.iter().all(|request| request.headers["authorization"] == "Bearer s3cret"));
}

#[tokio::test]
async fn progress_and_logs_go_to_those_who_asked() {
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile { marker: Some("m".into()), ..Profile::default() });
        let session = open(&fake, era).await;
        let call = async |tool: &str, wants: bool, level| {
            let sink = Arc::<Sink>::default();
            let call = params(r#"{"arguments":{"n":3}}"#);
            session.call_tool(tool, &[], &call, &exchange(&sink, wants, level)).await.unwrap();
            sink.events()
        };
        let events = call("progress", true, None).await;
        assert_eq!(events.len(), 3, "{era:?}: {events:?}");
        assert!(events[2].ends_with(r#","progress":3,"total":3,"message":"m"}"#), "{events:?}");
        assert_eq!(call("progress", false, None).await, [""; 0], "{era:?}");
        let events = call("log", false, Some(LogLevel::Debug)).await;
        assert_eq!(events.len(), 3, "{era:?}: {events:?}");
        assert_eq!(events[0], r#"log {"level":"info","logger":"fake","data":{"line":1,"marker":"m"}}"#);
        assert_eq!(call("log", false, Some(LogLevel::Warning)).await, [""; 0], "{era:?}");
        assert_eq!(call("log", false, None).await, [""; 0], "{era:?}");
    }
}

#[tokio::test]
async fn more_notifications_than_allowed_are_dropped_and_the_call_goes_on() {
    let fake = HttpFake::start(Profile::default());
    let (factory, _) = factory(&fake.url(), |config| config.max_notifications = 5);
    let session = factory.open(&profile(Era::Modern)).await.unwrap();
    let sink = Arc::<Sink>::default();
    let call = params(r#"{"arguments":{"n":50}}"#);
    result(session.call_tool("progress", &[], &call, &exchange(&sink, true, None)).await.unwrap());
    assert_eq!(sink.events().len(), 5);
}

#[tokio::test]
async fn calls_side_by_side_get_their_own_answers() {
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile::default());
        let session = Arc::new(open(&fake, era).await);
        let calls: Vec<_> = (0..64)
            .map(|n| {
                let session = session.clone();
                tokio::spawn(async move {
                    let call = params(&format!(r#"{{"arguments":{{"n":{n}}}}}"#));
                    (n, session.call_tool("echo", &[], &call, &quiet()).await.unwrap())
                })
            })
            .collect();
        for call in calls {
            let (n, outcome) = call.await.unwrap();
            let text = result(outcome);
            assert!(text.contains(&format!(r#""structuredContent":{{"n":{n}}}"#)), "{n}: {text}");
        }
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    for (era, shape) in [
        (Era::Legacy, Shape::Json),
        (Era::Modern, Shape::Json),
        (Era::Legacy, Shape::Sse),
        (Era::Modern, Shape::Sse),
    ] {
        let fake = HttpFake::start(Profile::default());
        fake.set(|faults| faults.shape = shape);
        let session = open(&fake, era).await;
        for _ in 0..50 {
            session.call_tool("echo", &[], &params("{}"), &quiet()).await.unwrap();
        }
        // The end of a stream may come after the next call has begun; then two take turns.
        let limit = if shape == Shape::Json { 1 } else { 10 };
        assert!(fake.connection_count() <= limit, "{era:?} {shape:?}: {}", fake.connection_count());
    }
}

#[tokio::test]
async fn pages_are_read_one_by_one() {
    for era in [Era::Legacy, Era::Modern] {
        let fake = HttpFake::start(Profile { paging: Paging::Size(5), ..Profile::default() });
        let session = open(&fake, era).await;
        let (mut names, mut cursor) = (Vec::new(), None);
        loop {
            let page = session.list_tools(cursor.as_deref()).await.unwrap();
            for tool in &page.tools {
                if tool.name() == "odd" {
                    assert_eq!(tool.definition().as_str(), ODD_TOOL);
                }
            }
            names.extend(page.tools.iter().map(Tool::name).map(str::to_owned));
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(names.len(), 13, "{era:?}: {names:?}");
        assert_eq!(fake.requests_of("tools/list").len(), 3, "{era:?}");
        session.ping().await.unwrap();
    }
}

#[tokio::test]
async fn errors_are_answers_whatever_their_status() {
    let text = r#"{"code":-32602,"message":"bad","data":{"n":1.0}}"#;
    for status in ["200 OK", "400 Bad Request", "422 Unprocessable Content"] {
        for with_id in [true, false] {
            let raw = legacy("2025-11-25", move |request| {
                let id = if with_id { format!(r#""id":{},"#, id(request)) } else { String::new() };
                let body = format!(r#"{{"jsonrpc":"2.0",{id}"error":{text}}}"#);
                Act::Send(answer(status, "application/json", "", &body))
            })
            .await;
            let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
            match session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap() {
                Outcome::Failed(error) => assert_eq!(error.raw.as_str(), text, "{status}"),
                other => panic!("{other:?} for {status}"),
            }
        }
    }
}

#[tokio::test]
async fn what_a_legacy_server_asks_in_mid_call_is_answered() {
    let fake = HttpFake::start(Profile::default());
    let session = open(&fake, Era::Legacy).await;
    let answer = result(session.call_tool("ask", &[], &params("{}"), &quiet()).await.unwrap());
    assert!(answer.contains(r#"{"answer":null}"#), "{answer}");
    let refusals: Vec<_> = fake.requests().into_iter().filter(|request| request.rpc.is_none()).collect();
    assert_eq!(refusals.len(), 1);
    assert!(refusals[0].body.contains(r#""error":{"code":-32601"#), "{}", refusals[0].body);

    let raw = legacy("2025-11-25", |request| {
        let ping = r#"data: {"jsonrpc":"2.0","id":"p 1","method":"ping"}"#;
        let answer = format!(r#"data: {{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#, id(request));
        let body = format!("{ping}\n\n{answer}\n\n");
        Act::Send(crate::support::answer("200 OK", "text/event-stream", "", &body))
    })
    .await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
    result(session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap());
    let pong = raw.requests().into_iter().find(|request| request.contains("\"p 1\"")).unwrap();
    assert!(pong.ends_with(r#"{"jsonrpc":"2.0","id":"p 1","result":{}}"#), "{pong}");
    assert!(pong.contains("mcp-session-id: s-1"), "{pong}");
}

#[tokio::test]
async fn a_modern_result_may_ask_for_input() {
    let fake = HttpFake::start(Profile { era: Serves::Modern, ..Profile::default() });
    let session = open(&fake, Era::Modern).await;
    match session.call_tool("ask", &[], &params("{}"), &quiet()).await.unwrap() {
        Outcome::InputRequired(InputRequired { requests, state: State::Own(state), .. }) => {
            assert!(requests.unwrap().contains("q"));
            assert_eq!(state.as_str(), r#""v1.\u0061\/=\"+""#);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_stream_that_breaks_behind_an_event_id_is_taken_up_again() {
    let waiting = Arc::new(Mutex::new(String::new()));
    let raw = legacy("2025-11-25", {
        let waiting = waiting.clone();
        move |request| {
            let body = if request.starts_with("GET") {
                assert!(request.contains("last-event-id: e-1\r\n"), "{request}");
                let id = waiting.lock().unwrap().clone();
                format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[]}}}}\n\n")
            } else {
                *waiting.lock().unwrap() = id(request).to_owned();
                "id: e-1\nretry: 10\ndata:\n\n".to_owned()
            };
            Act::Last(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}"))
        }
    })
    .await;
    let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
    assert_eq!(
        result(session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap()),
        r#"{"content":[]}"#
    );
}

#[tokio::test]
async fn an_answer_to_another_request_is_nonsense() {
    for body in [
        r#"{"jsonrpc":"2.0","id":999,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"2","result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
    ] {
        let raw = legacy("2025-11-25", move |_| Act::Send(json(body))).await;
        let session = factory(&raw.url(), |_| {}).0.open(&profile(Era::Legacy)).await.unwrap();
        let error = session.call_tool("t", &[], &params("{}"), &quiet()).await.unwrap_err();
        assert!(crate::support::fault(error).0.contains("gave no valid answer"), "for {body}");
    }
}
