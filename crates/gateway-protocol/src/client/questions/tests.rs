use std::sync::{Arc, Mutex};

use gateway_domain::{
    Caller, ClientCapabilities, Era, Event, EventSink, Exchange, LogLevel, RawObject, SessionKey,
};
use proptest::prelude::*;

use super::*;
use crate::{Message, Request, RequestId};

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn can(text: &str) -> ClientCapabilities {
    object(text).into()
}

fn all() -> ClientCapabilities {
    can(r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}"#)
}

fn request(id: &str, method: &str, params: &str) -> Request {
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
    let Message::Request(request) = Message::parse(text.into()).unwrap() else { unreachable!() };
    request
}

fn question(id: &str, method: &str, params: &str) -> Question {
    match Asked::read(&request(id, method, params), &all()) {
        Asked::Question(question) => question,
        Asked::Reply(reply) => panic!("{}", text(&reply)),
    }
}

fn text(message: &[u8]) -> String {
    String::from_utf8(message.to_vec()).unwrap()
}

fn result_of(message: &[u8]) -> (String, String) {
    let Message::Response(response) = Message::parse(message.to_vec().into()).unwrap() else {
        unreachable!()
    };
    let content = match response.answer {
        crate::Answer::Result(result) => result.as_str().to_owned(),
        crate::Answer::Error(error) => error.code.to_string(),
    };
    (response.id.unwrap().as_str().to_owned(), content)
}

