use gateway_domain::{Caller, Era, SessionKey};

use super::*;

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn exchange(capabilities: &str) -> Exchange {
    let capabilities = ClientCapabilities::from(object(capabilities));
    let caller = Caller::anonymous();
    let session = SessionKey::Modern { caller, capabilities: capabilities.clone() };
    Exchange { wants_progress: true, ..Exchange::quiet(Era::Modern, session, capabilities) }
}

#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

#[test]
fn a_client_can_be_asked_if_it_declared_anything_and_the_request_allows_it() {
    for (capabilities, can) in [(r#"{"elicitation":{}}"#, true), (r#"{"roots":{}}"#, true), ("{}", false)] {
        let mut exchange = exchange(capabilities);
        assert_eq!(Circumstances::new(exchange.clone()).can_be_asked(), can, "{capabilities}");
        exchange.can_be_asked = false;
        assert!(!Circumstances::new(exchange).can_be_asked(), "{capabilities}");
    }
}

#[test]
fn a_step_calls_for_a_client_that_takes_no_tasks_and_keeps_its_session() {
    let declared = r#"{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{},"a.b/c":{"d":1}}}"#;
    let inner = Circumstances::new(exchange(declared)).inner();
    assert_eq!(inner.capabilities.raw().as_str(), r#"{"roots":{},"extensions":{"a.b/c":{"d":1}}}"#);
    assert_eq!(inner.session, exchange(declared).session);
    assert!(!inner.wants_progress);
}

#[test]
fn logs_of_a_call_go_to_the_latest_request_and_its_progress_nowhere() {
    let (first, second) = (Arc::new(Heard::default()), Arc::new(Heard::default()));
    let circumstances = Circumstances::new(Exchange { events: first.clone(), ..exchange("{}") });
    let call = circumstances.inner();
    call.events.emit(Event::Log(object(r#"{"data":1}"#)));
    circumstances.replace(Exchange { events: second.clone(), ..exchange("{}") });
    call.events.emit(Event::Progress(object(r#"{"progress":1}"#)));
    call.events.emit(Event::Log(object(r#"{"data":2}"#)));
    for (heard, data) in [(first, 1), (second, 2)] {
        let [Event::Log(params)] = &heard.0.lock().unwrap()[..] else { panic!("one log each") };
        assert_eq!(params.get("data").unwrap().to_integer(), Some(data));
    }
}
