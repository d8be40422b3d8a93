use super::*;
use crate::Message;

/// What a fake server does with a request, by method, in the order of the requests.
type Script<'a> = &'a [(&'static str, &'a str)];

fn answer(body: &str) -> Reply {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,{body}}}"#);
    match Message::parse(text.into()).unwrap() {
        Message::Response(response) => Reply::Answer(response),
        other => panic!("{other:?}"),
    }
}

fn config(want: Era, capabilities: ClientCapabilities) -> OpeningConfig {
    OpeningConfig { want, only: None, client: Implementation::new("g", "G", "1"), capabilities }
}

/// Plays a script and says how the opening ended: the revision, or why not.
fn play(want: Era, only: Option<&str>, knowledge: Knowledge, script: Script<'_>) -> Result<String, String> {
    let none = ClientCapabilities::none();
    let config = OpeningConfig { only: only.and_then(Revision::parse), ..config(want, none) };
    let (mut opening, mut step) = Opening::start(config, knowledge);
    let mut script = script.iter();
    loop {
        step = match step {
            Step::Send { method, wait, .. } => {
                let (expected, reply) = script.next().unwrap_or_else(|| panic!("unexpected {method}"));
                assert_eq!(method, *expected);
                let reply = match *reply {
                    "silence" => Reply::Silence,
                    "exit" => Reply::Ended("exit status 1".into()),
                    "404" => Reply::Status(404),
                    body => answer(body),
                };
                opening.reply(wait, reply)
            }
            Step::Respawn => opening.respawned(),
            Step::Continue => panic!("waits for nothing"),
            Step::Done(peer) => {
                assert_eq!(script.next(), None, "requests that were not made");
                return Ok(peer.protocol);
            }
            Step::Fail(reason) => {
                assert_eq!(script.next(), None, "requests that were not made");
                return Err(reason);
            }
        };
    }
}

const DISCOVER: &str = "server/discover";
const INITIALIZE: &str = "initialize";
const MODERN: &str = r#""result":{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;
const LEGACY: &str =
    r#""result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s"}}"#;

