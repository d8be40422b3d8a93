//! What an operator can see from outside, in OpenMetrics text.

mod downstreams;

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicU64};

use gateway_domain::{DownstreamStatus, Era, MetricsSource};
use gateway_protocol::method;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

use self::downstreams::Downstreams;

/// The content type of [`Metrics::scrape`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The last line of the format.
const END: &str = "# EOF\n";

/// The label of a method.
pub(crate) fn label(method: &str) -> &'static str {
    METHODS.into_iter().find(|known| *known == method).unwrap_or("other")
}

/// Methods that have a label of their own; all others share one, so that a client cannot make labels.
const METHODS: [&str; 18] = [
    method::TOOLS_CALL,
    method::TOOLS_LIST,
    method::DISCOVER,
    method::INITIALIZE,
    method::PING,
    method::LISTEN,
    method::PROMPTS_LIST,
    method::PROMPTS_GET,
    method::RESOURCES_LIST,
    method::TEMPLATES_LIST,
    method::RESOURCES_READ,
    method::SUBSCRIBE,
    method::UNSUBSCRIBE,
    method::COMPLETE,
    method::SET_LEVEL,
    method::TASKS_GET,
    method::TASKS_UPDATE,
    method::TASKS_CANCEL,
];

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    era: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

/// The numbers of one edge.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    refused: Family<ReasonLabels, Counter>,
    reloads: Family<ResultLabels, Counter>,
    /// Progress and log messages that a client was too slow for.
    pub(crate) dropped_events: Counter<u64, AtomicU64>,
    in_flight: Gauge,
    sessions: Gauge,
    pub(crate) connections: Gauge,
    downstreams: Downstreams,
    /// Held from the readings to the text: a scrape must not clear what another one is about to write.
    scraping: Mutex<()>,
}

