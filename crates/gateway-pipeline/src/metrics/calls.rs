use std::time::Duration;

use gateway_domain::{Caller, MetricsSource, Notes};
use prometheus_client::{
    encoding::text::encode_registry,
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use super::{
    audit::AuditCollector,
    labels::{CallLabels, Clients, Downstream, DownstreamLabels, StageLabels},
};
use crate::{audit::AuditLog, ending::Ending};

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The bounds of the figures about calls.
#[derive(Debug, Clone)]
pub struct MetricsConfig {
    /// How many clients and issuers have labels of their own; the rest share one. 1,000.
    pub max_clients: usize,
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self { max_clients: 1_000 }
    }
}

/// The figures of one gateway about its calls (P-66). Labels are names of the configuration, never of a request: a
/// configured client's name, of OAuth users only the issuer, and the downstream that a call was resolved to.
#[derive(Debug)]
pub struct CallMetrics {
    registry: Registry,
    clients: Clients,
    calls: Family<CallLabels, Counter>,
    latency: Histograms<DownstreamLabels>,
    stages: Histograms<StageLabels>,
    redactions: Counter,
    truncated: Counter,
    rate_limited: Counter,
}

impl CallMetrics {
    /// Figures in a registry of their own, those of an audit log with them.
    pub fn new(config: &MetricsConfig, audit: Option<AuditLog>) -> Self {
        let mut registry = Registry::with_prefix("gateway");
        let calls = Family::default();
        let latency =
            Histograms::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_5, 2.0, 18)));
        let stages =
            Histograms::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_001, 4.0, 13)));
        let [redactions, truncated, rate_limited] = [(); 3].map(|()| Counter::default());
        registry.register("calls", "Calls, by client, downstream and decision", calls.clone());
        let help = "Time from a call's arrival at the pipeline to its outcome";
        registry.register("call_latency_seconds", help, latency.clone());
        let help = "Time spent in a stage, with what is inside of it";
        registry.register("stage_seconds", help, stages.clone());
        registry.register("redactions", "Texts redacted in what goes to clients", redactions.clone());
        registry.register("results_truncated", "Results replaced as too large", truncated.clone());
        registry.register("rate_limited", "Calls refused by a rate limit", rate_limited.clone());
        if let Some(log) = audit {
            registry.register_collector(Box::new(AuditCollector(log)));
        }
        let clients = Clients::new(config.max_clients);
        Self { registry, clients, calls, latency, stages, redactions, truncated, rate_limited }
    }

    /// What counts the time that is spent in a stage.
    pub(crate) fn stage(&self, stage: &'static str) -> Histogram {
        self.stages.get_or_create_owned(&StageLabels { stage })
    }

    /// Counts a call that is over.
    pub(super) fn ended(&self, caller: &Caller, notes: &Notes, ending: &Ending<'_>, time: Duration) {
        let downstream = Downstream(ending.downstream.as_deref().cloned());
        let labels = CallLabels {
            client: self.clients.label(caller),
            downstream: downstream.clone(),
            decision: ending.decision.code(),
        };
        self.calls.get_or_create(&labels).inc();
        self.latency.get_or_create(&DownstreamLabels { downstream }).observe(time.as_secs_f64());
        self.redactions.inc_by(notes.redactions());
        self.truncated.inc_by(notes.is_truncated().into());
        self.rate_limited.inc_by(ending.is_rate_limited.into());
    }
}

impl MetricsSource for CallMetrics {
    fn write(&self, page: &mut String) {
        // Writing to a String does not fail.
        let _ = encode_registry(page, &self.registry);
    }
}
