use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use gateway_domain::SessionKey;
use gateway_server::{Rulings, ServerConfig, stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};

use crate::support::{MODERN, OURS, QUIET, World, config, envelope, until, world};

struct Client {
    world: Arc<World>,
    rulings: Rulings,
    lines: Lines<BufReader<DuplexStream>>,
    input: DuplexStream,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<io::Result<()>>,
}

fn start(configure: impl FnOnce(&mut ServerConfig)) -> Client {
    let world = world();
    let mut config = config();
    configure(&mut config);
    let (input, reader) = tokio::io::duplex(1 << 20);
    let (output, writer) = tokio::io::duplex(1 << 20);
    let (stop, stopped) = oneshot::channel();
    let shutdown = async { drop(stopped.await) };
    let face = stdio::Face::new(config, world.ports());
    let rulings = face.rulings();
    let served = face.serve(gateway_domain::Caller::anonymous(), reader, writer, shutdown);
    let served = tokio::spawn(served);
    Client { world, rulings, lines: BufReader::new(output).lines(), input, stop: Some(stop), served }
}

impl Client {
    async fn say(&mut self, text: &str) {
        self.input.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> String {
        let line = timeout(Duration::from_secs(5), self.lines.next_line()).await;
        line.expect("no line within 5 s").unwrap().expect("the stream has ended")
    }

    async fn ask(&mut self, text: &str) -> String {
        self.say(text).await;
        self.hear().await
    }

    async fn is_quiet(&mut self) -> bool {
        timeout(QUIET, self.lines.next_line()).await.is_err()
    }

    async fn initialize(&mut self, revision: &str) -> String {
        let answer = self.ask(&hello(revision)).await;
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }

    /// Ends the input and returns what was still said.
    async fn end(mut self) -> (Vec<String>, io::Result<()>) {
        self.input.shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(line) = timeout(Duration::from_secs(5), self.lines.next_line()).await.unwrap().unwrap()
        {
            rest.push(line);
        }
        (rest, self.served.await.unwrap())
    }
}

fn modern(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{}}}}}"#, envelope(MODERN))
}

