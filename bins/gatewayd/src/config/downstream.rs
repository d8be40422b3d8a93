//! `[downstreams.NAME]`: the servers behind the gateway.

use std::time::Duration;

use gateway_domain::DownstreamName;
use gateway_registry::HealthConfig;

use super::checked::{Downstream, Health, Names, Pool, Protocol, Reach, Sharing, Supervision, ToolFilter};
use super::gateway::{GIB, HOUR, KIB, LONGEST_CALL, MIB, MONTH};
use super::own::Own;
use super::problem::Fault;
use super::reader::{Item, Table};
use super::{api, reach, scalar};

pub(super) fn read_all(top: &mut Table<'_>, own: &Own, names: Names) -> Vec<Downstream> {
    let Some(item) = top.take("downstreams") else {
        top.report(none_configured());
        return Vec::new();
    };
    let Some(table) = item.table() else { return Vec::new() };
    let entries: Vec<_> = table.into_entries().collect();
    if entries.is_empty() {
        item.report(none_configured());
    }
    let downstreams: Vec<_> =
        entries.iter().filter_map(|(name, item)| read(name, item, own, names)).collect();
    if !downstreams.is_empty() && downstreams.iter().all(|downstream| !downstream.enabled) {
        item.note("every downstream is disabled; nothing will be offered".to_owned());
    }
    downstreams
}

fn none_configured() -> Fault {
    let fault = Fault::new("no downstreams are configured");
    fault.hint("add [downstreams.NAME] with command = [\"…\"], url = \"…\" or openapi = \"…\"")
}

fn read(name: &str, item: &Item<'_>, own: &Own, names: Names) -> Option<Downstream> {
    let checked = DownstreamName::parse(name).map_err(|error| {
        let fault = Fault::new(format!("the name {}", error.rule));
        item.report(fault.hint("use letters, digits, - and single _ inside, 40 at most"));
    });
    let mut table = item.table()?;
    let enabled = table.read("enabled", scalar::flag).unwrap_or(true);
    table.set_dormant(!enabled);
    let downstream = members(checked.ok(), enabled, &mut table, own, names);
    table.set_dormant(false);
    table.finish();
    downstream
}

fn members(
    name: Option<DownstreamName>,
    enabled: bool,
    table: &mut Table<'_>,
    own: &Own,
    names: Names,
) -> Option<Downstream> {
    let (call_timeout, max_call_time) = call_times(table);
    let sharing = sharing(table);
    let naming = name.as_ref().map(|name| api::naming(names, name)).unwrap_or_default();
    let reach = reach::read(table, &own.executable, &naming);
    let is_per_caller = matches!(&reach, Some(Reach::Url(remote)) if remote.outgoing.is_per_caller());
    if is_per_caller && sharing == Sharing::Shared {
        let fault = Fault::new("is shared by all clients, and proved to be each of them");
        table.report(fault.hint("give each client its own session: sharing = \"per_client\""));
    }
    let is_own = enabled && reach.as_ref().is_some_and(|reach| own.is(reach));
    if is_own {
        table.note("is this gateway itself; left out".to_owned());
    }
    Some(Downstream {
        enabled: enabled && !is_own,
        required: table.read("required", scalar::flag).unwrap_or(false),
        sharing,
        pool: pool(table.table("pool")),
        call_timeout,
        max_call_time,
        probe_timeout: seconds(table, "probe_timeout", 5),
        list_timeout: seconds(table, "list_timeout", 10),
        protocol: table.read("protocol", scalar::one_of(&PROTOCOLS)).unwrap_or(Protocol::Auto),
        tools: tools(table.table("tools")),
        public_tool_list: public_tool_list(table, sharing, is_per_caller),
        max_message_bytes: table.read("max_message_bytes", scalar::size(KIB..=GIB)).unwrap_or(16 * MIB),
        supervision: supervision(table.table("supervision")),
        health: health(table.table("health")),
        // Last, so that every other fault of the downstream is found even if it cannot be reached.
        reach: reach?,
        name: name?,
    })
}

fn sharing(table: &mut Table<'_>) -> Sharing {
    let choices = [("per_client", Sharing::PerClient), ("shared", Sharing::Shared)];
    table.read("sharing", scalar::one_of(&choices)).unwrap_or(Sharing::PerClient)
}

