//! `[audit]`: where records of calls go.

use std::path::PathBuf;
use std::time::Duration;

use figment::value::Value;

use super::model::{Audit, Overflow, Rotation, Sinks};
use crate::config::Stdout;
use crate::config::gateway::{GIB, HOUR, MANY, MIB};
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::scalar::{self, count, duration, number, size};

pub(super) fn read(top: &mut Table<'_>, stdout: Stdout) -> Option<Audit> {
    if !top.has("audit") {
        top.table("audit").finish();
        return None;
    }
    let mut table = top.table("audit");
    let sink = table.take("sink");
    if sink.is_none() {
        let fault = Fault::new("does not say where records go");
        table.report(fault.hint("write sink = \"file:audit.jsonl\" or sink = \"stdout\""));
    }
    let overflow = [("shed", Overflow::Shed), ("block", Overflow::Block)];
    let mut flush = table.table("flush");
    let flush_records = flush.read("max_records", count(1..=MANY)).unwrap_or(100);
    let flush_interval = flush.read("max_interval", duration(HOUR)).unwrap_or(Duration::from_millis(50));
    flush.finish();
    let audit = Audit {
        sinks: sink.as_ref().map(|item| sinks(item, stdout)).unwrap_or_default(),
        queue: table.read("buffer", count(16..=MANY)).unwrap_or(10_000),
        high_water: table.read("high_water_mark", number(0.01..=1.0)).unwrap_or(0.85),
        flush_records,
        flush_interval,
        fsync_interval: table.read("fsync_interval", duration(HOUR)).unwrap_or(Duration::from_secs(1)),
        overflow: table.read("overflow", scalar::one_of(&overflow)).unwrap_or(Overflow::Shed),
        block_timeout: table.read("block_timeout", duration(HOUR)).unwrap_or(Duration::from_secs(1)),
        security_timeout: table
            .read("security_block_timeout", duration(HOUR))
            .unwrap_or(Duration::from_millis(250)),
        rotation: rotation(table.table("rotate")),
    };
    table.finish();
    // A command that only prints results keeps records in a file or not at all.
    (audit.sinks != Sinks::default() || stdout != Stdout::Results).then_some(audit)
}

fn rotation(mut table: Table<'_>) -> Rotation {
    let max_bytes = table.read("max_bytes", size(0..=1024 * GIB)).unwrap_or(100 * MIB);
    let keep = table.read("keep", count(1..=1000)).and_then(|keep| u32::try_from(keep).ok());
    table.finish();
    Rotation { max_bytes, keep: keep.unwrap_or(5) }
}

/// `"stdout"`, `"file:PATH"`, or both in an array.
fn sinks(item: &Item<'_>, stdout: Stdout) -> Sinks {
    let items = match item.value() {
        Value::Array(..) => item.items().unwrap_or_default(),
        _ => vec![item.clone()],
    };
    let mut sinks = Sinks::default();
    for item in &items {
        match item.parsed(sink) {
            Some(None) => match stdout {
                Stdout::Free => sinks.stdout = true,
                Stdout::Results => {}
                Stdout::Protocol => {
                    let fault = Fault::new("stdout belongs to the protocol here");
                    item.report(fault.hint("write \"file:audit.jsonl\""));
                }
            },
            Some(Some(path)) if sinks.file.is_none() => sinks.file = Some(path),
            Some(Some(_)) => item.report(Fault::new("there is one file of records")),
            None => {}
        }
    }
    if items.is_empty() {
        item.report(Fault::new("names no place for records"));
    }
    sinks
}

/// `None` is stdout.
fn sink(item: &Item<'_>) -> Result<Option<PathBuf>, Fault> {
    let text = scalar::word(item)?;
    match text.strip_prefix("file:") {
        Some(path) if !path.is_empty() => Ok(Some(item.resolve(path.as_ref()))),
        None if text == "stdout" => Ok(None),
        _ => Err(Fault::new(format!("{text:?} is no place for records"))
            .hint("write \"stdout\" or \"file:audit.jsonl\"")),
    }
}
