//! `[policy]`: rules beside those of the clients.

use std::collections::BTreeMap;

use super::model::{Client, Policy, Rule, Through};
use super::name::Downstreams;
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::scalar;

/// How many rules there may be: each is looked at for each new kind of caller.
const MOST: usize = 1_000;

pub(super) fn read(mut table: Table<'_>, downstreams: &Downstreams, clients: &[Client]) -> Policy {
    let defaults = [("deny", false), ("allow", true)];
    let allows_by_default = table.read("default", scalar::one_of(&defaults));
    let rules = table.take("rules");
    table.finish();
    let items = rules.as_ref().and_then(Item::items).unwrap_or_default();
    if let (Some(rules), true) = (&rules, items.len() > MOST) {
        rules.report(Fault::new(format!("there are {} rules, and {MOST} at most are read", items.len())));
    }
    Policy {
        allows_by_default,
        rules: items.iter().filter_map(|item| rule(item, downstreams, clients)).collect(),
    }
}

fn rule(item: &Item<'_>, downstreams: &Downstreams, clients: &[Client]) -> Option<Rule> {
    let mut table = item.table()?;
    let effects = [("allow", true), ("deny", false)];
    let effect = table.read("effect", scalar::one_of(&effects));
    if effect.is_none() && !table.has("effect") {
        table
            .report(Fault::new("a rule has an effect").hint("write effect = \"allow\" or effect = \"deny\""));
    }
    let ways = [("workflows", Through::Workflows), ("client", Through::Client)];
    let client = |item: &Item<'_>| client(item, clients);
    let rule_clients = list(&mut table, "clients", client);
    let names = list(&mut table, "names", |item| downstreams.pattern(item));
    let of = list(&mut table, "downstreams", |item| downstreams.downstream(item));
    let mut words = |key| list(&mut table, key, scalar::word);
    let rule = Rule {
        allows: effect.unwrap_or_default(),
        clients: rule_clients,
        names,
        downstreams: of,
        issuers: words("issuers"),
        subjects: words("subjects"),
        scopes: words("scopes"),
        methods: words("methods"),
        claims: table.take("claims").map(|item| claims(&item)).unwrap_or_default(),
        read_only: table.read("read_only", scalar::flag),
        destructive: table.read("destructive", scalar::flag),
        through: table.read("through", scalar::one_of(&ways)),
    };
    table.finish();
    Some(rule)
}

/// What is left out is about everything, so that an empty list must not look like it.
fn list(
    table: &mut Table<'_>,
    key: &'static str,
    read: impl Fn(&Item<'_>) -> Result<String, Fault>,
) -> Vec<String> {
    let Some(item) = table.take(key) else { return Vec::new() };
    let items = item.items();
    if items.as_ref().is_some_and(Vec::is_empty) {
        item.report(
            Fault::new("is empty, so that the rule fits nothing").hint("leave it out, or name something"),
        );
    }
    items.unwrap_or_default().iter().filter_map(|item| item.parsed(&read)).collect()
}

/// A pattern over clients.
fn client(item: &Item<'_>, clients: &[Client]) -> Result<String, Fault> {
    let text = scalar::word(item)?;
    let is_known = text.contains(['*', '?']) || clients.iter().any(|client| client.name == text);
    match is_known {
        true => Ok(text),
        false => Err(Fault::new(format!("there is no client {text:?}"))),
    }
}

fn claims(item: &Item<'_>) -> BTreeMap<String, Vec<String>> {
    let Some(table) = item.table() else { return BTreeMap::new() };
    let values = |(claim, item): (String, Item<'_>)| {
        let values = item.items()?;
        Some((claim, values.iter().filter_map(|value| value.parsed(scalar::word)).collect()))
    };
    let claims: BTreeMap<_, _> = table.into_entries().filter_map(values).collect();
    if claims.is_empty() {
        item.report(Fault::new("names no claim").hint("leave it out, or name one"));
    }
    claims
}
