//! The top level of a configuration and its small sections.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use gateway_composite::ComposerConfig;
use tracing_subscriber::EnvFilter;

use super::checked::{Characters, Config, Limits, Lists, Log, LogFormat, Names, Reload, Runs};
use super::own::Own;
use super::problem::Fault;
use super::reader::{Item, Reader, Table};
use super::{Request, downstream, questions, scalar, security, workflows};

/// Reads everything; faults are with the reader afterwards, which then makes the result worthless.
pub(super) fn read(reader: &Reader<'_>, request: &Request) -> Config {
    let mut top = reader.root();
    let has_pages_elsewhere = top.has("public_url") || top.has("oauth");
    let has_callers = top.has("clients") || top.has("oauth");
    let listen = top.take("listen");
    let address = listen.as_ref().and_then(|item| item.parsed(scalar::socket)).unwrap_or(DEFAULT_LISTEN);
    let names = names(top.table("names"));
    let names_of_all = security::Downstreams(top.keys_of("downstreams"));
    let clients = security::clients(top.table("clients"), &names_of_all);
    let config = Config {
        listen: address,
        allowed_hosts: top.list("allowed_hosts", scalar::host).unwrap_or_default(),
        allowed_origins: top.list("allowed_origins", scalar::origin).unwrap_or_default(),
        allow_unauthenticated: top.read("allow_unauthenticated", scalar::flag).unwrap_or(false),
        shutdown_grace: top.read("shutdown_grace", scalar::duration(HOUR)).unwrap_or(Duration::from_secs(15)),
        http2: top.read("http2", scalar::flag).unwrap_or(false),
        cancel_on_disconnect: top.read("cancel_on_disconnect", scalar::flag).unwrap_or(false),
        admin_listen: admin(top.table("admin")),
        names,
        log: log(top.table("log")),
        reload: reload(top.table("reload")),
        limits: limits(top.table("limits")),
        lists: lists(top.table("lists")),
        questions: questions::read(top.table("questions")),
        runs: runs(top.table("runs")),
        workflows: workflows::read_all(&mut top),
        extensions: top
            .list("extensions", extension)
            .unwrap_or_else(|| gateway_catalog::CatalogConfig::default().extensions),
        downstreams: downstream::read_all(&mut top, &own(request, address), names),
        security: security::read(&mut top, &names_of_all, &clients, request),
        clients,
        secrets: Vec::new(),
        secret_variables: BTreeSet::default(),
    };
    let faults =
        [open_door(&config).filter(|_| !has_callers), lost_pages(&config).filter(|_| !has_pages_elsewhere)];
    // The address that is listened on by default is nobody's fault.
    if let Some(listen) = listen {
        for fault in faults.into_iter().flatten() {
            match request.opens_port {
                true => listen.report(fault),
                false => listen.note(format!("{}; serve will refuse it", fault.what)),
            }
        }
    }
    top.finish();
    config
}

pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
/// No call takes longer, whatever is configured.
pub(super) const LONGEST_CALL: Duration = HOUR.saturating_mul(24);
pub(super) const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

fn own(request: &Request, listen: SocketAddr) -> Own {
    Own {
        executable: request.executable.clone(),
        listen: request.opens_port.then_some(listen),
        files: request.paths(),
    }
}

/// Others can reach the address and nobody would ask who they are.
fn open_door(config: &Config) -> Option<Fault> {
    if config.listen.ip().to_canonical().is_loopback() || config.allow_unauthenticated {
        return None;
    }
    let fault = Fault::new(format!("{} can be reached by others and no client needs a key", config.listen));
    Some(fault.hint(
        "add [clients.NAME] with a key, listen on 127.0.0.1, or allow everybody with --allow-unauthenticated",
    ))
}

/// People are sent to pages at the address, which leads there from no other machine.
fn lost_pages(config: &Config) -> Option<Fault> {
    if config.listen.ip().to_canonical().is_loopback() {
        return None;
    }
    let mut downstreams = config.downstreams.iter().filter(|downstream| downstream.enabled);
    let name = &downstreams.find(|downstream| downstream.reach.is_per_user())?.name;
    let fault = Fault::new(format!(
        "users of `{name}` have to visit pages, which browsers do not find at {}",
        config.listen
    ));
    Some(fault.hint("write public_url = \"https://gateway.example\", where they reach the gateway"))
}

fn admin(mut table: Table<'_>) -> Option<SocketAddr> {
    let listen = table.take("listen");
    table.finish();
    let item = listen?;
    let address = item.parsed(scalar::socket)?;
    if !address.ip().to_canonical().is_loopback() {
        item.note("health and metrics ask nobody for a key; others can reach this address".to_owned());
    }
    Some(address)
}

fn names(mut table: Table<'_>) -> Names {
    let characters = [("portable", Characters::Portable), ("protocol", Characters::Protocol)];
    let names = Names {
        max_length: table
            .read("max_length", scalar::count(16..=128))
            .unwrap_or_else(|| gateway_aggregate::FitRules::default().max_length),
        characters: table.read("characters", scalar::one_of(&characters)).unwrap_or(Characters::Portable),
    };
    table.finish();
    names
}

