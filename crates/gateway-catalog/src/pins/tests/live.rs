use std::{
    io,
    sync::{Arc, Mutex},
};

use super::*;

const READ: &str = r#"{"name":"read","description":"Reads"}"#;

#[track_caller]
fn check(pins: &Pins, exposed: &str, definition: &str, verdict: Verdict, admitted: bool) {
    let tool = tool(definition);
    assert_eq!(pins.judge(&files(), exposed, &tool), verdict, "{exposed} {definition}");
    assert_eq!(pins.admits(&files(), exposed, &tool), admitted, "{exposed} {definition}");
}

#[test]
fn a_mode_decides_what_becomes_of_tools_that_are_not_as_they_were() {
    let changed = r#"{"name":"read","description":"Reads\u200b"}"#;
    for (mode, pinned, offered) in
        [(PinMode::Off, false, true), (PinMode::Warn, true, true), (PinMode::Quarantine, true, false)]
    {
        let pins = Pins::new(mode, lock(&[("files__read", READ)]));
        assert_eq!(pins.mode(), mode);
        let verdict = |verdict| if pinned { verdict } else { Verdict::Known };
        check(&pins, "files__read", READ, Verdict::Known, true);
        check(&pins, "files__read", r#"{ "description":"R\u0065ads","name":"read"}"#, Verdict::Known, true);
        check(&pins, "files__read", changed, verdict(Verdict::Changed), offered);
        check(&pins, "files__new", READ, verdict(Verdict::New), offered);
        check(&pins, "Files__read", READ, verdict(Verdict::New), offered);
    }
}

#[test]
fn what_the_operator_cannot_have_seen_is_admitted_until_it_is_another() {
    let changed = tool(r#"{"name":"read"}"#);
    for mode in [PinMode::Off, PinMode::Warn, PinMode::Quarantine] {
        let pins = Pins::new(mode, lock(&[("files__read", READ)]));
        assert!(pins.admits_own(&files(), "files__read", &tool(READ)), "{mode:?}");
        assert!(pins.admits_own(&files(), "files__new", &tool(READ)), "{mode:?}");
        let is_same = pins.admits_own(&files(), "files__read", &changed);
        assert_eq!(is_same, mode != PinMode::Quarantine, "{mode:?}");
    }
}

#[test]
fn a_tool_under_the_name_of_another_is_not_it() {
    let pins = Pins::new(PinMode::Quarantine, lock(&[("files__read", READ)]));
    let web = DownstreamName::parse("web").unwrap();
    assert_eq!(pins.judge(&web, "files__read", &tool(READ)), Verdict::Changed);
    // The name it is offered under is not its own.
    let alias = tool(READ).offered_as("read_x");
    assert_eq!(pins.judge(&files(), "files__read", &alias), Verdict::Known);
}

#[test]
fn nothing_is_pinned_by_default_and_everything_new_is_with_an_empty_lock() {
    check(&Pins::off(), "files__read", READ, Verdict::Known, true);
    check(&Pins::new(PinMode::Quarantine, Lock::default()), "files__read", READ, Verdict::New, false);
}

#[test]
fn another_lock_is_in_force_at_once_for_all_that_share_it() {
    let pins = Pins::new(PinMode::Quarantine, Lock::default());
    let shared = pins.clone();
    pins.replace(PinMode::Quarantine, lock(&[("files__read", READ)]));
    check(&shared, "files__read", READ, Verdict::Known, true);
    pins.replace(PinMode::Off, Lock::default());
    check(&shared, "files__read", READ, Verdict::Known, true);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is logged meanwhile, line by line.
fn logged(work: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .without_time()
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_difference_is_logged_once() {
    let pins = Pins::new(PinMode::Quarantine, lock(&[("files__read", READ)]));
    let look = |definition: &str, name: &str| {
        pins.admits(&files(), name, &tool(definition));
    };
    let lines = logged(|| {
        for _ in 0..3 {
            look(READ, "files__read");
            look(r#"{"name":"read","description":"1"}"#, "files__read");
            look(READ, "files__n\u{1b}ew");
        }
    });
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("has changed since it was accepted; it is not offered"), "{lines:#?}");
    assert!(lines[0].contains(r#"description       - \"Reads\"       + \"1\""#), "{lines:#?}");
    assert!(lines[1].contains("was never accepted; it is not offered"), "{lines:#?}");
    assert!(lines[1].contains("files__n ew"), "{lines:#?}");
    // It changes once more.
    assert_eq!(logged(|| look(r#"{"name":"read","description":"2"}"#, "files__read")).len(), 1);
    // A new lock is told anew.
    pins.replace(PinMode::Warn, Lock::default());
    let lines = logged(|| look(READ, "files__read"));
    assert!(lines[0].contains("was never accepted; it is offered"), "{lines:#?}");
    pins.replace(PinMode::Off, Lock::default());
    assert_eq!(logged(|| look(READ, "files__read")), [""; 0]);
}

#[test]
fn what_is_logged_is_bounded_and_says_so() {
    let pins = Pins::new(PinMode::Quarantine, Lock::default());
    let tool = tool(READ);
    let lines = logged(|| {
        for n in 0..1_500 {
            assert!(!pins.admits(&files(), &format!("files__{n}"), &tool));
        }
    });
    assert_eq!(lines.len(), 1_001);
    assert!(lines[1_000].contains("more than 1000 tools are not as they were accepted"), "{}", lines[1_000]);
}
