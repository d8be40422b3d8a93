//! The object graph: which crate's piece is put into which.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Context as _;
use gateway_aggregate::{Characters, FitRules};
use gateway_catalog::{CatalogConfig, LiveCatalog, Resolve, Signal, Source, ToolFilter};
use gateway_domain::{Dispatcher, DownstreamObserver, DownstreamSession, Factory};
use gateway_protocol::{Implementation, Revision};
use gateway_registry::{
    DownstreamFactory, ManagedDownstream, Manager, Pool, PoolConfig, SessionMode, SupervisedFactory,
    SupervisorConfig,
};
use gateway_server::{ClientKey, Ports, ServerConfig};
use gateway_transport_http::{HttpConfig, HttpFactory};
use gateway_transport_stdio::{InheritEnv, StdioConfig, StdioFactory, lifeline::Lifeline};

use crate::{config, lifeline};

/// A running gateway without a face.
pub(crate) struct Gateway {
    pub(crate) catalog: LiveCatalog,
    pub(crate) dispatcher: Arc<dyn Dispatcher>,
    manager: Manager,
    lifeline: Option<Arc<Lifeline>>,
}

impl Gateway {
    /// Starts everything behind the face. Must be called within the runtime.
    pub(crate) fn start(config: &config::Config) -> anyhow::Result<Self> {
        let lifeline = lifeline::start(config);
        let mut managed = Vec::new();
        let mut sources = Vec::new();
        for downstream in &config.downstreams {
            let signal = Arc::new(Signal::new());
            if downstream.enabled {
                managed.push(manage(config, downstream, signal.clone(), lifeline.clone())?);
            }
            sources.push(Source {
                name: downstream.name.clone(),
                filter: ToolFilter::new(&downstream.tools.allow, &downstream.tools.deny),
                required: downstream.required,
                enabled: downstream.enabled,
                mirrors_headers: matches!(downstream.reach, config::Reach::Url(_)),
                list_timeout: downstream.list_timeout,
                signal,
            });
        }
        let manager = Manager::new(managed)?;
        let catalog = LiveCatalog::start(catalog_config(config), Arc::new(manager.clone()), sources);
        let dispatcher = Arc::new(Resolve::new(catalog.clone(), manager.clone()));
        Ok(Self { catalog, dispatcher, manager, lifeline })
    }

    /// What a face needs of it.
    pub(crate) fn ports(&self) -> Ports {
        Ports {
            directory: Arc::new(self.catalog.clone()),
            dispatcher: self.dispatcher.clone(),
            sessions: Arc::new(self.manager.clone()),
        }
    }

    /// Ends all downstreams in order, side by side (P-W19).
    pub(crate) async fn close(&self) {
        self.catalog.close().await;
        self.manager.close().await;
        if let Some(lifeline) = &self.lifeline {
            lifeline.close().await;
        }
    }
}

/// How the gateway introduces itself, on both sides.
pub(crate) fn identity() -> Implementation {
    Implementation::new("gatewayd", "gatewayd", env!("CARGO_PKG_VERSION"))
}

/// The edge's configuration.
pub(crate) fn server_config(config: &config::Config) -> ServerConfig {
    let mut server = ServerConfig::new(identity());
    server.listen = config.listen;
    server.admin_listen = config.admin_listen;
    server.allow_unauthenticated = config.allow_unauthenticated;
    server.http2 = config.http2;
    server.clients =
        config.clients.iter().map(|client| ClientKey::new(&client.name, client.key.expose())).collect();
    server.allowed_hosts = config.allowed_hosts.clone();
    server.allowed_origins = config.allowed_origins.clone();
    let (limits, given) = (&mut server.limits, &config.limits);
    limits.connections = given.connections;
    limits.connections_per_peer = given.connections_per_peer;
    limits.header_bytes = given.header_bytes;
    limits.header_fields = given.header_fields;
    limits.header_time = given.header_time;
    limits.body_bytes = given.body_bytes;
    limits.body_time = given.body_time;
    limits.in_flight = given.in_flight;
    limits.in_flight_per_caller = given.in_flight_per_caller;
    limits.sessions = given.sessions;
    limits.sessions_per_caller = given.sessions_per_caller;
    limits.session_idle = given.session_idle;
    limits.session_lifetime = given.session_lifetime;
    limits.listens_per_caller = given.streams_per_caller;
    limits.drain = config.shutdown_grace;
    server
}

fn catalog_config(config: &config::Config) -> CatalogConfig {
    CatalogConfig {
        rules: FitRules {
            max_length: config.names.max_length,
            characters: match config.names.characters {
                config::Characters::Portable => Characters::Portable,
                config::Characters::Protocol => Characters::Protocol,
            },
            max_tools: config.lists.max_tools,
            max_definition_bytes: config.lists.max_definition_bytes,
        },
        page_size: config.lists.page_size,
        max_pages: config.lists.max_pages,
        budget: config.lists.budget,
        settle: config.lists.settle,
        ttl: config.lists.ttl,
        ..CatalogConfig::default()
    }
}