fn log(mut table: Table<'_>) -> Log {
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let log = Log {
        format: table.read("format", scalar::one_of(&formats)).unwrap_or(LogFormat::Text),
        level: table.read("level", level).unwrap_or_else(|| "info".to_owned()),
    };
    table.finish();
    log
}

fn reload(mut table: Table<'_>) -> Reload {
    let reload = Reload {
        watch: table.read("watch", scalar::flag).unwrap_or(true),
        interval: table.read("interval", scalar::duration(HOUR)).unwrap_or(Duration::from_secs(1)),
    };
    table.finish();
    reload
}

fn level(item: &Item<'_>) -> Result<String, Fault> {
    let text = scalar::word(item)?;
    match EnvFilter::builder().parse(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(Fault::new(format!("{text:?} is not a log filter"))
            .hint("write \"info\", \"debug\" or, as in RUST_LOG, \"info,gateway_registry=debug\"")),
    }
}

fn limits(mut table: Table<'_>) -> Limits {
    use scalar::{count, duration, size};
    let (t, default) = (&mut table, gateway_server::Limits::default());
    let limits = Limits {
        body_bytes: t.read("body_bytes", size(KIB..=GIB)).unwrap_or(default.body_bytes),
        body_time: t.read("body_time", duration(HOUR)).unwrap_or(default.body_time),
        header_bytes: t.read("header_bytes", size(8 * KIB..=MIB)).unwrap_or(default.header_bytes),
        header_fields: t.read("header_fields", count(10..=1000)).unwrap_or(default.header_fields),
        header_time: t.read("header_time", duration(HOUR)).unwrap_or(default.header_time),
        connections: t.read("connections", count(1..=MANY)).unwrap_or(default.connections),
        connections_per_peer: t
            .read("connections_per_peer", count(1..=MANY))
            .unwrap_or(default.connections_per_peer),
        in_flight: t.read("in_flight", count(1..=MANY)).unwrap_or(default.in_flight),
        in_flight_per_caller: t
            .read("in_flight_per_caller", count(1..=MANY))
            .unwrap_or(default.in_flight_per_caller),
        sessions: t.read("sessions", count(1..=MANY)).unwrap_or(default.sessions),
        sessions_per_caller: t
            .read("sessions_per_caller", count(1..=MANY))
            .unwrap_or(default.sessions_per_caller),
        session_idle: t.read("session_idle", duration(MONTH)).unwrap_or(default.session_idle),
        session_lifetime: t.read("session_lifetime", duration(MONTH)).unwrap_or(default.session_lifetime),
        streams_per_caller: t
            .read("streams_per_caller", count(1..=MANY))
            .unwrap_or(default.listens_per_caller),
    };
    table.finish();
    limits
}

/// An identifier with its vendor's prefix (protocol.md §9.3).
fn extension(item: &Item<'_>) -> Result<String, Fault> {
    let text = scalar::text(item)?;
    let is_named = text.split_once('/').is_some_and(|(vendor, name)| !vendor.is_empty() && !name.is_empty());
    if is_named && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text);
    }
    Err(Fault::new(format!("{text:?} is not the identifier of an extension"))
        .hint("write it with its prefix: \"io.modelcontextprotocol/ui\""))
}

fn lists(mut table: Table<'_>) -> Lists {
    use scalar::{count, duration, size};
    let (t, default) = (&mut table, gateway_catalog::CatalogConfig::default());
    let lists = Lists {
        strict: t.read("strict", scalar::flag).unwrap_or(false),
        page_size: t.read("page_size", count(1..=10_000)).unwrap_or(default.page_size),
        budget: t.read("budget", duration(HOUR)).unwrap_or(default.budget),
        settle: t.read("settle", duration(HOUR)).unwrap_or(default.settle),
        ttl: t.read("ttl", duration(MONTH)).unwrap_or(default.ttl),
        max_pages: t.read("max_pages", count(1..=MANY)).unwrap_or(default.max_pages),
        max_tools: t.read("max_tools", count(1..=MANY)).unwrap_or(default.rules.max_tools),
        max_definition_bytes: t
            .read("max_definition_bytes", size(KIB..=16 * MIB))
            .unwrap_or(default.rules.max_definition_bytes),
    };
    table.finish();
    lists
}

fn runs(mut table: Table<'_>) -> Runs {
    use scalar::{count, duration, size};
    let (t, default) = (&mut table, ComposerConfig::default());
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let runs = Runs {
        max: t.read("max", count(1..=MANY)).unwrap_or(default.max_runs),
        max_per_caller: t.read("max_per_caller", count(1..=MANY)).unwrap_or(default.max_runs_per_caller),
        parallel_steps: t.read("parallel_steps", count(1..=100)).unwrap_or(default.parallel_steps),
        max_calls: t.read("max_calls", count(1..=MANY)).unwrap_or_else(|| whole(default.max_calls)),
        max_bytes: t.read("max_bytes", size(KIB..=GIB)).unwrap_or_else(|| whole(default.max_bytes)),
        max_time: t.read("max_time", duration(LONGEST_CALL)).unwrap_or(default.max_time),
    };
    table.finish();
    runs
}

pub(super) const KIB: usize = 1 << 10;
pub(super) const MIB: usize = 1 << 20;
pub(super) const GIB: usize = 1 << 30;
/// Above this a limit is none.
pub(super) const MANY: usize = 1_000_000;
