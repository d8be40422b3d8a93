//! The object graph: which crate's piece is put into which.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_aggregate::{Characters, FitRules};
use gateway_catalog::{CatalogBuilder, CatalogConfig, Listings, LiveCatalog, Resolve};
use gateway_composite::{Composer, LiveWorkflows, LogObserver};
use gateway_domain::{Dispatcher, DownstreamName, DownstreamSession, Error, Exchange, Subscriptions};
use gateway_protocol::Implementation;
use gateway_registry::{Manager, ManagerConfig};
use gateway_server::Ports;

use crate::{
    config,
    decisions::{Decisions, Users},
    edge, offer, outgoing,
    staged::Staged,
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
    /// Answers calls, each on record.
    pub(crate) dispatcher: Arc<dyn Dispatcher>,
    subscriptions: Arc<dyn Subscriptions>,
    topology: Topology,
}

impl Gateway {
    /// Starts everything behind the face. Must be called within the runtime.
    pub(crate) fn start(config: &config::Config, users: Users) -> anyhow::Result<Self> {
        Self::start_with(config, users, |manager| Arc::new(manager))
    }

    /// As [`Self::start`], for whom workflows may change meanwhile: those of the start are not kept beyond that.
    pub(crate) fn start_to_serve(config: &config::Config, users: Users) -> anyhow::Result<Self> {
        Ok(Self { workflows: Workflows::default(), ..Self::start(config, users)? })
    }

    /// As [`Self::start`], for one client and one exchange: lists are read in the session that calls will use,
    /// so that no server is started twice.
    pub(crate) fn start_for(
        config: &config::Config,
        users: Users,
        exchange: Exchange,
    ) -> anyhow::Result<Self> {
        Self::start_with(config, users, |manager| Arc::new(OneClient { manager, exchange }))
    }

    fn start_with(
        config: &config::Config,
        users: Users,
        listings: impl FnOnce(Manager) -> Arc<dyn Listings>,
    ) -> anyhow::Result<Self> {
        let fetch = outgoing::fetch(config)?;
        let decisions = Arc::new(Decisions::start(config, users, &fetch)?);
        let parts = Parts::new(fetch, decisions.redactor().clone());
        let mut managed = Vec::new();
        let mut sources = Vec::new();
        for downstream in &config.downstreams {
            let (ready, source) = parts.make(config, downstream)?;
            managed.extend(ready);
            parts.keep(&source);
            sources.push(source);
        }
        let manager = Manager::with_config(managed, manager_config(config))?;
        let pins = offer::pins(config);
        let catalog = CatalogBuilder::new(catalog_config(config), listings(manager.clone()), sources)
            .with_decider(decisions.decider())
            .with_screen(offer::screen(config, pins.clone(), decisions.redactor().clone()))
            .with_profiles(offer::profiles(config))
            .with_scopes(Arc::new(edge::required_scopes(config)))
            .start()?;
        let decided = decisions.decided(Arc::new(manager.clone()));
        let resolve = Arc::new(Resolve::new(catalog.clone(), Staged::new(decided.clone(), manager.clone())));
        let workflows = Workflows::of(&config.workflows);
        workflows.warn();
        let recorded = decisions.observed(resolve.clone());
        let watched = Staged::new(decided, manager.clone());
        let subscriptions = Resolve::new(catalog.clone(), watched).with_reader(recorded.clone());
        let composer = Composer::new(workflows::composer_config(config), recorded)
            .with_sessions(Arc::new(manager.clone()))
            .with_observer(Arc::new(LogObserver));
        let offered = LiveWorkflows::new(
            Arc::new(catalog.clone()),
            resolve,
            Arc::new(manager.clone()),
            composer,
            config.questions.time,
            workflows.definitions.clone(),
        )?
        .with_stages(|runs| decisions.decided(runs));
        let dispatcher = decisions.observed(Arc::new(offered.clone()));
        let topology = Topology::new(manager, catalog.clone(), offered.clone(), parts, decisions, pins);
        let subscriptions = Arc::new(subscriptions);
        Ok(Self { catalog, offered, workflows, dispatcher, subscriptions, topology })
    }

    /// What a face needs of it.
    pub(crate) fn ports(&self) -> Ports {
        let offered = Arc::new(self.offered.clone());
        let ports = Ports::new(offered.clone(), self.dispatcher.clone(), offered, self.subscriptions.clone());
        let decisions = &self.topology.decisions;
        let notices = decisions.redactor().clone();
        Ports { audit: decisions.door(), notices, metrics: vec![decisions.metrics()], ..ports }
    }

    /// What changes it while it runs.
    pub(crate) fn topology(&self) -> Topology {
        self.topology.clone()
    }

    /// Ends all downstreams in order, side by side (P-W19).
    pub(crate) async fn close(&self) {
        self.topology.close().await;
        self.topology.decisions.close().await;
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
        rules: fit_rules(config),
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

/// What names and definitions on `/mcp` keep to.
pub(crate) fn fit_rules(config: &config::Config) -> FitRules {
    FitRules {
        max_length: config.names.max_length,
        characters: match config.names.characters {
            config::Characters::Portable => Characters::Portable,
            config::Characters::Protocol => Characters::Protocol,
        },
        max_tools: config.lists.max_tools,
        max_definition_bytes: config.lists.max_definition_bytes,
    }
}