/// For a call without progress, and for any.
fn call_times(table: &mut Table<'_>) -> (Duration, Duration) {
    if table.has("openapi") {
        // An answer comes at once or not: there is one limit (E-15).
        reach::refuse(table, &api::NOT_FOR_APIS, "has no meaning for an HTTP API");
        let limit = table.read("call_timeout", scalar::duration(LONGEST_CALL));
        let limit = limit.unwrap_or(Duration::from_secs(30));
        return (limit, limit);
    }
    let call = table.take("call_timeout");
    let longest =
        table.read("max_call_time", scalar::duration(LONGEST_CALL)).unwrap_or(Duration::from_secs(600));
    let call_timeout = call.as_ref().and_then(|item| item.parsed(scalar::duration(LONGEST_CALL)));
    if let Some(item) = call
        && call_timeout.is_some_and(|timeout| timeout > longest)
    {
        let longest = humantime::format_duration(longest);
        let fault = Fault::new(format!("must not be longer than max_call_time, which is {longest}"));
        item.report(fault.hint("raise max_call_time as well"));
    }
    (call_timeout.unwrap_or_else(|| longest.min(Duration::from_secs(60))), longest)
}

fn pool(mut table: Table<'_>) -> Pool {
    let pool = Pool {
        max: table.read("max", scalar::count(1..=10_000)),
        acquire_timeout: seconds(&mut table, "acquire_timeout", 2),
        idle_ttl: table.read("idle_ttl", scalar::duration(MONTH)).unwrap_or(Duration::from_secs(90)),
    };
    table.finish();
    pool
}

fn tools(mut table: Table<'_>) -> ToolFilter {
    let filter = ToolFilter {
        allow: table.list("allow", scalar::word).unwrap_or_else(|| vec!["*".to_owned()]),
        deny: table.list("deny", scalar::word).unwrap_or_default(),
        workflows: table.list("workflows", scalar::word).unwrap_or_default(),
    };
    table.finish();
    filter
}

/// A list of one's own is read in a session of one's own (G-10). Who proves to be each caller has nobody to read a
/// list for all of them with.
fn public_tool_list(table: &mut Table<'_>, sharing: Sharing, is_per_caller: bool) -> bool {
    let Some(item) = table.take("public_tool_list") else { return !is_per_caller };
    let is_public = item.parsed(scalar::flag).unwrap_or(!is_per_caller);
    if !is_public && sharing == Sharing::Shared {
        let fault = Fault::new("cannot be false for a downstream whose sessions all clients share");
        item.report(fault.hint("remove it, or give each client its own session: sharing = \"per_client\""));
    }
    is_public
}

fn health(mut table: Table<'_>) -> Health {
    let default = HealthConfig::default();
    let health = Health {
        interval: table.read("interval", scalar::duration_or_off(HOUR)).unwrap_or(default.interval),
        timeout: table.read("timeout", scalar::duration(HOUR)).unwrap_or(default.timeout),
    };
    table.finish();
    health
}

fn supervision(mut table: Table<'_>) -> Supervision {
    let supervision = Supervision {
        failures: table.read("failures", scalar::count(1..=1000)).unwrap_or(5),
        cooldown: table.read("cooldown", scalar::duration(HOUR)),
    };
    table.finish();
    supervision
}

/// A duration of at most an hour.
pub(super) fn seconds(table: &mut Table<'_>, key: &'static str, default: u64) -> Duration {
    table.read(key, scalar::duration(HOUR)).unwrap_or_else(|| Duration::from_secs(default))
}

/// Every revision there is (protocol.md §1).
const PROTOCOLS: [(&str, Protocol); 6] = [
    ("auto", Protocol::Auto),
    ("2024-11-05", Protocol::Revision("2024-11-05")),
    ("2025-03-26", Protocol::Revision("2025-03-26")),
    ("2025-06-18", Protocol::Revision("2025-06-18")),
    ("2025-11-25", Protocol::Revision("2025-11-25")),
    ("2026-07-28", Protocol::Revision("2026-07-28")),
];