#[tokio::test]
async fn both_eras_speak_in_one_process() {
    let mut client = start(|_| {});
    // A probe does not decide the era.
    let discovered = client.ask(&modern("0", "server/discover", "")).await;
    assert!(
        discovered.starts_with(r#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2026-07-28"]"#),
        "{discovered}"
    );
    assert!(client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await.contains("-32600"));
    assert_eq!(
        client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#
    );
    assert!(client.initialize("2026-07-28").await.contains(r#""protocolVersion":"2025-11-25""#));
    let legacy = client.ask(r#"{"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"files__echo","arguments":{"n":1.0}}}"#).await;
    assert_eq!(legacy, r#"{"jsonrpc":"2.0","id":"","result":{"content":[],"structuredContent":{"n":1.0}}}"#);
    let answer =
        client.ask(&modern("2", "tools/call", r#""name":"files__echo","arguments":{"n":1.0},"#)).await;
    assert_eq!(
        answer,
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[],"structuredContent":{{"n":1.0}},"resultType":"complete",{OURS}}}}}"#
        )
    );
    let world = client.world.clone();
    let (rest, ended) = client.end().await;
    assert!(rest.is_empty() && ended.is_ok(), "{rest:?} {ended:?}");
    // Beside what else ends then.
    until(|| {
        let keys = world.ended.lock().unwrap().clone();
        keys.iter().any(|key| matches!(key, SessionKey::Legacy { .. }))
            && keys.iter().any(|key| matches!(key, SessionKey::Modern { .. }))
    })
    .await;
}

#[tokio::test]
async fn what_is_no_message_is_said_to_be_none() {
    let mut client = start(|config| config.limits.body_bytes = 1000);
    for (text, expected) in [
        ("{", r#"{"jsonrpc":"2.0","error":{"code":-32700,"#),
        (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"#),
        ("[]", r#"{"jsonrpc":"2.0","error":{"code":-32600,"#),
        (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, r#"{"jsonrpc":"2.0","error":{"code":-32600,"#),
        (
            &"x".repeat(2000),
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is larger than 1000 bytes""#,
        ),
        (&modern("6", "nosuch", ""), r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"#),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"#,
        ),
        (
            &modern("8", "tools/call", r#""name":"files__panic","#),
            r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"#,
        ),
    ] {
        let answer = client.ask(text).await;
        assert!(answer.starts_with(expected), "for {text}: {answer}");
    }
    // Blank lines, responses and unknown notifications are no reason to speak.
    client
        .say("\n  \n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}")
        .await;
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn requests_run_side_by_side_and_are_cancelled_by_id() {
    let mut client = start(|_| {});
    client.initialize("2025-06-18").await;
    let world = client.world.clone();
    client.say(&modern("1", "tools/call", r#""name":"files__hang","#)).await;
    client.say(r#"{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"files__hang"}}"#).await;
    world.reaches(&world.begun, 2).await;
    assert!(client.ask(&modern("2", "tools/list", "")).await.contains(r#""id":2,"#));
    for (dropped, id) in [(1, "1"), (2, "\"1\"")] {
        client
            .say(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            ))
            .await;
        world.reaches(&world.dropped, dropped).await;
    }
    assert!(client.is_quiet().await, "a cancelled request gets no answer");
}

#[tokio::test]
async fn progress_comes_before_its_answer() {
    let mut client = start(|_| {});
    let text = modern("1", "tools/call", r#""name":"files__progress","#)
        .replace(r#""_meta":{"#, r#""_meta":{"progressToken":"t","#);
    client.say(&text).await;
    for step in ["1", "2.5", "3", "4"] {
        let heard = client.hear().await;
        assert!(heard.contains(&format!(r#""progressToken":"t","progress":{step}"#)), "{heard}");
    }
    assert!(client.hear().await.starts_with(r#"{"jsonrpc":"2.0","id":1,"result""#));
}

#[tokio::test]
async fn changes_are_told_to_legacy_clients_and_to_modern_ones_that_listen() {
    let mut client = start(|_| {});
    client.world.change();
    client.initialize("2025-11-25").await;
    assert!(client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.contains("result"));
    client.world.change();
    assert_eq!(client.hear().await, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);

    let tag = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"L"}"#;
    let acknowledged = client
        .ask(&modern("\"L\"", "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#))
        .await;
    assert!(acknowledged.contains("notifications/subscriptions/acknowledged") && acknowledged.contains(tag));
    client.world.change();
    let mut heard = [client.hear().await, client.hear().await];
    heard.sort_by_key(String::len);
    assert!(heard[1].contains(tag) && !heard[0].contains("subscriptionId"), "{heard:?}");
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L"}}"#).await;
    assert!(client.is_quiet().await);
    client.world.change();
    assert_eq!(client.hear().await, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn what_the_rules_refuse_from_now_on_is_watched_no_longer() {
    let filter = r#""notifications":{"resourceSubscriptions":["a:1","a:2","a:3"]},"#;
    for is_modern in [true, false] {
        let mut client = start(|_| {});
        client.world.offer_all();
        if is_modern {
            client.ask(&modern("\"L\"", "subscriptions/listen", filter)).await;
        } else {
            client.initialize("2025-11-25").await;
            for uri in ["a:1", "a:2", "a:3"] {
                let params = format!(r#"{{"uri":"{uri}"}}"#);
                let request = r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":"#;
                assert!(client.ask(&format!("{request}{params}}}")).await.contains(r#""result""#));
            }
        }
        let world = client.world.clone();
        assert_eq!(world.watching(), 3);
        world.refused.lock().unwrap().push("a:1");
        world.down.lock().unwrap().push("a:2");
        client.rulings.changed();
        until(|| world.watching() == 2).await;
        until(|| world.watched.lock().unwrap().len() == 4).await;
        let mut heard = Vec::new();
        for uri in ["a:1", "a:2", "a:3"] {
            world.update(uri, &format!(r#"{{"uri":"{uri}"}}"#));
        }
        while let Ok(line) = timeout(3 * QUIET, client.lines.next_line()).await {
            heard.push(line.unwrap().expect("the face goes on"));
        }
        let heard = heard.concat();
        assert_eq!(["a:1", "a:2", "a:3"].map(|uri| heard.contains(uri)), [false, true, true], "{heard}");
    }
}

#[tokio::test]
async fn the_end_of_input_waits_for_answers_and_ends_streams() {
    let mut client = start(|_| {});
    let world = client.world.clone();
    client.ask(&modern("\"L\"", "subscriptions/listen", r#""notifications":{},"#)).await;
    client.say(&modern("1", "tools/call", r#""name":"files__slow","#)).await;
    world.reaches(&world.begun, 1).await;
    let end = tokio::spawn(client.end());
    tokio::time::sleep(QUIET).await;
    assert!(!end.is_finished());
    world.go.notify_one();
    let (rest, ended) = end.await.unwrap();
    assert!(ended.is_ok());
    assert!(
        rest[0].starts_with(r#"{"jsonrpc":"2.0","id":"L","result":{"resultType":"complete""#),
        "{rest:?}"
    );
    assert!(
        rest[1].contains("notifications/cancelled") && rest[1].contains(r#""requestId":"L""#),
        "{rest:?}"
    );
    assert!(rest[2].starts_with(r#"{"jsonrpc":"2.0","id":1,"result""#), "{rest:?}");
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_ever() {
    let mut client = start(|config| config.limits.drain = Duration::from_millis(60));
    let world = client.world.clone();
    client.say(&modern("1", "tools/call", r#""name":"files__hang","#)).await;
    world.reaches(&world.begun, 1).await;
    drop(client.stop.take());
    let told = client.hear().await;
    assert!(told.contains(r#""id":1,"error""#) && told.contains(r#""kind":"shutting_down""#), "{told}");
    let ended = timeout(Duration::from_secs(5), client.served).await.expect("still serving").unwrap();
    assert!(ended.is_ok());
    world.reaches(&world.dropped, 1).await;
}

#[tokio::test]
async fn a_shutdown_after_the_end_of_input_waits_no_longer() {
    let mut client = start(|_| {});
    let (world, stop) = (client.world.clone(), client.stop.take());
    client.say(&modern("1", "tools/call", r#""name":"files__hang","#)).await;
    world.reaches(&world.begun, 1).await;
    let end = tokio::spawn(client.end());
    tokio::time::sleep(QUIET).await;
    assert!(!end.is_finished());
    drop(stop);
    let (rest, ended) = timeout(Duration::from_secs(4), end).await.expect("still serving").unwrap();
    assert!(ended.is_ok());
    assert!(rest.len() == 1 && rest[0].contains(r#""kind":"shutting_down""#), "{rest:?}");
}

#[tokio::test]
async fn a_client_that_does_not_listen_any_more_ends_everything() {
    let mut client = start(|_| {});
    let world = client.world.clone();
    client.say(&modern("1", "tools/call", r#""name":"files__hang","#)).await;
    world.reaches(&world.begun, 1).await;
    client.lines = BufReader::new(tokio::io::duplex(1).0).lines();
    client.say(&modern("2", "tools/list", "")).await;
    let ended = timeout(Duration::from_secs(5), client.served).await.expect("still serving").unwrap();
    let error = ended.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(error.to_string(), "the client has closed our standard output");
    world.reaches(&world.dropped, 1).await;
}

#[tokio::test]
async fn arrays_are_for_one_revision_only() {
    let mut client = start(|_| {});
    client.initialize("2025-03-26").await;
    let answer = client
        .ask(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#)
        .await;
    assert_eq!(answer, r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#);
}

#[tokio::test]
async fn more_than_the_limit_is_refused_at_once() {
    let mut client = start(|config| config.limits.in_flight_per_caller = 2);
    let world = client.world.clone();
    for id in ["1", "2"] {
        client.say(&modern(id, "tools/call", r#""name":"files__hang","#)).await;
    }
    world.reaches(&world.begun, 2).await;
    let answer = client.ask(&modern("3", "tools/call", r#""name":"files__echo","#)).await;
    assert!(
        answer.contains(r#""id":3,"error":{"code":-32603"#) && answer.contains("caller_overloaded"),
        "{answer}"
    );
}

fn hello(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"h","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}}}}}}"#
    )
}

fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

fn hang(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"files__hang"}}}}"#)
}

/// The reader meets both messages before any task of the first has run.
#[tokio::test]
async fn a_call_can_be_cancelled_in_the_same_breath() {
    let mut client = start(|_| {});
    client.initialize("2025-03-26").await;
    let filter = r#""notifications":{"toolsListChanged":true},"#;
    for call in [
        hang("7"),
        modern("7", "tools/call", r#""name":"files__hang","#),
        modern("7", "subscriptions/listen", filter),
    ] {
        client.say(&format!("{call}\n{}", cancel("7"))).await;
        client.world.change();
        assert!(client.hear().await.contains(r#""notifications/tools/list_changed"}"#));
        assert!(client.is_quiet().await, "of {call}");
    }
    // An array is one answer, and says that of a call which it has cancelled itself.
    for text in [format!("[{},{}]", hang("7"), cancel("7")), format!("[{}]\n{}", hang("7"), cancel("7"))] {
        let answer = client.ask(&text).await;
        assert!(answer.starts_with(r#"[{"jsonrpc":"2.0","id":7,"error""#), "{answer}");
        assert!(answer.contains(r#""kind":"cancelled""#), "{answer}");
    }
    assert_eq!(client.world.begun.load(Ordering::SeqCst), 0, "nothing has been called");
}

#[tokio::test]
async fn what_is_read_for_a_client_is_cancelled_by_its_id_too() {
    let mut client = start(|_| {});
    client.world.hangs.store(true, Ordering::SeqCst);
    for method in ["server/discover", "tools/list", "prompts/list"] {
        client.say(&modern("7", method, "")).await;
        client.say(&cancel("7")).await;
    }
    client.world.hangs.store(false, Ordering::SeqCst);
    assert!(client.ask(&modern("8", "tools/list", "")).await.contains(r#""id":8,"result""#));
    let (rest, ended) = timeout(Duration::from_secs(5), client.end()).await.expect("nothing runs any more");
    assert!(rest.is_empty() && ended.is_ok(), "{rest:?}");
}

#[tokio::test]
async fn what_a_second_handshake_ends_is_answered_once() {
    let mut client = start(|_| {});
    client.initialize("2025-06-18").await;
    let world = client.world.clone();
    client.say(&format!("{}\n{}", hang("1"), hang("2"))).await;
    world.reaches(&world.begun, 2).await;
    client.say(&hello("2025-11-25")).await;
    let heard = [client.hear().await, client.hear().await, client.hear().await];
    let of =
        |id: &str| heard.iter().filter(|text| text.contains(&format!(r#""id":{id},"#))).collect::<Vec<_>>();
    assert!(of("\"h\"")[0].contains(r#""protocolVersion":"2025-11-25""#), "{heard:?}");
    for id in ["1", "2"] {
        let answers = of(id);
        assert_eq!(answers.len(), 1, "{heard:?}");
        assert!(answers[0].contains(r#""kind":"session_closed""#), "{heard:?}");
        assert!(answers[0].contains(r#""may_have_executed":true"#), "{heard:?}");
    }
    world.reaches(&world.dropped, 2).await;
    assert!(client.is_quiet().await);
}