#[test]
fn every_way_of_answering_the_probe() {
    let refused = |code: i64| format!(r#""error":{{"code":{code},"message":"no"}}"#);
    let check = |script: Script<'_>, expected: Result<&str, &str>| {
        let ended = play(Era::Modern, None, Knowledge::default(), script);
        match (&ended, expected) {
            (Ok(protocol), Ok(expected)) => assert_eq!(protocol, expected, "for {script:?}"),
            (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{reason} for {script:?}"),
            _ => panic!("{ended:?} for {script:?}"),
        }
    };
    check(&[(DISCOVER, MODERN)], Ok("2026-07-28"));
    for code in [-32601, -32602, -32600, -32000, -32001, 0, 7] {
        check(&[(DISCOVER, &refused(code)), (INITIALIZE, LEGACY)], Ok("2025-06-18"));
    }
    check(&[(DISCOVER, "silence"), (INITIALIZE, LEGACY)], Ok("2025-06-18"));
    check(&[(DISCOVER, "exit"), (INITIALIZE, LEGACY)], Ok("2025-06-18"));
    check(&[(DISCOVER, "404"), (INITIALIZE, LEGACY)], Ok("2025-06-18"));
    check(&[(DISCOVER, r#""result":{}"#), (INITIALIZE, LEGACY)], Ok("2025-06-18"));
    check(
        &[(DISCOVER, r#""result":{"supportedVersions":["2025-06-18"]}"#), (INITIALIZE, LEGACY)],
        Ok("2025-06-18"),
    );
    check(&[(DISCOVER, r#""result":{"supportedVersions":["2099-01-01"]}"#)], Err("it speaks 2099-01-01"));
    let versions =
        |list: &str| format!(r#""error":{{"code":-32022,"message":"","data":{{"supported":[{list}]}}}}"#);
    check(&[(DISCOVER, &versions(r#""2025-06-18""#)), (INITIALIZE, LEGACY)], Ok("2025-06-18"));
    let same = versions(r#""2026-07-28""#);
    check(&[(DISCOVER, &same), (DISCOVER, MODERN)], Ok("2026-07-28"));
    check(&[(DISCOVER, &same), (DISCOVER, &same)], Err("it refuses 2026-07-28, which it says it speaks"));
    check(&[(DISCOVER, &versions(r#""2099-01-01""#))], Err("it speaks 2099-01-01"));
    check(&[(DISCOVER, &refused(-32020))], Err("refuses `server/discover` with -32020"));
    check(&[(DISCOVER, &refused(-32021))], Err("refuses `server/discover` with -32021"));
    check(&[(DISCOVER, "exit"), (INITIALIZE, "exit")], Err("exit status 1"));
    check(&[(DISCOVER, "silence"), (INITIALIZE, "silence"), (DISCOVER, MODERN)], Ok("2026-07-28"));
    check(
        &[(DISCOVER, "silence"), (INITIALIZE, "silence"), (DISCOVER, "silence"), (INITIALIZE, "silence")],
        Err("does not answer `initialize`"),
    );
    check(
        &[(DISCOVER, &refused(-32601)), (INITIALIZE, &refused(-1))],
        Err("refuses `initialize`: error -1: no"),
    );
}

#[test]
fn handshakes_negotiate_and_never_accept_a_modern_date() {
    let play = |script: Script<'_>| play(Era::Legacy, None, Knowledge::default(), script);
    assert_eq!(play(&[(INITIALIZE, LEGACY)]), Ok("2025-06-18".into()));
    let wrong = r#""error":{"code":-32602,"message":"","data":{"supported":["2024-11-05"],"requested":"x"}}"#;
    let old = r#""result":{"protocolVersion":"2024-11-05","capabilities":{}}"#;
    assert_eq!(play(&[(INITIALIZE, wrong), (INITIALIZE, old)]), Ok("2024-11-05".into()));
    let modern = r#""result":{"protocolVersion":"2026-07-28","capabilities":{}}"#;
    assert!(play(&[(INITIALIZE, modern)]).unwrap_err().contains("no protocol revision in common"));
    let refused = r#""error":{"code":-32601,"message":"no such method"}"#;
    assert_eq!(play(&[(INITIALIZE, refused), (DISCOVER, MODERN)]), Ok("2026-07-28".into()));
    assert_eq!(play(&[(INITIALIZE, "exit"), (DISCOVER, MODERN)]), Ok("2026-07-28".into()));
    assert!(play(&[(INITIALIZE, refused), (DISCOVER, refused)]).unwrap_err().contains("neither"));
}

#[test]
fn what_is_known_is_not_asked_again() {
    let known = |modern, legacy| Knowledge { modern, legacy };
    assert!(play(Era::Modern, None, known(Some(false), None), &[(INITIALIZE, LEGACY)]).is_ok());
    assert!(play(Era::Legacy, None, known(Some(true), Some(false)), &[(DISCOVER, MODERN)]).is_ok());
    assert!(play(Era::Modern, None, known(Some(false), Some(false)), &[(DISCOVER, MODERN)]).is_ok());
}

#[test]
fn what_is_remembered_and_proves_wrong_is_asked_again_once() {
    let refused = r#""error":{"code":-32601,"message":"no"}"#;
    let dates = r#""error":{"code":-32022,"message":"","data":{"supported":["2025-06-18"]}}"#;
    let check = |want, (modern, legacy), script: Script<'_>, expected: Result<&str, &str>| {
        let ended = play(want, None, Knowledge { modern, legacy }, script);
        match (&ended, expected) {
            (Ok(protocol), Ok(expected)) => assert_eq!(protocol, expected, "for {script:?}"),
            (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{reason} for {script:?}"),
            _ => panic!("{ended:?} for {script:?}"),
        }
    };
    let (was_legacy, was_modern) = ((Some(false), Some(true)), (Some(true), Some(false)));
    for want in [Era::Modern, Era::Legacy] {
        for refusal in [refused, "404", "exit"] {
            check(want, was_legacy, &[(INITIALIZE, refusal), (DISCOVER, MODERN)], Ok("2026-07-28"));
            check(want, was_modern, &[(DISCOVER, refusal), (INITIALIZE, LEGACY)], Ok("2025-06-18"));
        }
        check(want, was_legacy, &[(INITIALIZE, refused), (DISCOVER, refused)], Err("neither"));
        check(want, was_legacy, &[(INITIALIZE, "exit"), (DISCOVER, "exit")], Err("exit status 1"));
        check(
            want,
            was_modern,
            &[(DISCOVER, refused), (INITIALIZE, refused)],
            Err("refuses `initialize`: error -32601"),
        );
    }
    let refusals = [(DISCOVER, dates), (INITIALIZE, refused)];
    check(Era::Modern, (None, None), &refusals, Err("refuses `initialize`: error -32601"));
}

#[test]
fn silence_is_not_waited_for_twice() {
    let config = config(Era::Modern, ClientCapabilities::none());
    let (mut opening, _) = Opening::start(config, Knowledge::default());
    opening.reply(Wait::Probe, Reply::Silence);
    assert!(matches!(opening.reply(Wait::Handshake, answer(LEGACY)), Step::Done(_)));
    assert_eq!(opening.knowledge(), Knowledge { modern: Some(false), legacy: Some(true) });
}

#[test]
fn a_pinned_revision_is_the_only_one() {
    let none = Knowledge::default();
    let pinned = r#""result":{"protocolVersion":"2025-06-18","capabilities":{}}"#;
    assert!(play(Era::Modern, Some("2025-06-18"), none, &[(INITIALIZE, pinned)]).is_ok());
    assert!(play(Era::Modern, Some("2025-11-25"), none, &[(INITIALIZE, pinned)]).is_err());
    assert!(play(Era::Legacy, Some("2026-07-28"), none, &[(DISCOVER, MODERN)]).is_ok());
    let refused = r#""error":{"code":-32601,"message":""}"#;
    assert!(play(Era::Legacy, Some("2026-07-28"), none, &[(DISCOVER, refused)]).is_err());
}

#[test]
fn a_late_answer_to_the_probe_corrects_the_verdict() {
    let config = config(Era::Modern, ClientCapabilities::none());
    let (mut opening, _) = Opening::start(config, Knowledge::default());
    assert!(matches!(opening.reply(Wait::Probe, Reply::Silence), Step::Send { wait: Wait::Handshake, .. }));
    let refused = answer(r#""error":{"code":-32601,"message":""}"#);
    assert!(matches!(opening.reply(Wait::Probe, refused), Step::Continue));
    assert!(
        matches!(opening.reply(Wait::Probe, answer(MODERN)), Step::Done(peer) if peer.era == Era::Modern)
    );
    assert!(
        matches!(opening.reply(Wait::Handshake, answer(LEGACY)), Step::Continue),
        "nothing after the end"
    );
}

#[test]
fn only_a_handshake_declares_what_the_client_can_do() {
    let able = RawObject::parse(r#"{"roots":{"listChanged":true},"sampling":{}}"#).unwrap();
    for (want, declared) in [(Era::Legacy, true), (Era::Modern, false)] {
        let (_, step) = Opening::start(config(want, able.clone().into()), Knowledge::default());
        let Step::Send { params, .. } = step else { panic!("{step:?}") };
        let params = String::from_utf8(params).unwrap();
        assert_eq!(
            params.contains(r#""capabilities":{"roots":{"listChanged":true},"sampling":{}}"#),
            declared,
            "{params}"
        );
    }
}