#[test]
fn what_was_not_declared_is_refused_and_the_rest_is_a_question() {
    const ASKED: &str = "asked";
    let deep = format!(r#"{{"metadata":{}{}}}"#, "[".repeat(124), "]".repeat(124));
    for (declared, method, params, expected) in [
        ("{}", "ping", "{}", "{}"),
        ("{}", "elicitation/create", "{}", "-32601"),
        ("{}", "sampling/createMessage", "{}", "-32601"),
        ("{}", "roots/list", "{}", "-32601"),
        ("{}", "tasks/get", "{}", "-32601"),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"message":"m"}"#, ASKED),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":"form"}"#, ASKED),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":"url"}"#, "-32602"),
        (r#"{"elicitation":{"url":{}}}"#, "elicitation/create", r#"{"mode":"url"}"#, ASKED),
        (r#"{"elicitation":{"url":{}}}"#, "elicitation/create", "{}", "-32602"),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, "elicitation/create", r#"{"mode":"voice"}"#, "-32602"),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, "elicitation/create", r#"{"mode":7}"#, "-32602"),
        (r#"{"elicitation":{}}"#, "sampling/createMessage", "{}", "-32601"),
        (r#"{"sampling":{}}"#, "sampling/createMessage", "{}", ASKED),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"tools":[]}"#, "-32602"),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"toolChoice":{}}"#, "-32602"),
        (r#"{"sampling":{"tools":{}}}"#, "sampling/createMessage", r#"{"tools":[]}"#, ASKED),
        (r#"{"sampling":{}}"#, "sampling/createMessage", &deep, "-32602"),
        (r#"{"roots":{}}"#, "roots/list", "{}", ASKED),
    ] {
        let became = match Asked::read(&request("\"s-1\"", method, params), &can(declared)) {
            Asked::Question(_) => ASKED.to_owned(),
            Asked::Reply(reply) => {
                let (id, content) = result_of(&reply);
                assert_eq!(id, "\"s-1\"");
                content
            }
        };
        assert_eq!(became, expected, "for {method} {params} where {declared} is declared");
    }
}

#[test]
fn what_belongs_to_the_hop_is_taken_out_and_every_other_byte_kept() {
    let mut questions = Questions::default();
    assert!(questions.requests().is_none());
    let params =
        r#"{ "mode":"url","task":{"ttl":1},"elicitationId":"e","x":1.0,"_meta":{"progressToken":1} }"#;
    questions.add(question("1", "elicitation/create", params)).unwrap();
    questions.add(question("2", "roots/list", "{}")).unwrap();
    assert_eq!(
        questions.requests().unwrap().as_str(),
        concat!(
            r#"{"q1":{"method":"elicitation/create","params":{ "mode":"url","elicitationId":"e","x":1.0 }},"#,
            r#""q2":{"method":"roots/list","params":{}}}"#
        )
    );
}

#[test]
fn nobody_answers_what_is_given_up() {
    for (method, expected) in [
        ("elicitation/create", r#"{"jsonrpc":"2.0","id":"a","result":{"action":"cancel"}}"#),
        (
            "sampling/createMessage",
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"not answered"}}"#,
        ),
        ("roots/list", r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"not answered"}}"#),
    ] {
        assert_eq!(text(&question("\"a\"", method, "{}").abandoned()), expected);
    }
}

#[test]
fn more_questions_than_the_limit_are_turned_down() {
    let mut questions = Questions::default();
    for n in 0..OPEN_LIMIT {
        questions.add(question(&n.to_string(), "elicitation/create", "{}")).unwrap();
    }
    let turned_down = questions.add(question("99", "elicitation/create", "{}")).unwrap_err();
    assert_eq!(text(&turned_down), r#"{"jsonrpc":"2.0","id":99,"result":{"action":"cancel"}}"#);
    assert!(questions.withdraw(&RequestId::from(3)));
    assert!(!questions.withdraw(&RequestId::from(3)));
    assert!(questions.add(question("99", "roots/list", "{}")).is_ok());
    let big = format!(r#"{{"text":"{}"}}"#, "x".repeat(OPEN_BYTES));
    let mut questions = Questions::default();
    assert!(questions.add(question("1", "sampling/createMessage", &big)).is_err());
    assert!(questions.is_empty());
}

proptest! {
    /// Whatever clients answer in however many rounds: each question of the server's gets exactly one answer, to
    /// its own id and with the bytes that were given for its key; keys are never used again.
    #[test]
    fn each_question_is_answered_once_and_by_its_own_answer(
        rounds in prop::collection::vec((0usize..4, prop::collection::vec(any::<bool>(), 16)), 1..8)
    ) {
        let mut questions = Questions::default();
        let (mut asked, mut answers, mut keys) = (0, Vec::new(), Vec::<String>::new());
        for (more, gives) in rounds {
            for _ in 0..more {
                let params = format!(r#"{{"n":{asked}}}"#);
                match questions.add(question(&format!("\"s{asked}\""), "sampling/createMessage", &params)) {
                    Ok(()) => {}
                    Err(refusal) => answers.push(result_of(&refusal)),
                }
                asked += 1;
            }
            let Some(requests) = questions.requests() else { continue };
            let mut given = vec![r#""foreign":{"n":-1}"#.to_owned(), r#""q0":7"#.to_owned()];
            for ((key, request), gives) in requests.iter().zip(gives) {
                let n = RawObject::try_from(request).unwrap().get_object("params").unwrap();
                if gives {
                    prop_assert!(!keys.contains(&key.to_string()));
                    keys.push(key.to_string());
                    given.push(format!(r#""{key}":{n}"#, n = n.as_str()));
                } else {
                    given.push(format!(r#""{key}":"no object""#));
                }
            }
            let responses = object(&format!("{{{}}}", given.join(",")));
            answers.extend(questions.answer(&responses).iter().map(|message| result_of(message)));
        }
        answers.extend(questions.drain().map(|question| result_of(&question.abandoned())));
        prop_assert!(questions.is_empty() && questions.requests().is_none());
        answers.sort();
        let ids: Vec<_> = answers.iter().map(|(id, _)| id.clone()).collect();
        let mut expected: Vec<_> = (0..asked).map(|n| format!("\"s{n}\"")).collect();
        expected.sort();
        prop_assert_eq!(ids, expected);
        for (id, content) in answers {
            let own = id.trim_matches('"').replace('s', r#"{"n":"#) + "}";
            prop_assert!(content == own || content == "-1", "{id}: {content}");
        }
    }

    /// A question reaches a call of the only client it can be from, or nobody.
    #[test]
    fn a_question_is_never_attributed_across_clients(
        calls in prop::collection::vec((any::<bool>(), 0usize..4), 0..6)
    ) {
        let owners = [legacy("a"), legacy("b"), modern(None), modern(Some("r"))];
        let candidates: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(n, (parked, owner))| Candidate { call: n as u64, owner: &owners[*owner], parked: *parked })
            .collect();
        let any_runs = candidates.iter().any(|candidate| !candidate.parked);
        let possible: Vec<_> = candidates.iter().filter(|candidate| candidate.parked != any_runs).collect();
        match attribute(candidates.iter().copied()) {
            Attribution::Nobody => prop_assert!(candidates.is_empty()),
            Attribution::Unclear => prop_assert!(candidates.len() > 1),
            Attribution::Call(call) => {
                let owner = candidates[usize::try_from(call).unwrap()].owner;
                prop_assert!(possible.iter().any(|candidate| candidate.call == call));
                prop_assert!(candidates.iter().all(|candidate| candidate.owner == owner));
            }
        }
    }
}

fn quiet() -> Exchange {
    let (caller, capabilities) = (Caller::anonymous(), ClientCapabilities::none());
    Exchange::quiet(Era::Modern, SessionKey::Modern { caller, capabilities }, ClientCapabilities::none())
}

fn legacy(id: &str) -> Owner {
    Owner::of(&Exchange { session: SessionKey::Legacy { id: id.into() }, ..quiet() })
}

fn modern(run: Option<&str>) -> Owner {
    Owner::of(&Exchange { run: run.map(Into::into), ..quiet() })
}

#[test]
fn the_call_that_a_question_belongs_to() {
    use Attribution::{Call, Nobody, Unclear};
    let (a, b, m) = (legacy("a"), legacy("b"), modern(None));
    let (r, s) = (modern(Some("r")), modern(Some("s")));
    let running = |call, owner| Candidate { call, owner, parked: false };
    let parked = |call, owner| Candidate { call, owner, parked: true };
    for (calls, asked, logged) in [
        (vec![], Nobody, Nobody),
        (vec![running(4, &m)], Call(4), Call(4)),
        (vec![parked(3, &m), running(4, &m)], Unclear, Call(4)),
        (vec![parked(3, &m)], Call(3), Call(3)),
        (vec![running(4, &m), running(5, &m)], Unclear, Unclear),
        (vec![running(5, &a), running(4, &a)], Call(5), Unclear),
        (vec![running(4, &a), running(5, &b)], Unclear, Unclear),
        (vec![running(4, &a), parked(5, &b)], Unclear, Call(4)),
        (vec![running(4, &a), parked(5, &a)], Call(4), Call(4)),
        (vec![parked(6, &a), parked(5, &a)], Call(6), Unclear),
        (vec![parked(4, &a)], Call(4), Call(4)),
        (vec![parked(4, &m), parked(5, &m)], Unclear, Unclear),
        // Of one run it does not matter which: they are asked together.
        (vec![parked(3, &r), running(4, &r)], Call(4), Call(4)),
        (vec![parked(4, &r), parked(5, &r)], Call(5), Unclear),
        (vec![parked(3, &r), running(4, &s)], Unclear, Call(4)),
        (vec![parked(3, &r), running(4, &m)], Unclear, Call(4)),
    ] {
        assert_eq!(attribute(calls.clone()), asked, "for {calls:?}");
        assert_eq!(attribute_log(calls.clone()), logged, "for {calls:?}");
    }
}

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl EventSink for Seen {
    fn emit(&self, event: Event) {
        let (Event::Progress(params) | Event::Log(params)) = event;
        self.0.lock().unwrap().push(params.as_str().to_owned());
    }
}

fn exchange(seen: &Arc<Seen>, progress: bool, level: Option<LogLevel>) -> Exchange {
    let mut exchange = quiet();
    exchange.wants_progress = progress;
    exchange.log_level = level;
    exchange.events = Arc::clone(seen) as Arc<dyn EventSink>;
    exchange
}

#[test]
fn events_are_kept_while_a_call_waits_and_told_first_when_it_goes_on() {
    let [first, second] = [Arc::new(Seen::default()), Arc::new(Seen::default())];
    let progress = |n: usize| Event::Progress(object(&format!("{{\"progress\":{n}}}")));
    let log = |level: &str| Event::Log(object(&format!(r#"{{"level":"{level}"}}"#)));
    let relay = Relay::new(&exchange(&first, true, None));
    assert!(relay.emit(progress(0)));
    assert!(!relay.emit(log("error")), "the first request wanted no logs");
    relay.park();
    relay.park();
    assert!(relay.emit(log("debug")) && relay.emit(log("error")));
    for n in 1..KEPT_EVENTS - 1 {
        assert!(relay.emit(progress(n)));
    }
    assert!(!relay.emit(progress(KEPT_EVENTS)), "there is an end to it");
    relay.resume(&exchange(&second, true, Some(LogLevel::Warning)));
    assert!(relay.emit(progress(1000)));
    assert_eq!(*first.0.lock().unwrap(), [r#"{"progress":0}"#]);
    let seen = second.0.lock().unwrap();
    assert_eq!(seen.len(), 1 + (KEPT_EVENTS - 2) + 1);
    assert_eq!(seen[0], r#"{"level":"error"}"#);
    assert_eq!(seen[1], r#"{"progress":1}"#);
    assert_eq!(seen[seen.len() - 1], r#"{"progress":1000}"#);
}

#[test]
fn what_is_kept_has_a_bound_in_bytes_too() {
    let seen = Arc::new(Seen::default());
    let relay = Relay::new(&exchange(&seen, true, None));
    relay.park();
    let big = format!(r#"{{"message":"{}"}}"#, "x".repeat(KEPT_BYTES / 2 - 20));
    let taken = [0; 3].map(|_| relay.emit(Event::Progress(object(&big))));
    assert_eq!(taken, [true, true, false]);
    assert!(relay.emit(Event::Progress(object("{}"))), "a small one still fits");
}