fn manage(
    config: &config::Config,
    downstream: &config::Downstream,
    observer: Arc<dyn DownstreamObserver>,
    lifeline: Option<Arc<Lifeline>>,
) -> anyhow::Result<ManagedDownstream> {
    let name = downstream.name.clone();
    let supervision = SupervisorConfig {
        max_consecutive_failures: u32::try_from(downstream.supervision.failures).unwrap_or(u32::MAX),
        broken_cooldown: downstream.supervision.cooldown,
    };
    let factory: Arc<DownstreamFactory> = match &downstream.reach {
        config::Reach::Command(command) => {
            let stdio = StdioConfig { lifeline, ..stdio_config(config, downstream, command) };
            let stdio = StdioFactory::new(name.clone(), stdio, observer)
                .with_context(|| format!("downstream `{name}`"))?;
            supervised(&name, stdio, &supervision)
        }
        config::Reach::Url(remote) => {
            let http = HttpFactory::new(name.clone(), http_config(downstream, remote), observer)
                .with_context(|| format!("downstream `{name}`"))?;
            supervised(&name, http, &supervision)
        }
    };
    let pool = PoolConfig {
        max: clients_at_once(downstream),
        acquire_timeout: downstream.pool.acquire_timeout,
        idle_ttl: downstream.pool.idle_ttl,
        close_timeout: close_timeout(downstream),
    };
    let mode = match downstream.sharing {
        config::Sharing::PerClient => SessionMode::PerClient,
        config::Sharing::Shared => SessionMode::Shared,
    };
    Ok(ManagedDownstream { name: name.clone(), mode, pool: Pool::new(name, factory, pool) })
}

/// How long all of a downstream's sessions may take to end: longer than the stop ladder of a process.
fn close_timeout(downstream: &config::Downstream) -> Duration {
    let stages = match &downstream.reach {
        config::Reach::Command(command) => command.terminate.saturating_mul(2),
        config::Reach::Url(_) => Duration::ZERO,
    };
    stages.saturating_add(Duration::from_secs(4))
}

/// How many sessions clients may have: a process each costs memory, an HTTP session hardly any (R-W7).
fn clients_at_once(downstream: &config::Downstream) -> usize {
    downstream.pool.max.unwrap_or(match downstream.reach {
        config::Reach::Command(_) => 16,
        config::Reach::Url(_) => 10_000,
    })
}

fn supervised<F>(
    name: &gateway_domain::DownstreamName,
    factory: F,
    config: &SupervisorConfig,
) -> Arc<DownstreamFactory>
where
    F: Factory<Session = Arc<dyn DownstreamSession>> + 'static,
{
    Arc::new(SupervisedFactory::new(name.clone(), factory, config))
}

fn stdio_config(
    config: &config::Config,
    downstream: &config::Downstream,
    command: &config::Command,
) -> StdioConfig {
    let program = command.program.to_string_lossy().into_owned();
    let argv = std::iter::once(program).chain(command.args.iter().cloned()).collect();
    let env = command.env.iter().map(|(name, value)| (name.clone(), value.expose().into()));
    StdioConfig {
        env: env.collect::<BTreeMap<_, _>>(),
        inherit_env: match &command.inherit_env {
            config::InheritEnv::Minimal => InheritEnv::Minimal,
            config::InheritEnv::Named(names) => InheritEnv::Named(names.clone()),
            config::InheritEnv::All => InheritEnv::Named(all_but_secrets(config)),
        },
        cwd: command.cwd.clone(),
        protocol: revision(downstream.protocol),
        startup_timeout: command.startup_timeout,
        probe_timeout: downstream.probe_timeout,
        call_timeout: downstream.call_timeout,
        max_call_time: downstream.max_call_time,
        request_timeout: downstream.list_timeout,
        terminate: command.terminate,
        max_line_bytes: downstream.max_message_bytes,
        ..StdioConfig::new(argv, identity())
    }
}

/// Everything in the gateway's environment but its own settings, which may hold keys, and what it took
/// secrets from (R-57, R-W8).
fn all_but_secrets(config: &config::Config) -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let is_secret = |name: &String| name.starts_with("GATEWAY_") || config.secret_variables.contains(name);
    names.filter(|name| !is_secret(name)).collect()
}

fn http_config(downstream: &config::Downstream, remote: &config::Remote) -> HttpConfig {
    let headers = remote.headers.iter().map(|(name, value)| (name.to_string(), value.expose().to_owned()));
    HttpConfig {
        headers: headers.collect(),
        ca_file: remote.ca_file.clone(),
        connect_timeout: remote.connect_timeout,
        call_timeout: downstream.call_timeout,
        max_call_time: downstream.max_call_time,
        request_timeout: downstream.list_timeout,
        max_message_bytes: downstream.max_message_bytes,
        protocol: revision(downstream.protocol),
        ..HttpConfig::new(remote.url.to_string(), identity())
    }
}

fn revision(protocol: config::Protocol) -> Option<Revision> {
    match protocol {
        config::Protocol::Auto => None,
        config::Protocol::Revision(date) => Revision::parse(date),
    }
}
