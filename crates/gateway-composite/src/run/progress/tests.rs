use gateway_domain::{Caller, ClientCapabilities, Era, EventSink, Exchange, SessionKey};

use super::*;

#[derive(Default)]
struct Heard(Mutex<Vec<RawObject>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        if let Event::Progress(params) = event {
            self.0.lock().unwrap().push(params);
        }
    }
}

fn progress(steps: usize, wants_progress: bool) -> (Progress, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    let capabilities = ClientCapabilities::none();
    let session = SessionKey::Modern { caller: Caller::anonymous(), capabilities: capabilities.clone() };
    let quiet = Exchange::quiet(Era::Modern, session, capabilities);
    let exchange = Exchange { wants_progress, events: heard.clone(), ..quiet };
    (Progress::new(Circumstances::new(exchange), steps), heard)
}

fn figures(heard: &Heard) -> Vec<String> {
    heard.0.lock().unwrap().iter().map(|params| params.get("progress").unwrap().to_string()).collect()
}

#[test]
fn each_step_that_is_done_is_told() {
    let (progress, heard) = progress(2, true);
    progress.done("a", "completed");
    progress.done("b", "skipped");
    let told: Vec<_> = heard.0.lock().unwrap().iter().map(|params| params.as_str().to_owned()).collect();
    assert_eq!(
        told,
        [
            r#"{"progressToken":"","progress":1,"total":2,"message":"step `a` completed"}"#,
            r#"{"progressToken":"","progress":2,"total":2,"message":"step `b` skipped"}"#,
        ]
    );
}

#[test]
fn loops_tell_parts_of_a_step_and_never_go_back() {
    let (progress, heard) = progress(3, true);
    progress.advance("loop", 1, 4);
    progress.advance("loop", 3, 4);
    progress.advance("loop", 2, 4);
    progress.done("a", "completed");
    progress.advance("loop", 4, 4);
    progress.advance("empty", 0, 0);
    progress.done("loop", "completed");
    assert_eq!(figures(&heard), ["0.25", "0.75", "1.75", "1.99", "2"]);
}

#[test]
fn a_thousand_items_are_at_most_a_hundred_messages() {
    let (progress, heard) = progress(1, true);
    (1..=1_000).for_each(|done| progress.advance("loop", done, 1_000));
    progress.done("loop", "completed");
    assert_eq!(figures(&heard).len(), 100);
}

#[test]
fn a_client_that_wants_none_is_told_nothing() {
    let (progress, heard) = progress(1, false);
    progress.done("a", "completed");
    assert_eq!(figures(&heard), [""; 0]);
}
