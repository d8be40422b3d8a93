//! What is decided about calls and kept of them, as the configuration has it.

mod limits;
mod policy;
mod records;
mod redaction;
mod spans;

use std::sync::Arc;

use gateway_domain::{Decider, Dispatcher, DoorAudit, MetricsSource, Unrecorded, Unrestricted};
use gateway_egress::Fetch;
use gateway_pipeline::{
    audit::AuditLog,
    limits::{Counted, Limited, Limits},
    metrics::{CallMetrics, MetricsConfig},
    pipeline::{Layer, Observers, Stages},
    policy::{Policy, PolicyStage},
    redaction::{LiveRedactor, Redact},
    trace::otlp::OtlpExporter,
};

use crate::config::Config;

pub(crate) use self::policy::config as policy_config;

/// For whom a gateway runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// Clients, of whom each may do what the rules allow.
    Clients,
    /// The operator, at the terminal: there is nothing to hide.
    Operator,
}

/// The parts that stages share.
pub(crate) struct Decisions {
    /// `None`: everybody may do everything.
    pub(crate) policy: Option<Arc<Policy>>,
    redactor: Arc<LiveRedactor>,
    audit: Option<AuditLog>,
    metrics: Arc<CallMetrics>,
    exporter: Option<Arc<OtlpExporter>>,
    observers: Observers,
    stages: Stages,
}

impl Decisions {
    /// Begins to keep records. Must be called within the runtime.
    ///
    /// # Errors
    /// The configuration cannot be used, as a file of records that cannot be opened.
    pub(crate) fn start(config: &Config, users: Users, fetch: &Arc<dyn Fetch>) -> anyhow::Result<Self> {
        let policy = match users {
            Users::Clients => Some(Arc::new(Policy::new(&policy::config(config))?)),
            Users::Operator => None,
        };
        let redactor = Arc::new(redaction::redactor(config)?);
        let audit = config.security.audit.as_ref().map(records::start).transpose()?;
        let audit = audit.map(|audit| audit.hiding(redactor.clone()));
        let metrics = Arc::new(CallMetrics::new(&MetricsConfig::default(), audit.clone()));
        let (tracer, exporter) = spans::start(config, fetch).unzip();
        let tracer = tracer.map(|tracer| tracer.hiding(redactor.clone()));
        let decider = decider(policy.as_ref());
        let redaction = redaction::layer(&redactor);
        let limits = limits::limits(config)?;
        let (counting, limiting) = (limits.clone().map(counting), limits.map(limiting));
        let stages = Stages::new(Some(deciding(decider)), limiting, Some(redaction));
        Ok(Self {
            stages: stages.counting(counting).timed(metrics.clone()),
            observers: Observers { tracer, metrics: Some(metrics.clone()), audit: audit.clone() },
            policy,
            redactor,
            audit,
            metrics,
            exporter,
        })
    }

    /// Who decides.
    pub(crate) fn decider(&self) -> Arc<dyn Decider> {
        decider(self.policy.as_ref())
    }

    /// The same dispatcher, whose calls are on record, and count for whoever makes them before anything is looked up.
    pub(crate) fn observed(&self, inner: Arc<dyn Dispatcher>) -> Arc<dyn Dispatcher> {
        self.observers.observed(self.stages.counted(inner))
    }

    /// The same dispatcher, of whose calls only those come through that may.
    pub(crate) fn decided(&self, inner: Arc<dyn Dispatcher>) -> Arc<dyn Dispatcher> {
        self.stages.decided(inner)
    }

    /// What finds secrets, and learns more of them.
    pub(crate) fn redactor(&self) -> &Arc<LiveRedactor> {
        &self.redactor
    }

    /// Has secrets and patterns of another configuration found from now on. Secrets that it has not any more stay known.
    ///
    /// # Errors
    /// What cannot be looked for; then all stays as it was.
    pub(crate) fn replace_redaction(&self, config: &Config) -> anyhow::Result<()> {
        Ok(redaction::replace(&self.redactor, config)?)
    }

    /// What keeps records of refusals.
    pub(crate) fn door(&self) -> Arc<dyn DoorAudit> {
        match &self.audit {
            Some(audit) => Arc::new(audit.clone()),
            None => Arc::new(Unrecorded),
        }
    }

    /// Figures for the page of metrics.
    pub(crate) fn metrics(&self) -> Arc<dyn MetricsSource> {
        self.metrics.clone()
    }

    /// Opens the file of records anew, as after somebody has renamed it.
    pub(crate) fn reopen(&self) {
        if let Some(audit) = &self.audit {
            audit.reopen();
        }
    }

    /// Has what waits written: after everything that makes calls has ended (P-16).
    pub(crate) async fn close(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.close().await;
        }
        if let Some(audit) = &self.audit {
            audit.close().await;
        }
    }
}

fn decider(policy: Option<&Arc<Policy>>) -> Arc<dyn Decider> {
    match policy {
        Some(policy) => policy.clone(),
        None => Arc::new(Unrestricted),
    }
}

fn deciding(decider: Arc<dyn Decider>) -> Layer {
    Arc::new(move |inner| Arc::new(PolicyStage::new(decider.clone(), inner)))
}

fn counting(limits: Arc<Limits>) -> Layer {
    Arc::new(move |inner| Arc::new(Counted::new(limits.clone(), inner)))
}

fn limiting(limits: Arc<Limits>) -> Layer {
    Arc::new(move |inner| Arc::new(Limited::new(limits.clone(), inner)))
}

fn redacting(redactor: Arc<LiveRedactor>) -> Layer {
    Arc::new(move |inner| Arc::new(Redact::new(redactor.clone(), inner)))
}

/// What of these sections cannot be used, beyond what their values tell, each with the section it is about.
pub(crate) fn faults(config: &Config) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    if let Err(error) = Policy::new(&policy::config(config)) {
        faults.push(("policy", error.to_string()));
    }
    if let Err(error) = redaction::redactor(config) {
        faults.push(("redaction", error.to_string()));
    }
    if let Err(error) = limits::config(config) {
        faults.push(("rates", error.to_string()));
    }
    faults
}
