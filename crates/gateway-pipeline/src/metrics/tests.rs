use std::{sync::Arc, time::Duration};

use gateway_domain::{
    Call, Caller, CallerError, Decision, Dispatcher, DoorAudit as _, DoorRefusal, DownstreamName, Error,
    Grants, MetricsSource as _, Outcome, Subject,
};

use super::*;
use crate::{
    audit::{AuditConfig, AuditLog},
    testing::{Fake, call, call_of, complete},
};

fn metrics() -> Arc<CallMetrics> {
    Arc::new(CallMetrics::new(&MetricsConfig::default(), None))
}

async fn count(
    metrics: &Arc<CallMetrics>,
    call: Call,
    answer: impl Fn(Call) -> Result<Outcome, Error> + Send + Sync + 'static,
) {
    let _ = Metered::new(metrics.clone(), Fake::now(answer)).dispatch(call).await;
}

fn page(metrics: &CallMetrics) -> String {
    let mut page = "before\n".to_owned();
    metrics.write(&mut page);
    assert!(page.starts_with("before\n") && !page.contains("# EOF"), "{page}");
    page
}

#[track_caller]
fn shows(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(page.lines().any(|found| found == *line), "{line} is not in:\n{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_by_client_downstream_and_decision() {
    let metrics = metrics();
    for _ in 0..2 {
        count(&metrics, call("t"), |call| {
            let notes = &call.exchange.notes;
            notes.resolved(&DownstreamName::parse("files").unwrap());
            notes.decided(Decision::Allowed);
            notes.redacted(2);
            complete("{}")
        })
        .await;
    }
    let ann = Caller::user("https://i", "ann", Grants::default());
    count(&metrics, call_of(ann, Subject::tool("secret\"}")), |call| {
        call.exchange.notes.decided(Decision::Denied);
        Err(CallerError::UnknownTool { name: "t".to_owned() }.into())
    })
    .await;
    count(&metrics, call_of(Caller::anonymous(), Subject::tool("t")), |call| {
        call.exchange.notes.decided(Decision::Allowed);
        call.exchange.notes.truncated();
        Err(CallerError::RateLimited { of: "of this tool", retry_in: Duration::ZERO }.into())
    })
    .await;
    let page = page(&metrics);
    shows(
        &page,
        &[
            r#"gateway_calls_total{client="desk",downstream="files",decision="allowed"} 2"#,
            r#"gateway_calls_total{client="https://i",downstream="",decision="denied_explicit"} 1"#,
            r#"gateway_calls_total{client="anonymous",downstream="",decision="allowed"} 1"#,
            r#"gateway_call_latency_seconds_count{downstream="files"} 2"#,
            r#"gateway_call_latency_seconds_count{downstream=""} 2"#,
            "gateway_redactions_total 4",
            "gateway_results_truncated_total 1",
            "gateway_rate_limited_total 1",
        ],
    );
    for kept_out in ["ann", "secret"] {
        assert!(!page.contains(kept_out), "{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_counted_with_its_time() {
    let metrics = metrics();
    let hung = Fake::new(|call: Call| {
        call.exchange.notes.decided(Decision::Allowed);
        std::future::pending()
    });
    let stage = Metered::new(metrics.clone(), hung);
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, stage.dispatch(call("t"))).await.is_err());
    shows(
        &page(&metrics),
        &[
            r#"gateway_calls_total{client="desk",downstream="",decision="allowed"} 1"#,
            r#"gateway_call_latency_seconds_sum{downstream=""} 1.0"#,
            r#"gateway_call_latency_seconds_bucket{le="0.512",downstream=""} 0"#,
            r#"gateway_call_latency_seconds_bucket{le="1.024",downstream=""} 1"#,
        ],
    );
}

#[tokio::test]
async fn clients_beyond_the_limit_share_a_label() {
    let metrics = Arc::new(CallMetrics::new(&MetricsConfig { max_clients: 2 }, None));
    for name in ["a", "b", "c", "d", "a"] {
        count(&metrics, call_of(Caller::client(name), Subject::tool("t")), |_| complete("{}")).await;
    }
    shows(
        &page(&metrics),
        &[
            r#"gateway_calls_total{client="a",downstream="",decision="allowed"} 2"#,
            r#"gateway_calls_total{client="b",downstream="",decision="allowed"} 1"#,
            r#"gateway_calls_total{client="other",downstream="",decision="allowed"} 2"#,
        ],
    );
}

#[tokio::test]
async fn the_page_says_what_became_of_records() {
    let config = AuditConfig { queue: 2, ..AuditConfig::default() };
    let log = AuditLog::start(&config, Vec::new());
    let metrics = CallMetrics::new(&MetricsConfig::default(), Some(log.clone()));
    let refusal = DoorRefusal { caller: None, peer: None, method: None, name: None, reason: "x" };
    for _ in 0..3 {
        log.refused(&refusal);
    }
    log.close().await;
    shows(
        &page(&metrics),
        &[
            "gateway_audit_written_total 1",
            "gateway_audit_shed_total 0",
            "gateway_audit_unrecordable_total 2",
            "gateway_audit_sink_errors_total 0",
        ],
    );
}

#[tokio::test]
async fn each_instance_counts_for_itself() {
    let (one, other) = (metrics(), metrics());
    count(&one, call("t"), |_| complete("{}")).await;
    assert!(page(&one).contains("desk") && !page(&other).contains("desk"));
}
