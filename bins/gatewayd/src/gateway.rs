//! The object graph: which crate's piece is put into which.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_aggregate::{Characters, FitRules};
use gateway_catalog::{CatalogConfig, Listings, LiveCatalog, Resolve};
use gateway_composite::{Composer, LiveWorkflows, LogObserver};
use gateway_domain::{DownstreamName, DownstreamSession, Error, Exchange, Subscriptions};
use gateway_protocol::Implementation;
use gateway_registry::{Manager, ManagerConfig};
use gateway_server::{ClientKey, Ports, ServerConfig};

use crate::{
    config,
    topology::{Parts, Topology},
    workflows::{self, Workflows},
};

/// A running gateway without a face.
pub(crate) struct Gateway {
    pub(crate) catalog: LiveCatalog,
    /// Workflows in front of the catalogue: what clients see, and what answers their calls.
    pub(crate) offered: LiveWorkflows,
    /// The workflows that it was started with, for commands that tell about them.
    pub(crate) workflows: Workflows,
    subscriptions: Arc<dyn Subscriptions>,
    topology: Topology,
}

impl Gateway {
    /// Starts everything behind the face. Must be called within the runtime.
    pub(crate) fn start(config: &config::Config) -> anyhow::Result<Self> {
        Self::start_with(config, |manager| Arc::new(manager))
    }

    /// As [`Self::start`], for whom workflows may change meanwhile: those of the start are not kept beyond that.
    pub(crate) fn start_to_serve(config: &config::Config) -> anyhow::Result<Self> {
        Ok(Self { workflows: Workflows::default(), ..Self::start(config)? })
    }

    /// As [`Self::start`], for one client and one exchange: lists are read in the session that calls will use,
    /// so that no server is started twice.
    pub(crate) fn start_for(config: &config::Config, exchange: Exchange) -> anyhow::Result<Self> {
        Self::start_with(config, |manager| Arc::new(OneClient { manager, exchange }))
    }

    fn start_with(
        config: &config::Config,
        listings: impl FnOnce(Manager) -> Arc<dyn Listings>,
    ) -> anyhow::Result<Self> {
        let parts = Parts::default();
        let mut managed = Vec::new();
        let mut sources = Vec::new();
        for downstream in &config.downstreams {
            let (ready, source) = parts.make(config, downstream)?;
            managed.extend(ready);
            parts.keep(&source);
            sources.push(source);
        }
        let manager = Manager::with_config(managed, manager_config(config))?;
        let catalog = LiveCatalog::start(catalog_config(config), listings(manager.clone()), sources);
        let resolve = Arc::new(Resolve::new(catalog.clone(), manager.clone()));
        let workflows = Workflows::of(&config.workflows);
        workflows.warn();
        let composer = Composer::new(workflows::composer_config(config), resolve.clone())
            .with_sessions(Arc::new(manager.clone()))
            .with_observer(Arc::new(LogObserver));
        let offered = LiveWorkflows::new(
            Arc::new(catalog.clone()),
            resolve.clone(),
            Arc::new(manager.clone()),
            composer,
            config.questions.time,
            workflows.definitions.clone(),
        )?;
        let topology = Topology::new(manager, catalog.clone(), offered.clone(), parts);
        Ok(Self { catalog, offered, workflows, subscriptions: resolve, topology })
    }

    /// What a face needs of it.
    pub(crate) fn ports(&self) -> Ports {
        let offered = Arc::new(self.offered.clone());
        Ports::new(offered.clone(), offered.clone(), offered, self.subscriptions.clone())
    }

    /// What changes it while it runs.
    pub(crate) fn topology(&self) -> Topology {
        self.topology.clone()
    }

    /// Ends all downstreams in order, side by side (P-W19).
    pub(crate) async fn close(&self) {
        self.topology.close().await;
    }
}

/// Lists as one client is shown them.
struct OneClient {
    manager: Manager,
    exchange: Exchange,
}

#[async_trait]
impl Listings for OneClient {
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error> {
        self.manager.session_for(name, &self.exchange).await
    }

    async fn session_for(
        &self,
        name: &DownstreamName,
        exchange: &Exchange,
    ) -> Result<Arc<dyn DownstreamSession>, Error> {
        self.manager.session_for(name, exchange).await
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
    server.cancel_on_disconnect = config.cancel_on_disconnect;
    server.clients = config.clients.iter().flat_map(keys).collect();
    server.allowed_hosts = config.allowed_hosts.clone();
    server.allowed_origins = config.allowed_origins.clone();
    server.state_key.clone_from(&config.questions.state_key);
    server.label_questions = config.questions.label;
    server.extensions.clone_from(&config.extensions);
    server.limits.question_time = config.questions.time;
    server.limits.question_rounds = config.questions.rounds;
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

/// Legacy sessions have their own limit at the edge, so here there is room for as many modern clients again.
pub(crate) fn manager_config(config: &config::Config) -> ManagerConfig {
    let default = ManagerConfig::default();
    let questions = &config.questions;
    ManagerConfig {
        max_parks: questions.parked,
        max_parks_per_caller: questions.parked_per_caller,
        park_time: questions.time,
        max_clients: default.max_clients.max(config.limits.sessions.saturating_mul(2)),
        ..default
    }
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
        strict: config.lists.strict,
        extensions: config.extensions.clone(),
        ..CatalogConfig::default()
    }
}

fn keys(client: &config::Client) -> impl Iterator<Item = ClientKey> {
    client.keys.iter().filter_map(|key| match key {
        config::Key::Plain(secret) => Some(ClientKey::new(&client.name, secret.expose())),
        config::Key::Digest(_) => None,
    })
}
