use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{Call, CallerError, Decision, Error, MetricsSource as _, Outcome};

use super::*;
use crate::{
    audit::{AuditConfig, Sink},
    metrics::MetricsConfig,
    testing::{Fake, call, complete},
    trace::{RandomIds, Span, SpanSink},
};

#[derive(Clone, Default)]
struct Text(Arc<Mutex<String>>);

#[async_trait]
impl Sink for Text {
    async fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.0.lock().unwrap().push_str(&String::from_utf8(std::mem::take(lines)).unwrap());
        Ok(())
    }
}

#[derive(Default)]
struct Spans(Mutex<Vec<Span>>);

impl SpanSink for Spans {
    fn ended(&self, span: Span) {
        self.0.lock().unwrap().push(span);
    }
}

/// A stage that says that it was here, and stops calls to a tool of its name.
struct Marking(&'static str, Arc<Mutex<Vec<&'static str>>>, Inner);

#[async_trait]
impl Dispatcher for Marking {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let Self(name, marks, inner) = self;
        marks.lock().unwrap().push(name);
        if crate::ending::Purpose::of(crate::ending::subject(&call.target)).name == Some(name) {
            call.exchange.notes.decided(Decision::Denied);
            return Err(CallerError::UnknownTool { name: (*name).to_owned() }.into());
        }
        inner.dispatch(call).await
    }
}

fn marking(name: &'static str, marks: &Arc<Mutex<Vec<&'static str>>>) -> Option<Layer> {
    let marks = marks.clone();
    Some(Arc::new(move |inner| Arc::new(Marking(name, marks.clone(), inner))))
}

#[tokio::test]
async fn stages_stand_in_the_order_of_p_32_and_each_can_be_left_out() {
    let all = ["policy", "limits", "redaction"];
    for left_out in ["", "policy", "limits", "redaction"] {
        let marks = Arc::default();
        let [policy, limits, redaction] =
            all.map(|name| if name == left_out { None } else { marking(name, &marks) });
        let stages = Stages::new(policy, limits, redaction).decided(Arc::new(Fake::now(|_| complete("{}"))));
        stages.dispatch(call("t")).await.unwrap();
        let expected: Vec<_> = all.into_iter().filter(|name| *name != left_out).collect();
        assert_eq!(*marks.lock().unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_every_stage_is_counted_with_what_is_inside() {
    let marks = Arc::default();
    let [policy, limits] = ["policy", "limits"].map(|name| marking(name, &marks));
    let slow = Fake::new(|_| async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        complete("{}")
    });
    let metrics = Arc::new(CallMetrics::new(&MetricsConfig::default(), None));
    let stages = Stages::new(policy, limits, None).timed(metrics.clone()).decided(Arc::new(slow));
    stages.dispatch(call("t")).await.unwrap();
    assert!(stages.dispatch(call("limits")).await.is_err());
    let begun = stages.dispatch(call("t"));
    assert!(
        tokio::time::timeout(Duration::from_secs(1), begun).await.is_err(),
        "of one that is dropped nothing"
    );
    let mut page = String::new();
    metrics.write(&mut page);
    for line in [
        r#"gateway_stage_seconds_sum{stage="policy"} 2.0"#,
        r#"gateway_stage_seconds_count{stage="policy"} 2"#,
        r#"gateway_stage_seconds_sum{stage="limits"} 2.0"#,
        r#"gateway_stage_seconds_count{stage="limits"} 2"#,
        r#"gateway_stage_seconds_sum{stage="dispatch"} 2.0"#,
        r#"gateway_stage_seconds_count{stage="dispatch"} 1"#,
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is not in:\n{page}");
    }
}

#[tokio::test]
async fn a_call_is_traced_counted_and_recorded_whatever_stops_it() {
    let (text, spans) = (Text::default(), Arc::new(Spans::default()));
    let log = AuditLog::start(&AuditConfig::default(), vec![Box::new(text.clone())]);
    let metrics = Arc::new(CallMetrics::new(&MetricsConfig::default(), Some(log.clone())));
    let observers = Observers {
        tracer: Some(Tracer::new(Arc::new(RandomIds), spans.clone())),
        metrics: Some(metrics.clone()),
        audit: Some(log.clone()),
    };
    let marks = Arc::default();
    let [policy, limits, redaction] = ["policy", "limits", "redaction"].map(|name| marking(name, &marks));
    let inner = Arc::new(Fake::now(|call| {
        assert!(call.exchange.trace.is_some());
        complete("{}")
    }));
    let stages = Stages::new(policy, limits, redaction).timed(metrics.clone());
    let whole = observers.observed(stages.decided(inner.clone()));
    for name in ["policy", "limits", "redaction", "t"] {
        assert_eq!(whole.dispatch(call(name)).await.is_ok(), name == "t");
    }
    assert_eq!(inner.count(), 1, "P-35");
    log.close().await;
    assert!(whole.dispatch(call("t")).await.is_err(), "no record, no call");
    let mut page = String::new();
    metrics.write(&mut page);
    for line in [
        r#"gateway_calls_total{client="desk",downstream="",decision="denied_explicit"} 3"#,
        r#"gateway_calls_total{client="desk",downstream="",decision="allowed"} 1"#,
        r#"gateway_calls_total{client="desk",downstream="",decision="denied_default"} 1"#,
        r#"gateway_stage_seconds_count{stage="policy"} 4"#,
        r#"gateway_stage_seconds_count{stage="dispatch"} 1"#,
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is not in:\n{page}");
    }
    let (text, spans) = (text.0.lock().unwrap(), spans.0.lock().unwrap());
    assert_eq!((text.lines().count(), spans.len()), (4, 5));
    for (line, span) in text.lines().zip(spans.iter()) {
        let id = format!(r#""trace_id":"{:032x}""#, span.context.trace_id);
        assert!(line.contains(&id), "{line} names the trace {id} that begins here");
    }
}

#[tokio::test]
async fn without_observers_a_dispatcher_is_itself() {
    let inner: Inner = Arc::new(Fake::now(|_| complete("{}")));
    assert!(Arc::ptr_eq(&Observers::default().observed(inner.clone()), &inner), "P-33");
}
