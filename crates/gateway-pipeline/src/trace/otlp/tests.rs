use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use gateway_domain::TraceContext;
use tokio::time::{Instant, sleep};
use tracing::Level;

use super::{body::body, *};
use crate::{
    testing::{Log, object},
    trace::{Span, SpanSink as _},
};

const SECOND: Duration = Duration::from_secs(1);

fn span(number: u64) -> Span {
    Span {
        context: TraceContext { trace_id: 0xab, span_id: number, flags: 1, state: None },
        parent: None,
        name: "tools/call t".to_owned(),
        start: SystemTime::UNIX_EPOCH + SECOND,
        duration: Duration::from_nanos(7),
        attributes: Vec::new(),
        is_error: false,
    }
}

#[test]
fn the_body_is_what_the_protocol_says() {
    let mut full = span(2);
    full.context.state = Some("a=\"b".to_owned());
    full.parent = Some(1);
    full.attributes = vec![("k", "a\"\n".to_owned()), ("l", String::new())];
    full.is_error = true;
    let resource = [("service.name".to_owned(), "g".to_owned())];
    let text = String::from_utf8(body(&resource, &[full, span(3)])).unwrap();
    let _ = object(&text);
    assert_eq!(
        text,
        concat!(
            r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"g"}}]},"#,
            r#""scopeSpans":[{"scope":{"name":"gatewayd","version":""#,
            env!("CARGO_PKG_VERSION"),
            r#""},"spans":[{"traceId":"000000000000000000000000000000ab","spanId":"0000000000000002","#,
            r#""parentSpanId":"0000000000000001","traceState":"a=\"b","flags":1,"name":"tools/call t","kind":2,"#,
            r#""startTimeUnixNano":"1000000000","endTimeUnixNano":"1000000007","attributes":["#,
            r#"{"key":"k","value":{"stringValue":"a\"\n"}},{"key":"l","value":{"stringValue":""}}],"#,
            r#""status":{"code":2}},"#,
            r#"{"traceId":"000000000000000000000000000000ab","spanId":"0000000000000003","flags":1,"#,
            r#""name":"tools/call t","kind":2,"startTimeUnixNano":"1000000000","endTimeUnixNano":"1000000007","#,
            r#""attributes":[]}]}]}]}"#,
        )
    );
}

/// A collector that takes its time, and refuses the first so many.
#[derive(Default)]
struct Collector {
    took: Mutex<Vec<(Instant, usize)>>,
    takes: Duration,
    refusals: Mutex<usize>,
}

#[async_trait]
impl SpanExport for Collector {
    async fn export(&self, body: Vec<u8>) -> Result<(), String> {
        sleep(self.takes).await;
        let mut refusals = self.refusals.lock().unwrap();
        if *refusals > 0 {
            *refusals -= 1;
            return Err("no".to_owned());
        }
        let spans = String::from_utf8(body).unwrap().matches("\"spanId\"").count();
        self.took.lock().unwrap().push((Instant::now(), spans));
        Ok(())
    }
}

impl Collector {
    fn took(&self, begun: Instant) -> Vec<(u64, usize)> {
        self.took.lock().unwrap().iter().map(|(at, spans)| ((*at - begun).as_secs(), *spans)).collect()
    }
}

fn counts(exporter: &OtlpExporter) -> (u64, u64) {
    let OtlpCounts { sent, dropped } = exporter.counts();
    (sent, dropped)
}

#[tokio::test(start_paused = true)]
async fn spans_are_sent_together_when_there_are_enough_or_after_a_while() {
    let collector = Arc::new(Collector::default());
    let exporter = OtlpExporter::start(OtlpConfig { batch: 3, ..OtlpConfig::default() }, collector.clone());
    let begun = Instant::now();
    exporter.ended(span(1));
    sleep(3 * SECOND).await;
    exporter.ended(span(2));
    sleep(3 * SECOND).await;
    assert_eq!(collector.took(begun), [(5, 2)]);
    (0..4).for_each(|number| exporter.ended(span(number)));
    sleep(SECOND).await;
    assert_eq!(collector.took(begun), [(5, 2), (6, 3)]);
    exporter.close().await;
    exporter.close().await;
    assert_eq!(collector.took(begun), [(5, 2), (6, 3), (7, 1)], "the close sends the rest at once");
    exporter.ended(span(9));
    assert_eq!(counts(&exporter), (6, 1), "nothing is taken afterwards");
}

#[tokio::test(start_paused = true)]
async fn what_there_is_no_room_for_or_is_refused_is_dropped_counted_and_logged_once() {
    let told = Arc::new(Log::default());
    let _telling = tracing::subscriber::set_default(told.clone());
    let collector = Arc::new(Collector { refusals: Mutex::new(2), ..Collector::default() });
    let config = OtlpConfig { queue: 2, batch: 2, ..OtlpConfig::default() };
    let exporter = OtlpExporter::start(config, collector.clone());
    for _ in 0..2 {
        (0..3).for_each(|number| exporter.ended(span(number)));
        sleep(SECOND).await;
    }
    assert_eq!(counts(&exporter), (0, 6));
    assert_eq!((told.of(Level::WARN).len(), told.of(Level::INFO).len()), (1, 0));
    exporter.ended(span(1));
    exporter.close().await;
    assert_eq!(counts(&exporter), (1, 6));
    assert_eq!((told.of(Level::WARN).len(), told.of(Level::INFO).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_hangs_holds_up_neither_spans_nor_the_close_for_long() {
    let collector = Arc::new(Collector { takes: 3600 * SECOND, ..Collector::default() });
    let config =
        OtlpConfig { batch: 1, timeout: 10 * SECOND, close_wait: 4 * SECOND, ..OtlpConfig::default() };
    let exporter = OtlpExporter::start(config, collector.clone());
    exporter.ended(span(1));
    sleep(11 * SECOND).await;
    assert_eq!(counts(&exporter), (0, 1));
    exporter.ended(span(2));
    let begun = Instant::now();
    exporter.close().await;
    assert_eq!(begun.elapsed(), 4 * SECOND);
}
