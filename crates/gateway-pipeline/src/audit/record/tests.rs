use std::{net::Ipv6Addr, time::Duration};

use super::*;
use crate::testing::object;

fn record<'a>() -> Record<'a> {
    Record {
        client: Some("desk"),
        name: Some("files__read"),
        decision: Decision::Allowed,
        latency: Duration::from_nanos(12_003_999),
        is_broken: false,
        redactions: 0,
        truncated: false,
        error: None,
        method: Some("tools/call"),
        downstream: None,
        origin: None,
        trace_id: None,
        peer: None,
    }
}

fn at() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(1_791_072_000, 1)
}

#[test]
fn the_members_stand_in_the_order_of_p_4() {
    assert_eq!(
        record().line(at()),
        concat!(
            r#"{"ts":"2026-10-04T00:00:00.000000001Z","client":"desk","tool":"files__read","decision":"allowed","#,
            r#""allowed":true,"latency_ms":12.003,"breaker_state":"closed","redactions":0,"truncated":false,"#,
            r#""error":null,"method":"tools/call"}"#,
            "\n"
        )
    );
    let origin = Origin { workflow: "w".into(), run: "r".into(), step: "s".into() };
    let full = Record {
        client: None,
        name: None,
        decision: Decision::Denied,
        latency: Duration::ZERO,
        is_broken: true,
        redactions: 2,
        truncated: true,
        error: Some("e"),
        method: None,
        downstream: Some("files"),
        origin: Some(&origin),
        trace_id: Some(0xab),
        peer: Some(Ipv6Addr::LOCALHOST.into()),
    };
    assert_eq!(
        full.line(at()),
        concat!(
            r#"{"ts":"2026-10-04T00:00:00.000000001Z","client":null,"tool":null,"decision":"denied_explicit","#,
            r#""allowed":false,"latency_ms":0.000,"breaker_state":"open","redactions":2,"truncated":true,"#,
            r#""error":"e","downstream":"files","workflow":"w","run":"r","step":"s","#,
            r#""trace_id":"000000000000000000000000000000ab","peer":"::1"}"#,
            "\n"
        )
    );
}

#[test]
fn texts_from_outside_are_one_line_of_ascii_and_bounded() {
    for (text, written) in [
        ("plain ~", "plain ~".to_owned()),
        ("a\"b\\c", r"a\u0022b\u005cc".to_owned()),
        ("a\r\nb\u{1b}[31m\u{7f}\0", r"a\u000d\u000ab\u001b[31m\u007f\u0000".to_owned()),
        ("é\u{202e}\u{2028}", r"\u00e9\u202e\u2028".to_owned()),
        ("😀", r"\ud83d\ude00".to_owned()),
        (&"x".repeat(256), "x".repeat(256)),
        (&"x".repeat(257), format!(r"{}\u2026", "x".repeat(256))),
        (&"é".repeat(256), r"\u00e9".repeat(256)),
        (&"é".repeat(300), format!(r"{}\u2026", r"\u00e9".repeat(256))),
    ] {
        let line = Record { name: Some(text), ..record() }.line(at());
        assert!(line.contains(&format!(r#""tool":"{written}","decision""#)), "{line}");
        let kept: String = text.chars().take(256).collect();
        let read = object(line.trim_end()).get_text("tool").unwrap();
        assert_eq!(read.trim_end_matches('…'), kept, "it is read back as it was");
    }
}

#[test]
fn a_clock_before_the_epoch_stands_at_it() {
    let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
    assert!(record().line(before).starts_with(r#"{"ts":"1970-01-01T00:00:00.000000000Z""#));
}

#[test]
fn security_is_what_was_not_allowed_or_redacted() {
    for (decision, redactions, is_security) in [
        (Decision::Allowed, 0, false),
        (Decision::Allowed, 1, true),
        (Decision::Denied, 0, true),
        (Decision::DeniedByDefault, 0, true),
    ] {
        let record = Record { decision, redactions, ..record() };
        assert_eq!(record.is_security(), is_security, "{decision:?}, {redactions}");
    }
}
