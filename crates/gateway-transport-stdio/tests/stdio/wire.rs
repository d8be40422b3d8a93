//! Servers that say what no switch of the fake says: shell scripts with literal lines.

use std::time::Duration;

use gateway_domain::{
    ClientCapabilities, DownstreamFault, DownstreamSession, Era, Exchange, RawObject, Session, SessionProfile,
};
use gateway_transport_stdio::{StdioConfig, StdioSession};

use crate::support::*;

/// A session with a script that has answered the opening; the next id is 2.
async fn script(era: Era, version: &str, script: &str) -> StdioSession {
    let opening = match era {
        Era::Legacy => format!(
            r#"read -r _; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{version}","capabilities":{{}}}}}}'; read -r _;"#
        ),
        Era::Modern => format!(
            r#"read -r _; echo '{{"jsonrpc":"2.0","id":1,"result":{{"supportedVersions":["{version}"],"capabilities":{{}}}}}}';"#
        ),
    };
    let command = ["sh", "-c", &format!("{opening} {script}")].map(str::to_owned);
    let mut config = StdioConfig::new(command.to_vec(), us());
    config.call_timeout = Duration::from_millis(500);
    config.max_line_bytes = 4096;
    factory(config).0.open(&profile(era)).await.unwrap()
}

#[tokio::test]
async fn arrays_are_unpacked_where_the_revision_has_them() {
    let array = r#"read -r _; read -r _; echo '[{"jsonrpc":"2.0","id":3,"result":{"n":3}},{"jsonrpc":"2.0","id":2,"result":{"n":2}}]'; cat >/dev/null"#;
    for (version, unpacked) in [("2025-03-26", true), ("2025-06-18", false)] {
        let session = script(Era::Legacy, version, array).await;
        let (two, three) = tokio::join!(call(&session, "a", "{}"), call(&session, "b", "{}"));
        if unpacked {
            assert_eq!((complete(two).as_str(), complete(three).as_str()), (r#"{"n":2}"#, r#"{"n":3}"#));
        } else {
            assert!(matches!(fault(two).fault, DownstreamFault::TimedOut { .. }));
            assert!(matches!(fault(three).fault, DownstreamFault::TimedOut { .. }));
        }
    }
}

#[tokio::test]
async fn a_legacy_servers_ping_is_answered_and_a_modern_ones_is_not() {
    let ping = r#"read -r _; echo '{"jsonrpc":"2.0","id":"p","method":"ping"}'; read -r next; printf '{"jsonrpc":"2.0","id":2,"result":%s}\n' "$next"; cat >/dev/null"#;
    let session = script(Era::Legacy, "2025-11-25", ping).await;
    let pong = result(&session, "a", "{}").await;
    assert_eq!(pong.as_str(), r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);

    let session = script(Era::Modern, "2026-07-28", ping).await;
    let second = async {
        until("the ping was refused", || session.dropped() == 1).await;
        drop(call(&session, "second", "{}").await);
    };
    let (next, ()) = tokio::join!(call(&session, "a", "{}"), second);
    assert_eq!(complete(next).get_text("method").as_deref(), Some("tools/call"));
}

#[tokio::test]
async fn an_answer_that_is_no_answer_fails_its_call_at_once() {
    let deep = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for (answer, reason) in [
        (r#"{"jsonrpc":"2.0","id":2,"result":7}"#, "`result` is not an object"),
        (r#"{"jsonrpc":"2.0","id":2}"#, "neither `method` nor `result` nor `error`"),
        (r#"{"id":2,"result":{}}"#, "`jsonrpc` is not \"2.0\""),
        (r#"{"jsonrpc":"2.0","result":{"a":1,"a":2},"id":2}"#, "\"a\""),
        (r#"{"jsonrpc":"2.0","id":"x","result":{"a":1,"a":2}}"#, "\"a\""),
        (&deep, "128"),
    ] {
        let line = format!("read -r _; echo '{answer}'; cat >/dev/null");
        let session = script(Era::Legacy, "2025-11-25", &line).await;
        let error = fault(call(&session, "a", "{}").await);
        assert!(matches!(error.fault, DownstreamFault::Nonsense { .. }), "for {answer}: {error}");
        assert!(error.to_string().contains(reason), "for {answer}: {error}");
        assert!(session.is_open());
    }
    let answer =
        r#"read -r _; echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"new"}}'; cat >/dev/null"#;
    let error = fault(call(&script(Era::Modern, "2026-07-28", answer).await, "a", "{}").await);
    assert!(error.to_string().contains("unknown resultType"), "{error}");
}

#[tokio::test]
async fn a_refused_request_of_the_servers_costs_no_call_of_the_same_id() {
    for bad in [r#"{"jsonrpc":"2.0","id":2,"method":"roots/list","params":7}"#, r#"{"error":"no disk"}"#] {
        let line = format!(
            r#"read -r _; echo '{bad}'; echo '{{"jsonrpc":"2.0","id":2,"result":{{"n":2}}}}'; cat >/dev/null"#
        );
        let session = script(Era::Legacy, "2025-11-25", &line).await;
        assert_eq!(result(&session, "a", "{}").await.as_str(), r#"{"n":2}"#, "for {bad}");
    }
}

#[tokio::test]
async fn a_refused_answer_that_names_nobody_is_told_at_the_timeout_of_the_one_it_was_for() {
    let line = r#"read -r _; read -r _; echo '{"jsonrpc":"2.0","result":{"a":1,"a":2}}'; echo '{"jsonrpc":"2.0","id":3,"result":{"n":3}}'; cat >/dev/null"#;
    let session = script(Era::Legacy, "2025-11-25", line).await;
    let (two, three) = tokio::join!(call(&session, "a", "{}"), call(&session, "b", "{}"));
    assert!(matches!(fault(two).fault, DownstreamFault::Nonsense { .. }));
    assert_eq!(complete(three).as_str(), r#"{"n":3}"#);
}

#[tokio::test]
async fn a_message_without_a_line_end_counts_when_the_stream_ends() {
    let last = r#"read -r _; printf '{"jsonrpc":"2.0","id":2,"result":{"last":true}}'"#;
    let session = script(Era::Legacy, "2024-11-05", last).await;
    assert_eq!(result(&session, "a", "{}").await.as_str(), r#"{"last":true}"#);
    let told = async {
        // First it is seen that stdout is closed, then why.
        while !fault(session.ping().await).to_string().contains("exit status 0") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(SOON, told).await.is_ok());
}

/// Writes a line that is too long, with this beginning.
fn long(head: &str) -> String {
    format!("printf '%s' '{head}'; head -c 5000 /dev/zero | tr '\\0' x; echo;")
}

#[tokio::test]
async fn an_overlong_line_that_is_no_answer_costs_no_call() {
    for head in [r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":""#, "INFO result: "] {
        let line = format!(
            r#"read -r _; {} echo '{{"jsonrpc":"2.0","id":2,"result":{{"n":2}}}}'; cat >/dev/null"#,
            long(head)
        );
        let session = script(Era::Legacy, "2025-11-25", &line).await;
        assert_eq!(result(&session, "a", "{}").await.as_str(), r#"{"n":2}"#, "for {head}");
        assert_eq!(session.dropped(), 1);
    }
}

#[tokio::test]
async fn an_overlong_answer_is_charged_to_the_call_that_it_names() {
    let line = format!(
        "read -r _; read -r _; {} cat >/dev/null",
        long(r#"{"jsonrpc":"2.0","id":3,"result":{"text":""#)
    );
    let session = script(Era::Legacy, "2025-11-25", &line).await;
    let (two, three) = tokio::join!(call(&session, "a", "{}"), call(&session, "b", "{}"));
    assert!(matches!(fault(two).fault, DownstreamFault::TimedOut { .. }));
    assert_eq!(fault(three).fault, DownstreamFault::TooLarge { limit: 4096 });
}

#[tokio::test]
async fn an_overlong_answer_that_may_be_an_earlier_calls_is_charged_to_nobody_who_is_answered() {
    // The first call is given up; its answer, which names nobody in time, comes during the second.
    let line = format!(
        r#"read -r _; read -r _; read -r _; {} echo '{{"jsonrpc":"2.0","id":3,"result":{{"n":3}}}}'; cat >/dev/null"#,
        long(r#"{"result":{"text":""#)
    );
    let session = script(Era::Legacy, "2025-11-25", &line).await;
    assert!(matches!(fault(call(&session, "a", "{}").await).fault, DownstreamFault::TimedOut { .. }));
    assert_eq!(result(&session, "b", "{}").await.as_str(), r#"{"n":3}"#);

    // Without an earlier one it can only be for the one that waits.
    let line = format!("read -r _; {} cat >/dev/null", long(r#"{"result":{"text":""#));
    let session = script(Era::Legacy, "2025-11-25", &line).await;
    let begun = tokio::time::Instant::now();
    let error = fault(call(&session, "a", "{}").await);
    assert_eq!(error.fault, DownstreamFault::TooLarge { limit: 4096 });
    assert!(begun.elapsed() < Duration::from_millis(500));
}

#[tokio::test]
async fn calls_declare_what_their_own_client_can_do_and_handshakes_what_the_profile_says() {
    let declares = |text: &str| ClientCapabilities::from(RawObject::parse(text.to_owned()).unwrap());
    let opening = [
        (Era::Modern, r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#, ""),
        (Era::Legacy, r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#, "read -r _;"),
    ];
    for (era, answer, initialized) in opening {
        let lines = format!(
            r#"read -r first; echo '{{"jsonrpc":"2.0","id":1,"result":{answer}}}'; {initialized} read -r called; printf '{{"jsonrpc":"2.0","id":2,"result":{{"first":%s,"called":%s}}}}\n' "$first" "$called"; cat >/dev/null"#
        );
        let config = StdioConfig::new(["sh", "-c", &lines].map(str::to_owned).to_vec(), us());
        let profile =
            SessionProfile { era, capabilities: declares(r#"{"roots":{}}"#), ..SessionProfile::default() };
        let session = factory(config).0.open(&profile).await.unwrap();
        let exchange = Exchange { capabilities: declares(r#"{"sampling":{}}"#), ..exchange(None) };
        let seen = complete(session.call_tool("a", &[], &params("{}"), &exchange).await);
        let (first, called) = (seen.get("first").unwrap(), seen.get("called").unwrap());
        let declared = if era == Era::Modern { r#"apabilities":{}"# } else { r#"apabilities":{"roots":{}}"# };
        assert!(first.as_str().contains(declared), "{first}");
        assert_eq!(called.as_str().contains(r#"{"sampling":{}}"#), era == Era::Modern, "{called}");
    }
}

#[tokio::test]
async fn what_a_server_says_of_its_refusal_holds_no_secrets() {
    let refusal = r#"read -r _; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no key $KEY\"}}"; cat >/dev/null"#;
    let mut config = StdioConfig::new(["sh", "-c", refusal].map(str::to_owned).to_vec(), us());
    config.env.insert("KEY".into(), "s3cret-token".into());
    config.protocol = Some(gateway_protocol::Revision::V2025_11_25);
    let error = fault(factory(config).0.open(&profile(Era::Legacy)).await).to_string();
    assert!(error.contains("no key [hidden]") && !error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_server_that_changes_its_era_between_restarts_costs_no_opening() {
    let upgraded = std::env::temp_dir().join(marker("upgraded"));
    let server = format!(
        r#"n=0; while read -r line; do n=$((n+1)); refusal='"error":{{"code":-32601,"message":"no"}}'
        if [ -e '{}' ]; then old=$refusal; new='"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{}}}}'
        else new=$refusal; old='"result":{{"protocolVersion":"2025-11-25","capabilities":{{}}}}'; fi
        case $line in *server/discover*) a=$new;; *'"initialize"'*) a=$old;; *) continue;; esac
        echo "{{\"jsonrpc\":\"2.0\",\"id\":$n,$a}}"; done"#,
        upgraded.display()
    );
    let config = StdioConfig::new(["sh", "-c", &server].map(str::to_owned).to_vec(), us());
    let (factory, _) = factory(config);
    for (modern, want) in [
        (false, Era::Modern),
        (true, Era::Modern),
        (false, Era::Legacy),
        (true, Era::Legacy),
        (false, Era::Legacy),
    ] {
        if modern {
            std::fs::write(&upgraded, "").unwrap();
        } else {
            drop(std::fs::remove_file(&upgraded));
        }
        let session = factory.open(&profile(want)).await.unwrap();
        assert_eq!(session.peer().era, if modern { Era::Modern } else { Era::Legacy });
        session.close().await;
    }
}
