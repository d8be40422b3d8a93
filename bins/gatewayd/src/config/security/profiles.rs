//! `[profiles.NAME]`: views under names of their own.

use std::collections::BTreeMap;

use gateway_domain::DownstreamName;

use super::model::Profile;
use super::name::Downstreams;
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::scalar;

pub(super) fn read_all(table: Table<'_>, downstreams: &Downstreams) -> Vec<Profile> {
    table.into_entries().filter_map(|(name, item)| read(&name, &item, downstreams)).collect()
}

fn read(name: &str, item: &Item<'_>, all: &Downstreams) -> Option<Profile> {
    let checked = DownstreamName::parse(name).map_err(|error| {
        let fault = Fault::new(format!("the name {}", error.rule));
        item.report(fault.hint("use letters, digits, - and single _ inside, 40 at most"));
    });
    if all.check(name).is_ok() {
        item.report(Fault::new("a downstream has this name, and its path").hint("choose another one"));
    }
    let mut table = item.table()?;
    let downstreams = table.list("downstreams", |item| downstream(item, all)).unwrap_or_default();
    let mut tools = table.table("tools");
    let allow = tools.list("allow", |item| all.pattern(item)).unwrap_or_else(|| vec!["*".to_owned()]);
    let deny = tools.list("deny", |item| all.pattern(item)).unwrap_or_default();
    tools.finish();
    let renames = table.take("rename").and_then(|item| item.table()).map(renames).unwrap_or_default();
    let workflows = table.list("workflows", scalar::word).unwrap_or_default();
    let instructions = table.read("instructions", scalar::word);
    table.finish();
    let downstreams = downstreams.into_iter().collect();
    Some(Profile { name: checked.ok()?, downstreams, allow, deny, workflows, renames, instructions })
}

fn downstream(item: &Item<'_>, all: &Downstreams) -> Result<DownstreamName, Fault> {
    let text = scalar::word(item)?;
    all.check(&text)?;
    DownstreamName::parse(&text).map_err(|error| Fault::new(format!("the name {}", error.rule)))
}

fn renames(table: Table<'_>) -> BTreeMap<String, String> {
    let one = |(old, item): (String, Item<'_>)| {
        let new = item.parsed(scalar::word)?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if new.len() > 64 || !new.bytes().all(is_name) {
            let fault = Fault::new(format!("{new:?} is not a name for a tool"));
            item.report(fault.hint("use at most 64 letters, digits, - and _"));
        }
        Some((old, new))
    };
    table.into_entries().filter_map(one).collect()
}
