//! Servers that say what no switch of the fake says: shell scripts with literal lines.

use gateway_domain::{DownstreamFault, DownstreamSession, Era, Session};
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
    let mut config = StdioConfig::new(command.to_vec());
    config.call_timeout = std::time::Duration::from_millis(500);
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
    for (answer, reason) in [
        (r#"{"jsonrpc":"2.0","id":2,"result":7}"#, "`result` is not an object"),
        (r#"{"jsonrpc":"2.0","id":2}"#, "neither `method` nor `result` nor `error`"),
        (r#"{"id":2,"result":{}}"#, "`jsonrpc` is not \"2.0\""),
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
async fn a_message_without_a_line_end_counts_when_the_stream_ends() {
    let last = r#"read -r _; printf '{"jsonrpc":"2.0","id":2,"result":{"last":true}}'"#;
    let session = script(Era::Legacy, "2024-11-05", last).await;
    assert_eq!(result(&session, "a", "{}").await.as_str(), r#"{"last":true}"#);
    let lost = fault(session.ping().await);
    assert!(lost.to_string().contains("exit status 0"), "{lost}");
}
