use gateway_pipeline::audit::{AuditConfig, AuditLog, FileSink, Overflow, Rotation, Sink, StdoutSink};

use crate::config::{self, Audit};

/// The log of records.
pub(super) fn start(audit: &Audit) -> anyhow::Result<AuditLog> {
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    if let Some(path) = &audit.sinks.file {
        sinks.push(Box::new(FileSink::open(path, rotation(audit))?));
    }
    if audit.sinks.stdout {
        sinks.push(Box::new(StdoutSink::open()?));
    }
    Ok(AuditLog::start(&config(audit), sinks))
}

fn rotation(audit: &Audit) -> Rotation {
    let config::Rotation { max_bytes, keep } = audit.rotation;
    Rotation { max_bytes: max_bytes as u64, keep }
}

fn config(audit: &Audit) -> AuditConfig {
    AuditConfig {
        queue: audit.queue,
        high_water: audit.high_water,
        flush_records: audit.flush_records,
        flush_interval: audit.flush_interval,
        fsync_interval: audit.fsync_interval,
        overflow: match audit.overflow {
            config::Overflow::Shed => Overflow::Shed,
            config::Overflow::Block => Overflow::Block(audit.block_timeout),
        },
        security_wait: audit.security_timeout,
        ..AuditConfig::default()
    }
}