/// What is counted elsewhere and read when somebody looks.
#[derive(Debug)]
pub(crate) struct Readings {
    pub(crate) in_flight: usize,
    pub(crate) sessions: usize,
    pub(crate) downstreams: Vec<DownstreamStatus>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("gateway");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "What is running", build);
        let mut metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            refused: Family::default(),
            reloads: Family::default(),
            dropped_events: Counter::default(),
            in_flight: Gauge::default(),
            sessions: Gauge::default(),
            connections: Gauge::default(),
            downstreams: Downstreams::default(),
            scraping: Mutex::default(),
        };
        registry.register("requests", "Requests answered, by how", metrics.requests.clone());
        registry.register("refused", "Messages refused before they were requests", metrics.refused.clone());
        registry.register("config_reloads", "Attempts to reload the configuration", metrics.reloads.clone());
        let dropped = metrics.dropped_events.clone();
        registry.register("events_dropped", "Progress and log messages not delivered", dropped);
        registry.register("requests_in_flight", "Requests being answered", metrics.in_flight.clone());
        registry.register("sessions", "Legacy sessions", metrics.sessions.clone());
        registry.register("connections", "Open client connections", metrics.connections.clone());
        metrics.downstreams.register(&mut registry);
        metrics.registry = registry;
        metrics
    }

    /// Counts an answer; `outcome` is `ok` or the kind of error.
    pub(crate) fn answered(&self, method: &str, era: Era, outcome: &'static str) {
        let method = label(method);
        let labels = RequestLabels { method, era: era.as_str(), outcome };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a message that did not become a request.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Counts an attempt to reload the configuration.
    pub(crate) fn reloaded(&self, result: &'static str) {
        self.reloads.get_or_create(&ResultLabels { result }).inc();
    }

    /// Everything as text, that of others included.
    pub(crate) fn scrape(&self, readings: &Readings, others: &[Arc<dyn MetricsSource>]) -> String {
        let _alone = self.scraping.lock().unwrap_or_else(PoisonError::into_inner);
        self.in_flight.set(gauge(readings.in_flight));
        self.sessions.set(gauge(readings.sessions));
        self.downstreams.read(&readings.downstreams);
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text.truncate(text.trim_end_matches(END).len());
        others.iter().for_each(|other| other.write(&mut text));
        text.push_str(END);
        text
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_method_era_and_outcome() {
        let metrics = Metrics::new();
        metrics.answered("tools/call", Era::Modern, "ok");
        metrics.answered("tools/call", Era::Modern, "ok");
        metrics.answered("made/up\"}", Era::Legacy, "unknown_method");
        metrics.refused("not_json");
        let readings = Readings { in_flight: 3, sessions: 2, downstreams: Vec::new() };
        let text = metrics.scrape(&readings, &[]);
        for line in [
            r#"gateway_requests_total{method="tools/call",era="modern",outcome="ok"} 2"#,
            r#"gateway_requests_total{method="other",era="legacy",outcome="unknown_method"} 1"#,
            r#"gateway_refused_total{reason="not_json"} 1"#,
            "gateway_requests_in_flight 3",
            "gateway_sessions 2",
            concat!(r#"gateway_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""} 1"#),
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
    }

    #[test]
    fn scrapes_at_the_same_time_each_tell_of_every_downstream() {
        let metrics = Metrics::new();
        let names: Vec<_> = (0..20).map(|n| format!("d{n}")).collect();
        let scrape = || {
            let downstreams = names.iter().map(|name| ready(name)).collect();
            let text = metrics.scrape(&Readings { in_flight: 0, sessions: 0, downstreams }, &[]);
            text.lines().filter(|line| line.starts_with("gateway_downstream_up{")).count()
        };
        let all = std::thread::scope(|scope| {
            let scrapers = [0; 4].map(|_| scope.spawn(|| (0..50).all(|_| scrape() == names.len())));
            scrapers.into_iter().all(|scraper| scraper.join().unwrap())
        });
        assert!(all, "a downstream was missing in one of the scrapes");
    }

    #[test]
    fn everything_known_of_a_downstream_has_a_number() {
        let metrics = Metrics::new();
        let sessions = gateway_domain::SessionCounts {
            in_use: 1,
            idle: 2,
            opened: 3,
            failed: 4,
            lost: 5,
            evicted: 6,
            exhausted: 7,
            broken: 8,
            unanswered_pings: 9,
            parked: 10,
        };
        let list_age = Some(std::time::Duration::from_millis(1_500));
        let status = DownstreamStatus { list_age, is_stale: true, sessions, ..ready("files") };
        let readings = Readings { in_flight: 0, sessions: 0, downstreams: vec![status, ready("new")] };
        // Twice: what is read elsewhere is not added up here.
        metrics.scrape(&readings, &[]);
        let text = metrics.scrape(&readings, &[]);
        for line in [
            r#"gateway_downstream_up{downstream="files"} 1"#,
            r#"gateway_downstream_state{downstream="files",state="ready"} 1"#,
            r#"gateway_downstream_tools{downstream="files"} 1"#,
            r#"gateway_downstream_list_age_seconds{downstream="files"} 1.5"#,
            r#"gateway_downstream_list_stale{downstream="files"} 1"#,
            r#"gateway_downstream_list_stale{downstream="new"} 0"#,
            r#"gateway_downstream_sessions_in_use{downstream="files"} 1"#,
            r#"gateway_downstream_sessions_idle{downstream="files"} 2"#,
            r#"gateway_downstream_calls_parked{downstream="files"} 10"#,
            r#"gateway_downstream_sessions_opened_total{downstream="files"} 3"#,
            r#"gateway_downstream_sessions_failed_total{downstream="files"} 4"#,
            r#"gateway_downstream_sessions_lost_total{downstream="files"} 5"#,
            r#"gateway_downstream_sessions_evicted_total{downstream="files"} 6"#,
            r#"gateway_downstream_sessions_exhausted_total{downstream="files"} 7"#,
            r#"gateway_downstream_broken_total{downstream="files"} 8"#,
            r#"gateway_downstream_pings_unanswered_total{downstream="files"} 9"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
        assert!(
            !text.contains(r#"list_age_seconds{downstream="new"}"#),
            "there is no list to be old:\n{text}"
        );
        let text = metrics.scrape(&Readings { in_flight: 0, sessions: 0, downstreams: Vec::new() }, &[]);
        assert!(!text.contains("downstream="), "one that was removed is gone:\n{text}");
    }

    fn ready(name: &str) -> DownstreamStatus {
        DownstreamStatus {
            name: gateway_domain::DownstreamName::parse(name).unwrap(),
            state: gateway_domain::DownstreamState::Ready,
            reason: None,
            protocol: None,
            server: None,
            tools: 1,
            prompts: 0,
            resources: 0,
            aliases: Vec::new(),
            dropped: Vec::new(),
            started: None,
            required: true,
            list_age: None,
            is_stale: false,
            sessions: gateway_domain::SessionCounts::default(),
        }
    }
}
