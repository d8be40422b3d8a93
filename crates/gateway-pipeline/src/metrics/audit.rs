use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::counter::ConstCounter,
};

use crate::audit::{AuditCounts, AuditLog};

/// Shows what became of the records of a log (P-64).
#[derive(Debug)]
pub(super) struct AuditCollector(pub(super) AuditLog);

impl Collector for AuditCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let AuditCounts { written, shed, unrecordable, sink_errors } = self.0.counts();
        for (name, help, count) in [
            ("audit_written", "Audit records written", written),
            ("audit_shed", "Audit records of success dropped for want of room", shed),
            ("audit_unrecordable", "Audit records that had to be kept and could not be", unrecordable),
            ("audit_sink_errors", "Failures of audit sinks", sink_errors),
        ] {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
