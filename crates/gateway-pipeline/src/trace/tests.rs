use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use gateway_domain::{
    Call, CallerError, Decision, Dispatcher, DownstreamName, Error, Origin, Outcome, Reference, Subject,
    TraceContext,
};

use super::*;
use crate::testing::{Fake, call, call_of, complete};

/// Ids of bytes that count up from one.
#[derive(Default)]
struct Counting(AtomicU8);

impl Ids for Counting {
    fn fill(&self, bytes: &mut [u8]) -> bool {
        bytes.fill(self.0.fetch_add(1, Ordering::Relaxed) + 1);
        true
    }
}

struct Fixed(u8, bool);

impl Ids for Fixed {
    fn fill(&self, bytes: &mut [u8]) -> bool {
        bytes.fill(self.0);
        self.1
    }
}

#[derive(Default)]
struct Kept(Mutex<Vec<Span>>);

impl SpanSink for Kept {
    fn ended(&self, span: Span) {
        self.0.lock().unwrap().push(span);
    }
}

impl Kept {
    fn all(&self) -> Vec<Span> {
        self.0.lock().unwrap().clone()
    }
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn parent(text: &str) -> TraceContext {
    TraceContext { state: Some("a=b".to_owned()), ..TraceContext::parse(text).unwrap() }
}

/// The spans of one call, and the context that was below.
async fn traced(
    tracer: impl FnOnce(Arc<Kept>) -> Tracer,
    call: Call,
    answer: impl Fn(&Call) -> Result<Outcome, Error> + Send + Sync + 'static,
) -> (Vec<Span>, Option<TraceContext>) {
    let (kept, below) = (Arc::new(Kept::default()), Arc::new(Mutex::new(None)));
    let seen = below.clone();
    let inner = Fake::now(move |call| {
        seen.lock().unwrap().clone_from(&call.exchange.trace);
        answer(&call)
    });
    let _ = Traced::new(tracer(kept.clone()), inner).dispatch(call).await;
    let below = below.lock().unwrap().clone();
    (kept.all(), below)
}

fn counting(kept: Arc<Kept>) -> Tracer {
    Tracer::new(Arc::new(Counting::default()), kept)
}

#[tokio::test]
async fn a_trace_is_gone_on_with() {
    let mut call = call("t");
    call.exchange.trace = Some(parent(PARENT));
    let (spans, below) = traced(counting, call, |_| complete("{}")).await;
    let context = TraceContext { span_id: 0x0101_0101_0101_0101, ..parent(PARENT) };
    assert_eq!(below.as_ref(), Some(&context));
    assert_eq!((spans.len(), &spans[0].context, spans[0].parent), (1, &context, Some(0x00f0_67aa_0ba9_02b7)));
}

#[tokio::test]
async fn one_begins_where_there_is_none() {
    let (spans, below) = traced(counting, call("t"), |_| complete("{}")).await;
    let context = below.unwrap();
    assert_eq!(context.to_string(), format!("00-{}-{}-01", "01".repeat(16), "01".repeat(8)));
    assert_eq!((spans.len(), &spans[0].context, spans[0].parent), (1, &context, None));
}

#[tokio::test]
async fn what_is_not_recorded_is_passed_on_and_makes_no_span() {
    let mut unsampled = call("t");
    unsampled.exchange.trace = Some(parent(&PARENT.replace("-01", "-00")));
    let (spans, below) = traced(counting, unsampled, |_| complete("{}")).await;
    assert!(spans.is_empty() && !below.clone().unwrap().is_sampled());
    assert_eq!(below.unwrap().trace_id, parent(PARENT).trace_id);
}

#[tokio::test]
async fn a_share_of_what_begins_here_is_recorded() {
    for (ratio, byte, is_recorded) in [
        (0.0, 0x01, false),
        (-1.0, 0x01, false),
        (0.5, 0x7f, true),
        (0.5, 0x80, false),
        (1.0, 0xff, true),
        (7.0, 0xff, true),
    ] {
        let tracer = |kept: Arc<Kept>| Tracer::new(Arc::new(Fixed(byte, true)), kept).with_ratio(ratio);
        let (spans, below) = traced(tracer, call("t"), |_| complete("{}")).await;
        let found = (spans.len() == 1, below.unwrap().is_sampled());
        assert_eq!(found, (is_recorded, is_recorded), "{byte:x} of {ratio}");
    }
}

#[tokio::test]
async fn without_ids_a_call_goes_on_as_it_came() {
    for ids in [Fixed(1, false), Fixed(0, true)] {
        let ids = Arc::new(ids);
        for context in [None, Some(parent(PARENT))] {
            let mut call = call("t");
            call.exchange.trace.clone_from(&context);
            let (spans, below) =
                traced(|kept| Tracer::new(ids.clone(), kept), call, |_| complete("{}")).await;
            assert_eq!((spans, below), (Vec::new(), context));
        }
    }
}

#[test]
fn random_ids_differ() {
    let [mut one, mut other] = [[0; 24]; 2];
    assert!(RandomIds.fill(&mut one) && RandomIds.fill(&mut other));
    assert!(one != other && one != [0; 24]);
}

#[tokio::test]
async fn a_span_says_what_was_called_and_how_it_ended() {
    let mut step = call("files__read");
    step.origin = Some(Origin { workflow: "w".into(), run: "r".into(), step: "s".into() });
    let (spans, _) = traced(counting, step, |call| {
        call.exchange.notes.resolved(&DownstreamName::parse("files").unwrap());
        call.exchange.notes.decided(Decision::Allowed);
        complete(r#"{"isError":true}"#)
    })
    .await;
    let [Span { name, attributes, is_error, .. }] = &spans[..] else { panic!("{spans:?}") };
    let shown: Vec<_> = attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!((&**name, *is_error), ("tools/call files__read", true));
    assert_eq!(
        shown,
        [
            "mcp.method.name=tools/call",
            "gen_ai.tool.name=files__read",
            "gateway.client=desk",
            "gateway.downstream=files",
            "gateway.decision=allowed",
            "gateway.workflow=w",
            "gateway.run=r",
            "gateway.step=s",
            "error.type=tool_error",
        ]
    );
}

#[tokio::test]
async fn only_what_there_is_gets_a_name_and_texts_are_cut() {
    let name = || Arc::<str>::from("x".repeat(300));
    let rows = [
        (Subject::tool(&name()), "tools/call", "gen_ai.tool.name"),
        (Subject::Prompt { name: name() }, "prompts/get", "gen_ai.prompt.name"),
        (Subject::Resource { uri: name() }, "resources/read", "mcp.resource.uri"),
        (Subject::Completion(Reference::Prompt(name())), "completion/complete", "gateway.name"),
    ];
    for (subject, method, attribute) in rows {
        for is_known in [true, false] {
            let call = call_of(gateway_domain::Caller::anonymous(), subject.clone());
            let (spans, _) = traced(counting, call, move |_| match is_known {
                true => complete("{}"),
                false => Err(CallerError::UnknownTool { name: "t".to_owned() }.into()),
            })
            .await;
            let cut = "x".repeat(256);
            let name = if is_known { format!("{method} {cut}") } else { method.to_owned() };
            assert_eq!((&spans[0].name, spans[0].is_error), (&name, !is_known));
            assert!(spans[0].attributes.contains(&(attribute, cut)), "{spans:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_has_a_span() {
    let kept = Arc::new(Kept::default());
    let stage = Traced::new(counting(kept.clone()), Fake::new(|_| std::future::pending()));
    let time = Duration::from_millis(1500);
    assert!(tokio::time::timeout(time, stage.dispatch(call("t"))).await.is_err());
    let spans = kept.all();
    assert_eq!((spans.len(), spans[0].duration, spans[0].is_error), (1, time, true));
    assert_eq!(spans[0].attributes.last(), Some(&("error.type", "cancelled".to_owned())));
}

#[tokio::test]
async fn no_secret_stands_in_a_span_whole_or_cut() {
    use crate::redaction::{LiveRedactor, NamedSecret, RedactSettings, RedactorConfig};
    let secrets = vec![NamedSecret { name: "s".to_owned(), value: "hunter22".into() }];
    let config = RedactorConfig { secrets, ..RedactorConfig::default() };
    let redactor = Arc::new(LiveRedactor::new(config, RedactSettings::default()).unwrap());
    let subjects = [
        Subject::Resource { uri: format!("x://{}hunter22", "y".repeat(248)).into() },
        Subject::tool("a hunter22"),
        Subject::Other { method: "a/hunter22".into() },
    ];
    for subject in subjects {
        let call = call_of(gateway_domain::Caller::client("hunter22"), subject);
        let hiding = |kept| counting(kept).hiding(redactor.clone());
        let (spans, _) = traced(hiding, call, |_| complete("{}")).await;
        let text = format!("{spans:?}");
        assert!(!text.contains("hunter") && spans[0].name.contains("[RED"), "{text}");
    }
}
