//! `[rates]`: how often, and how many at once.

use std::time::Duration;

use super::model::{Bucket, Rates};
use crate::config::gateway::{HOUR, MANY};
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::scalar::{count, duration, number};

pub(super) fn read(mut table: Table<'_>) -> Rates {
    let mut rate = |key| table.take(key).as_ref().and_then(bucket);
    let [per_caller, per_caller_and_tool, per_tool, per_downstream, tasks] = [
        rate("per_caller"),
        rate("per_caller_and_tool"),
        rate("per_tool"),
        rate("per_downstream"),
        rate("tasks"),
    ];
    let tools = table.take("tools").and_then(|item| item.table());
    let one = |(glob, item): (String, Item<'_>)| Some((glob, bucket(&item)?));
    let mut concurrent = table.table("concurrent");
    let [of_caller, of_tool, of_downstream] =
        ["per_caller", "per_tool", "per_downstream"].map(|key| concurrent.read(key, count(1..=MANY)));
    concurrent.finish();
    let rates = Rates {
        per_caller,
        per_caller_and_tool,
        per_tool,
        per_downstream,
        tasks,
        tools: tools.into_iter().flat_map(Table::into_entries).filter_map(one).collect(),
        concurrent_per_caller: of_caller,
        concurrent_per_tool: of_tool,
        concurrent_per_downstream: of_downstream,
        queue: table.read("queue", count(0..=MANY)).unwrap_or(128),
        queue_timeout: table.read("queue_timeout", duration(HOUR)).unwrap_or(Duration::from_secs(2)),
    };
    table.finish();
    rates
}

/// `{ per_second = 5, burst = 10 }`.
fn bucket(item: &Item<'_>) -> Option<Bucket> {
    let mut table = item.table()?;
    if !table.has("per_second") {
        table.report(Fault::new("a rate needs per_second").hint("write { per_second = 5, burst = 10 }"));
    }
    let per_second = table.read("per_second", number(0.001..=1e6));
    let burst = table.read("burst", count(1..=MANY));
    table.finish();
    let per_second = per_second?;
    let burst = burst.and_then(|burst| u32::try_from(burst).ok());
    // What comes in a second, and at least one: else nothing could be called.
    Some(Bucket { per_second, burst: burst.unwrap_or_else(|| per_second.ceil() as u32).max(1) })
}
