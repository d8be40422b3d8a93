//! What is known of each downstream: counted elsewhere, read when somebody looks.

use std::sync::atomic::AtomicU64;

use gateway_domain::{DownstreamState, DownstreamStatus, SessionCounts};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    downstream: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabels {
    downstream: String,
    state: &'static str,
}

type Counts = Family<Labels, Counter>;
type Gauges = Family<Labels, Gauge>;

/// The numbers of all downstreams (P-66).
#[derive(Debug, Default)]
pub(super) struct Downstreams {
    up: Gauges,
    state: Family<StateLabels, Gauge>,
    tools: Gauges,
    list_age: Family<Labels, Gauge<f64, AtomicU64>>,
    list_stale: Gauges,
    in_use: Gauges,
    idle: Gauges,
    parked: Gauges,
    opened: Counts,
    failed: Counts,
    lost: Counts,
    evicted: Counts,
    exhausted: Counts,
    broken: Counts,
    unanswered_pings: Counts,
}

impl Downstreams {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("downstream_up", "Whether a downstream can be used", self.up.clone());
        registry.register("downstream_state", "The state a downstream is in", self.state.clone());
        for (name, help, gauges) in [
            ("downstream_tools", "Tools of it that are offered", &self.tools),
            ("downstream_list_stale", "Whether its list should have been replaced by now", &self.list_stale),
            ("downstream_sessions_in_use", "Sessions held, lent, opening or closing", &self.in_use),
            ("downstream_sessions_idle", "Sessions that wait to be used again", &self.idle),
            ("downstream_calls_parked", "Calls that wait for answers of their client", &self.parked),
        ] {
            registry.register(name, help, gauges.clone());
        }
        let age = "How long ago its list was read";
        registry.register("downstream_list_age_seconds", age, self.list_age.clone());
        for (name, help, counts) in [
            ("downstream_sessions_opened", "Sessions opened", &self.opened),
            ("downstream_sessions_failed", "Attempts to open a session that failed", &self.failed),
            ("downstream_sessions_lost", "Sessions that ended without being asked to", &self.lost),
            ("downstream_sessions_evicted", "Sessions ended to make room", &self.evicted),
            ("downstream_sessions_exhausted", "Calls refused as no session was free", &self.exhausted),
            ("downstream_broken", "How often it was found broken", &self.broken),
            ("downstream_pings_unanswered", "Signs of life that did not come", &self.unanswered_pings),
        ] {
            registry.register(name, help, counts.clone());
        }
    }

    /// Takes new readings instead of the last ones. Whoever calls this is alone until the text is written.
    pub(super) fn read(&self, downstreams: &[DownstreamStatus]) {
        self.clear();
        for status in downstreams {
            self.read_one(status);
        }
    }

    fn clear(&self) {
        self.state.clear();
        self.list_age.clear();
        let gauges = [&self.up, &self.tools, &self.list_stale, &self.in_use, &self.idle, &self.parked];
        gauges.into_iter().for_each(Gauges::clear);
        let counts = [&self.opened, &self.failed, &self.lost, &self.evicted, &self.exhausted];
        counts.into_iter().chain([&self.broken, &self.unanswered_pings]).for_each(Counts::clear);
    }

    fn read_one(&self, status: &DownstreamStatus) {
        use DownstreamState::{Degraded, Ready};
        let labels = Labels { downstream: status.name.to_string() };
        let set = |gauges: &Gauges, value: i64| {
            gauges.get_or_create(&labels).set(value);
        };
        let count = |counts: &Counts, value: u64| {
            counts.get_or_create(&labels).inc_by(value);
        };
        let state = StateLabels { downstream: status.name.to_string(), state: status.state.as_str() };
        self.state.get_or_create(&state).set(1);
        set(&self.up, matches!(status.state, Ready | Degraded).into());
        set(&self.tools, i64::try_from(status.tools).unwrap_or(i64::MAX));
        set(&self.list_stale, status.is_stale.into());
        if let Some(age) = status.list_age {
            self.list_age.get_or_create(&labels).set(age.as_secs_f64());
        }
        // One row for each member, so that a new one is not forgotten here.
        let SessionCounts {
            in_use,
            idle,
            opened,
            failed,
            lost,
            evicted,
            exhausted,
            broken,
            unanswered_pings,
            parked,
        } = status.sessions;
        set(&self.in_use, i64::try_from(in_use).unwrap_or(i64::MAX));
        set(&self.idle, i64::try_from(idle).unwrap_or(i64::MAX));
        set(&self.parked, i64::try_from(parked).unwrap_or(i64::MAX));
        count(&self.opened, opened);
        count(&self.failed, failed);
        count(&self.lost, lost);
        count(&self.evicted, evicted);
        count(&self.exhausted, exhausted);
        count(&self.broken, broken);
        count(&self.unanswered_pings, unanswered_pings);
    }
}
