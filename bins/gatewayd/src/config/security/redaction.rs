//! `[redaction]`: what neither side is shown.

use super::model::{Redaction, RedactionPattern};
use crate::config::gateway::{GIB, KIB, MIB};
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::scalar::{self, size};
use crate::config::secret;

pub(super) fn read(mut table: Table<'_>) -> Redaction {
    let values = table.take("values").and_then(|item| item.table());
    let value = |(name, item): (String, Item<'_>)| Some((name, secret::read(&item)?));
    let patterns = table.take("patterns").and_then(|item| item.items()).unwrap_or_default();
    let redaction = Redaction {
        secrets: table.read("secrets", scalar::flag).unwrap_or(true),
        values: values.into_iter().flat_map(Table::into_entries).filter_map(value).collect(),
        patterns: patterns.iter().filter_map(pattern).collect(),
        arguments: table.read("arguments", scalar::flag).unwrap_or(true),
        results: table.read("results", scalar::flag).unwrap_or(true),
        max_result_bytes: table.read("max_result_bytes", size(KIB..=GIB)),
        preview_bytes: table.read("preview_bytes", size(0..=MIB)).unwrap_or(0),
    };
    table.finish();
    redaction
}

fn pattern(item: &Item<'_>) -> Option<RedactionPattern> {
    let mut table = item.table()?;
    let [name, regex] = ["name", "regex"].map(|key| {
        if !table.has(key) {
            table.report(Fault::new(format!("a pattern has a {key}")));
        }
        table.read(key, scalar::word)
    });
    let anchor = table.read("anchor", scalar::word);
    table.finish();
    Some(RedactionPattern { name: name?, regex: regex?, anchor })
}
