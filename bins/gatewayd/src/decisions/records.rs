use anyhow::bail;
use gateway_pipeline::audit::{AuditConfig, AuditLog, FileSink, Overflow, Rotation, Sink, StdoutSink};

use super::Users;
use crate::config::{self, Audit};

/// The log of records; `None`: at the terminal they would go to stdout, which belongs to results.
pub(super) fn start(audit: &Audit, users: Users) -> anyhow::Result<Option<AuditLog>> {
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    if let Some(path) = &audit.sinks.file {
        sinks.push(Box::new(FileSink::open(path, rotation(audit))?));
    }
    if audit.sinks.stdout && users == Users::Clients {
        sinks.push(Box::new(StdoutSink::open()?));
    }
    if sinks.is_empty() && users == Users::Clients {
        bail!("records of calls go nowhere");
    }
    Ok((!sinks.is_empty()).then(|| AuditLog::start(&config(audit), sinks)))
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
