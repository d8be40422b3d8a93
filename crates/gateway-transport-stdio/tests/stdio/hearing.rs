//! What servers say by themselves: logs, changes of lists, and of resources that are watched.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use gateway_domain::{
    CallerError, ClientLink, DownstreamSession, Era, Error, EventSink, Exchange, LogLevel, RawObject,
    Reference, Session, Subject, Updates,
};
use gateway_transport_stdio::StdioSession;

use crate::{asking::Client, script::*, support::*};

fn logging(events: &Arc<Events>, level: Option<LogLevel>) -> Exchange {
    let mut exchange = exchange(None);
    exchange.log_level = level;
    exchange.events = Arc::clone(events) as Arc<dyn EventSink>;
    exchange
}

const LOGS: &str = r#"*logging/setLevel*) result "$id" '{}';;
    *'"name":"log"'*) note notifications/message '{"level":"info","data":"i"}'
        note notifications/message '{"level":"error","data":"e"}'; result "$id" '{}';;
    *'"name":"hold"'*) held=$id;;
    *'"name":"free"'*) note notifications/message '{"level":"error","data":"whose"}'
        note notifications/elicitation/complete '{"elicitationId":"1"}'
        result "$id" '{}'; result "$held" '{}';;"#;

#[tokio::test]
async fn levels_are_set_once_and_logs_go_to_the_call_that_wants_them() {
    let (config, seen) = server(Era::Legacy, r#"{"logging":{}}"#, LOGS);
    let session = able(&factory(config).0, Era::Legacy).await;
    for (level, told, sent) in [
        (None, "", 0),
        (Some(LogLevel::Error), "e", 1),
        (Some(LogLevel::Debug), "ie", 2),
        (Some(LogLevel::Warning), "e", 2),
        (None, "", 2),
    ] {
        let events = Arc::new(Events::default());
        complete(session.call_tool("log", &[], &params("{}"), &logging(&events, level)).await);
        let heard: String =
            events.0.lock().unwrap().iter().map(|event| object(event).get_text("data").unwrap()).collect();
        assert_eq!(heard, told, "at {level:?}");
        assert_eq!(seen.count("logging/setLevel"), sent, "at {level:?}");
    }
}

#[tokio::test]
async fn a_server_without_logging_is_not_asked_to_log() {
    let (config, seen) = server(Era::Legacy, "{}", LOGS);
    let session = able(&factory(config).0, Era::Legacy).await;
    let events = Arc::new(Events::default());
    complete(session.call_tool("log", &[], &params("{}"), &logging(&events, Some(LogLevel::Info))).await);
    assert_eq!((events.0.lock().unwrap().len(), seen.count("setLevel")), (2, 0));
}

#[tokio::test]
async fn a_log_that_is_no_calls_in_particular_is_the_owners_or_nobodys() {
    for attended in [true, false] {
        let (config, seen) = server(Era::Legacy, r#"{"logging":{}}"#, LOGS);
        let session = factory(config).0.open(&profile(Era::Legacy)).await.unwrap();
        let client = Arc::new(Client::default());
        if attended {
            let link: Arc<dyn ClientLink> = client.clone();
            session.attend(Arc::downgrade(&link));
        }
        let events = Arc::new(Events::default());
        let wants = logging(&events, Some(LogLevel::Debug));
        let given = params("{}");
        let free = async {
            seen.times(1, r#""name":"hold""#).await;
            session.call_tool("free", &[], &given, &wants).await
        };
        let (held, freed) = tokio::join!(session.call_tool("hold", &[], &given, &wants), free);
        complete(held);
        complete(freed);
        assert!(events.0.lock().unwrap().is_empty());
        let told = client.0.lock().unwrap().clone();
        if attended {
            let expected =
                [r#"fake log {"level":"error","data":"whose"}"#, r#"fake done {"elicitationId":"1"}"#];
            assert_eq!(told, expected);
        } else {
            assert_eq!((told.len(), session.dropped()), (0, 1));
        }
    }
}

#[tokio::test]
async fn a_modern_server_logs_for_the_only_call_that_asked_for_it() {
    let (config, seen) = server(Era::Modern, r#"{"logging":{}}"#, LOGS);
    let session = factory(config).0.open(&profile(Era::Modern)).await.unwrap();
    let [mute, loud] = [Arc::new(Events::default()), Arc::new(Events::default())];
    let (quiet, wants) = (logging(&mute, None), logging(&loud, Some(LogLevel::Info)));
    let given = params("{}");
    let free = async {
        seen.times(1, r#""name":"hold""#).await;
        session.call_tool("free", &[], &given, &quiet).await
    };
    let (held, freed) = tokio::join!(session.call_tool("hold", &[], &given, &wants), free);
    complete(held);
    complete(freed);
    assert_eq!((mute.0.lock().unwrap().len(), loud.0.lock().unwrap().len()), (0, 1));
    assert_eq!(seen.count("setLevel"), 0);
}

#[tokio::test]
async fn every_list_may_change_in_either_era() {
    let cases = r#"*'"name":"x"'*) for list in tools prompts resources; do note notifications/$list/list_changed '{}'; done
        result "$id" '{}';;"#;
    for era in [Era::Legacy, Era::Modern] {
        let (config, _seen) = server(era, "{}", cases);
        let (factory, ear) = factory(config);
        let session = factory.open(&profile(era)).await.unwrap();
        result(&session, "x", "{}").await;
        assert_eq!(ear.changes.load(Ordering::Relaxed), 3);
    }
}

#[tokio::test]
async fn a_session_after_a_loss_begins_with_the_news_that_there_may_be_some() {
    let announces = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":true}}"#;
    let (config, _seen) = server(Era::Legacy, announces, r#"*'"name":"die"'*) exit 1;;"#);
    let (factory, ear) = factory(config);
    let session = factory.open(&profile(Era::Legacy)).await.unwrap();
    fault(call(&session, "die", "{}").await);
    until("the loss is told", || !ear.losses.lock().unwrap().is_empty()).await;
    assert_eq!(ear.changes.load(Ordering::Relaxed), 0);
    for _ in 0..2 {
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        assert_eq!(ear.changes.load(Ordering::Relaxed), 2);
        session.close().await;
    }
}

/// Remembers which resources have changed.
#[derive(Debug, Default)]
struct Watcher(Mutex<Vec<String>>);

impl Watcher {
    fn told(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Updates for Watcher {
    fn updated(&self, params: RawObject) {
        self.0.lock().unwrap().push(params.get_text("uri").unwrap());
    }

    fn lost(&self) {
        self.0.lock().unwrap().push("lost".into());
    }
}

async fn watch(
    session: &StdioSession,
    uri: &str,
    watcher: &Arc<Watcher>,
) -> Result<gateway_domain::Subscription, Error> {
    session.subscribe(uri, Arc::clone(watcher) as Arc<dyn Updates>).await
}

const LEGACY: &str = r#"*resources/unsubscribe*) result "$id" '{}';;
    *resources/subscribe*bad*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32002,\"message\":\"no\"}}";;
    *resources/subscribe*) result "$id" '{}';;"#;
const CHANGES: &str = r#"*'"name":"change"'*) for uri in a:1 a:1/b a:12 a:2; do
        note notifications/resources/updated "{\"uri\":\"$uri\"}"; done; result "$id" '{}';;"#;

#[tokio::test]
async fn a_resource_of_a_legacy_server_is_subscribed_to_once_and_ended_with_the_last_watcher() {
    let (config, seen) =
        server(Era::Legacy, r#"{"resources":{"subscribe":true}}"#, &format!("{LEGACY}{CHANGES}"));
    let session = factory(config).0.open(&profile(Era::Legacy)).await.unwrap();
    let [one, two] = [Arc::new(Watcher::default()), Arc::new(Watcher::default())];
    let first = watch(&session, "a:1", &one).await.unwrap();
    let second = watch(&session, "a:1", &two).await.unwrap();
    result(&session, "change", "{}").await;
    for watcher in [&one, &two] {
        assert_eq!(watcher.told(), ["a:1", "a:1/b"]);
    }
    drop(first);
    let refused = watch(&session, "bad:", &one).await.unwrap_err();
    assert_eq!(refused, CallerError::UnknownResource { uri: "bad:".into() }.into());
    result(&session, "change", "{}").await;
    assert_eq!((one.told().len(), two.told().len()), (2, 4));
    assert_eq!((seen.count("resources/subscribe"), seen.count("resources/unsubscribe")), (2, 0));
    drop(second);
    seen.times(1, "resources/unsubscribe").await;
    let _third = watch(&session, "a:1", &one).await.unwrap();
    seen.times(3, "resources/subscribe").await;
    session.close().await;
    assert_eq!(one.told().last().unwrap(), "lost");
    assert!(watch(&session, "a:1", &one).await.is_err());
}

#[tokio::test]
async fn nothing_is_watched_where_a_server_has_no_subscriptions() {
    for (era, capabilities) in [(Era::Legacy, r#"{"tools":{}}"#), (Era::Modern, r#"{"resources":{}}"#)] {
        let (config, seen) = server(era, capabilities, LEGACY);
        let session = factory(config).0.open(&profile(era)).await.unwrap();
        let refused = watch(&session, "a:1", &Arc::default()).await.unwrap_err();
        assert_eq!(refused, CallerError::UnknownMethod { method: "resources/subscribe".into() }.into());
        assert_eq!(seen.count("ubscri"), 0);
    }
}

/// Grants what is listened to, but for `bad:`.
const LISTENS: &str = r#"*subscriptions/listen*bad:*) note notifications/subscriptions/acknowledged \
        "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$id},\"notifications\":{\"resourceSubscriptions\":[\"a:1\"]}}";;
    *subscriptions/listen*) listen=$id; wanted=${line#*'"notifications":'}; wanted=${wanted%%,'"_meta"'*}
        note notifications/subscriptions/acknowledged \
        "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$id},\"notifications\":$wanted}";;
    *'"name":"end"'*) result "$listen" '{"resultType":"complete"}'; result "$id" '{}';;"#;
const ANNOUNCES: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}"#;

#[tokio::test]
async fn a_modern_server_is_listened_to_anew_for_each_resource_and_the_old_request_ends_then() {
    let (config, seen) = server(Era::Modern, ANNOUNCES, &format!("{LISTENS}{CHANGES}"));
    let (factory, ear) = factory(config);
    let session = factory.open(&profile(Era::Modern)).await.unwrap();
    let lists = r#""toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true"#;
    seen.times(1, &format!(r#""notifications":{{{lists}}}"#)).await;
    let watcher = Arc::new(Watcher::default());
    let first = watch(&session, "a:1", &watcher).await.unwrap();
    seen.times(1, &format!(r#"{{{lists},"resourceSubscriptions":["a:1"]}}"#)).await;
    seen.times(1, r#""requestId":2,"#).await;
    let refused = watch(&session, "bad:", &watcher).await.unwrap_err();
    assert_eq!(refused, CallerError::UnknownResource { uri: "bad:".into() }.into());
    let second = watch(&session, "a:2", &watcher).await.unwrap();
    seen.times(1, r#"["a:1","a:2"]"#).await;
    result(&session, "change", "{}").await;
    assert_eq!(watcher.told(), ["a:1", "a:1/b", "a:2"]);
    // As many as were replaced have been ended.
    until("the old ones ended", || seen.count("notifications/cancelled") == 3).await;
    drop(first);
    seen.times(1, r#"["a:2"]"#).await;
    // One that the server ends is made again, with the news that there may have been some.
    assert_eq!(ear.changes.load(Ordering::Relaxed), 0);
    until("the old one ended", || seen.count("notifications/cancelled") == 4).await;
    result(&session, "end", "{}").await;
    seen.times(2, r#"["a:2"]"#).await;
    until("the news is told", || ear.changes.load(Ordering::Relaxed) == 3).await;
    until("it is told of the resource", || watcher.told().len() == 4).await;
    assert_eq!(watcher.told()[3], "a:2");
    drop(second);
}

#[tokio::test]
async fn a_server_that_does_not_listen_is_not_asked_again_and_again() {
    let refuses = r#"*subscriptions/listen*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}}";;"#;
    let (config, seen) = server(Era::Modern, ANNOUNCES, refuses);
    let session = factory(config).0.open(&profile(Era::Modern)).await.unwrap();
    seen.times(1, "subscriptions/listen").await;
    assert!(watch(&session, "a:1", &Arc::default()).await.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(seen.count("subscriptions/listen"), 2);
}

#[tokio::test]
async fn a_server_that_has_listened_is_asked_again_whatever_it_says_later() {
    // The second time it refuses.
    let cases = r#"*subscriptions/listen*) listen=$id; asked=$((asked + 1)); wanted=${line#*'"notifications":'}
        wanted=${wanted%%,'"_meta"'*}
        if [ $asked = 2 ]; then say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32603,\"message\":\"no\"}}"
        else note notifications/subscriptions/acknowledged \
            "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$id},\"notifications\":$wanted}"; fi;;
    *'"name":"end"'*) result "$listen" '{"resultType":"complete"}'; result "$id" '{}';;"#;
    let (config, seen) = server(Era::Modern, ANNOUNCES, cases);
    let (factory, ear) = factory(config);
    let session = factory.open(&profile(Era::Modern)).await.unwrap();
    seen.times(1, "subscriptions/listen").await;
    result(&session, "end", "{}").await;
    seen.times(2, "subscriptions/listen").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(ear.changes.load(Ordering::Relaxed), 0);
    // Whoever comes now does not wait for the end of the pause.
    let watcher = Arc::new(Watcher::default());
    let watching = tokio::time::timeout(Duration::from_millis(900), watch(&session, "a:1", &watcher));
    let _watch = watching.await.expect("an answer at once").unwrap();
    assert_eq!(seen.count("subscriptions/listen"), 3);
    until("the news is told", || ear.changes.load(Ordering::Relaxed) == 3).await;
}

#[tokio::test]
async fn a_change_of_roots_is_told_where_it_was_promised() {
    let cases = r#"*'"name":"x"'*) result "$id" '{}';;"#;
    for (is_able, told) in [(true, 1), (false, 0)] {
        let (config, seen) = server(Era::Legacy, "{}", cases);
        let (factory, _) = factory(config);
        let session = if is_able {
            able(&factory, Era::Legacy).await
        } else {
            factory.open(&profile(Era::Legacy)).await.unwrap()
        };
        session.roots_changed().await;
        result(&session, "x", "{}").await;
        assert_eq!(seen.count("notifications/roots/list_changed"), told);
    }
}

#[tokio::test]
async fn every_method_is_called_cancelled_and_answered_late_without_harm() {
    let subjects = [
        Subject::tool("t"),
        Subject::Prompt { name: "p".into() },
        Subject::Resource { uri: "u:".into() },
        Subject::Completion(Reference::Prompt("p".into())),
        Subject::Other { method: "x/y".into() },
    ];
    let cases = r#"*notifications/cancelled*) result "$asked" '{"late":1}';; *'"name":"x"'*) result "$id" '{}';;
        *tools/call*|*prompts/get*|*resources/read*|*completion*|*x/y*) asked=$id;;"#;
    for era in [Era::Legacy, Era::Modern] {
        let (mut config, seen) = server(era, "{}", cases);
        config.max_pending = 1;
        let session = factory(config).0.open(&profile(era)).await.unwrap();
        for (count, subject) in subjects.iter().enumerate() {
            let (given, exchange) = (params("{}"), exchange(None));
            let gone = session.call(subject, &given, &exchange);
            assert!(tokio::time::timeout(Duration::from_millis(100), gone).await.is_err());
            seen.times(count + 1, "notifications/cancelled").await;
            assert!(!seen.lines().last().unwrap().contains("tools/call"));
            // Its place is free.
            result(&session, "x", "{}").await;
        }
        assert_eq!(session.dropped(), 5, "the late answers");
        for subject in ["prompts/get", "resources/read", "completion/complete", "x/y"] {
            assert_eq!(seen.count(&format!(r#""method":"{subject}""#)), 1);
        }
    }
}

#[tokio::test]
async fn every_list_is_read_by_its_own_method() {
    let cases = r#"*tools/list*) result "$id" '{"tools":[{"name":"a"}]}';;
        *prompts/list*) result "$id" '{"prompts":[{"name":"a"}]}';;
        *resources/list*) result "$id" '{"resources":[{"uri":"a:"}]}';;
        *templates/list*) result "$id" '{"resourceTemplates":[{"uriTemplate":"a:{x}"}]}';;"#;
    for era in [Era::Legacy, Era::Modern] {
        let (config, _seen) = server(era, "{}", cases);
        let session = factory(config).0.open(&profile(era)).await.unwrap();
        for list in gateway_domain::ListKind::ALL {
            assert_eq!(session.list(list, None).await.unwrap().items.len(), 1, "{list:?}");
        }
    }
}
