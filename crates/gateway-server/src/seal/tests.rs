use gateway_domain::RawObject;
use proptest::prelude::*;

use super::*;

const LASTS: Duration = Duration::from_secs(600);

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn params(text: &str) -> Params {
    Params { object: RawObject::parse(text.to_owned()).unwrap(), meta: None }
}

fn files() -> DownstreamName {
    DownstreamName::parse("files").unwrap()
}

fn binding(caller: &Caller, view: &View, method: &str, text: &str) -> Binding {
    Binding::request(caller, view, method, &params(text))
}

proptest! {
    #[test]
    fn what_is_opened_is_what_was_sealed(value in ".*", kind in 0..4, by_workflow in any::<bool>()) {
        let seal = Seal::new(None);
        let state = match kind {
            0 => State::None,
            1 => State::Own(RawJson::string(&value)),
            2 => State::Parked(ParkId(value.as_str().into())),
            _ => State::Afresh,
        };
        let bound = binding(&Caller::anonymous(), &View::All, "tools/call", "{}");
        let asker = if by_workflow { Asker::Workflow("files".into()) } else { Asker::Downstream(files()) };
        let given = Opened { asker: Some(asker), state };
        let text = seal.state(&given, &bound, now(), LASTS).unwrap();
        let opened = seal.open_state(&text, &bound, now()).unwrap();
        prop_assert_eq!(format!("{:?}", given), format!("{:?}", opened));
    }

    #[test]
    fn a_change_of_any_bit_is_noticed(at in 0..10_000_usize, bit in 0..8_u32) {
        let seal = Seal::new(None);
        let bound = binding(&Caller::anonymous(), &View::All, "tools/call", "{}");
        let given = Opened { asker: Some(Asker::Downstream(files())), state: State::Own(RawJson::string("s")) };
        let text = seal.state(&given, &bound, now(), LASTS).unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        prop_assert!(seal.open_state(&URL_SAFE_NO_PAD.encode(bytes), &bound, now()).is_err());
        prop_assert!(seal.open_state(&text, &bound, now()).is_ok());
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        let seal = Seal::new(None);
        prop_assert!(seal.open_task(&text, &Caller::anonymous()).is_err());
    }
}

#[test]
fn a_state_is_good_for_its_caller_and_request_only_and_for_a_time() {
    let seal = Seal::new(Some(&[7; 32].into()));
    let (desk, files_only) = (Caller::client("desk"), View::Downstream(files()));
    let first = r#"{"name":"t","arguments":{"a":1.0},"_meta":{"x":1}}"#;
    let again = r#"{"arguments":{"a":1.0},"name":"t","inputResponses":{},"requestState":"s"}"#;
    let given = Opened { asker: Some(Asker::Downstream(files())), state: State::None };
    let bound = binding(&desk, &View::All, "tools/call", first);
    let text = seal.state(&given, &bound, now(), LASTS).unwrap();
    let other = r#"{"name":"t","arguments":{"a":2.0}}"#;
    for (bound, later, good) in [
        (binding(&desk, &View::All, "tools/call", again), 0, true),
        (binding(&desk, &View::All, "tools/call", again), 599, true),
        (binding(&desk, &View::All, "tools/call", again), 600, false),
        (binding(&desk, &View::All, "tools/call", other), 0, false),
        (binding(&desk, &View::All, "prompts/get", again), 0, false),
        (binding(&desk, &files_only, "tools/call", again), 0, false),
        (binding(&Caller::client("lab"), &View::All, "tools/call", again), 0, false),
        (binding(&Caller::anonymous(), &View::All, "tools/call", again), 0, false),
        (Binding::task(&desk), 0, false),
    ] {
        let opened = seal.open_state(&text, &bound, now() + Duration::from_secs(later));
        assert_eq!(opened.is_ok(), good, "{bound:?} after {later} s");
    }
    for (key, good) in [(Some([7; 32]), true), (Some([8; 32]), false), (None, false)] {
        let another = Seal::new(key.map(StateKey::from).as_ref());
        assert_eq!(another.open_state(&text, &bound, now()).is_ok(), good, "{key:?}");
    }
    // A client that is called as those are who have no name is another one.
    let named = binding(&Caller::client("anonymous"), &View::All, "tools/call", first);
    assert_ne!(named, binding(&Caller::anonymous(), &View::All, "tools/call", first));
}

#[test]
fn a_task_is_its_callers() {
    let seal = Seal::new(None);
    let object = RawObject::parse(r#"{"taskId":"t 1"}"#).unwrap();
    let (desk, downstream) = (Caller::client("desk"), Some(files()));
    let nobodys = TaskHandle { downstream, tool: None, object };
    let task = TaskHandle { tool: Some("files__read".into()), ..nobodys.clone() };
    for task in [&nobodys, &task] {
        let opened = seal.open_task(&seal.task(task, &desk).unwrap(), &desk).unwrap();
        let expected = OpenedTask { downstream: files(), tool: task.tool.clone(), id: "t 1".into() };
        assert_eq!(opened, expected);
    }
    let id = seal.task(&task, &desk).unwrap();
    for (id, caller) in [(id.as_str(), Caller::client("lab")), ("t 1", desk.clone()), ("", desk)] {
        assert_eq!(seal.open_task(id, &caller).unwrap_err(), CallerError::UnknownTask);
    }
}

#[test]
fn a_task_of_an_unknown_tool_that_was_sealed_before_is_unknown() {
    let (seal, desk) = (Seal::new(None), Caller::client("desk"));
    let mut plain = Vec::new();
    push(&mut plain, b"files");
    // It would be read as the length of a tool's name.
    plain.extend_from_slice(b"\0\0\0\0\0\0\0\0t 1");
    let id = seal.seal(plain.clone(), &Binding::of(b't', &desk)).unwrap();
    assert_eq!(seal.open_task(&id, &desk).unwrap_err(), CallerError::UnknownTask);
    assert!(seal.open_task(&seal.seal(plain, &Binding::task(&desk)).unwrap(), &desk).is_ok());
}

#[test]
fn nobody_is_taken_for_another_who_is_called_alike() {
    let seal = Seal::new(None);
    let user = |issuer, subject| Caller::user(issuer, subject, gateway_domain::Grants::default());
    let callers = [
        Caller::anonymous(),
        Caller::client("anonymous"),
        Caller::client(""),
        Caller::client("ann at https://a"),
        user("https://a", "ann"),
        user("ann at https://a", ""),
        user("", ""),
        user("https://b", "ann"),
        user("https://a", "bob"),
        user("b at c", "a"),
        user("c", "a at b"),
        user("ab", "c"),
        user("a", "bc"),
    ];
    for (mine, owner) in callers.iter().enumerate() {
        let bound = Binding::cursor(owner, &View::All, ListKind::Tools);
        let sealed = seal.cursor("c", &bound).unwrap();
        for (theirs, other) in callers.iter().enumerate() {
            let opened = seal.open_cursor(&sealed, &Binding::cursor(other, &View::All, ListKind::Tools));
            assert_eq!(opened.is_ok(), mine == theirs, "{owner:?} by {other:?}");
        }
    }
}

#[test]
fn a_key_is_not_shown() {
    assert_eq!(format!("{:?}", Seal::new(Some(&[7; 32].into()))), "Seal { .. }");
}
