use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use gateway_domain::{CallerError, DownstreamName, Error};

use crate::{ManagerConfig, downstream::Downstream, parks::Parks, tasks::Tasks};

/// Tells the client sessions of a manager apart, those that were handed out too.
pub(crate) type ClientId = u64;

pub(crate) type Downstreams = HashMap<DownstreamName, Arc<Downstream>>;

/// What all clients of a manager have in common.
pub(crate) struct Commons {
    /// Those there are at this moment; changes replace the whole map.
    pub(crate) downstreams: ArcSwap<Downstreams>,
    pub(crate) parks: Arc<Parks>,
    pub(crate) tasks: Tasks,
    clients: AtomicU64,
}

impl Commons {
    pub(crate) fn new(downstreams: Downstreams, config: &ManagerConfig) -> Self {
        Self {
            downstreams: ArcSwap::from_pointee(downstreams),
            parks: Parks::new(config.parks()),
            tasks: Tasks::new(config.tasks()),
            clients: AtomicU64::new(0),
        }
    }

    pub(crate) fn set_config(&self, config: &ManagerConfig) {
        self.parks.set_bounds(config.parks());
        self.tasks.set_bounds(config.tasks());
    }

    /// The downstream of that name.
    pub(crate) fn find(&self, name: &DownstreamName) -> Result<Arc<Downstream>, Error> {
        let found = self.downstreams.load().get(name).cloned();
        found.ok_or_else(|| CallerError::UnknownDownstream { name: name.to_string() }.into())
    }

    pub(crate) fn next_client(&self) -> ClientId {
        self.clients.fetch_add(1, Ordering::Relaxed)
    }

    /// Gives up what waits in a client's sessions.
    pub(crate) fn client_ends(&self, client: ClientId) {
        self.parks.abandon_where(|_, park| park.client == Some(client));
        self.tasks.forget_where(|_, record| record.client == client);
    }

    /// Gives up what waits in a downstream's sessions.
    pub(crate) fn downstream_ends(&self, downstream: &Downstream) {
        let ended = downstream.identity();
        self.parks.abandon_where(|owner, _| owner.downstream == ended);
        self.tasks.forget_where(|owner, _| owner.downstream == ended);
    }

    /// What is kept for a time and has had it.
    pub(crate) fn sweep(&self) {
        self.parks.sweep();
        self.tasks.sweep();
    }

    pub(crate) fn close(&self) {
        self.parks.close();
        self.tasks.close();
    }
}
