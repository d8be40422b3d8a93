use std::{fmt, sync::Arc};

use gateway_domain::{Caller, Secret};

use crate::{
    config::{BindError, ServerConfig},
    edge::Edge,
    face::proven,
};

/// Replaces what a running [`Server`](crate::Server) was told by its operator (P-18). Clones are for the same
/// server, and may outlive it to no effect.
#[derive(Clone)]
pub struct Settings {
    edge: Arc<Edge>,
}

impl Settings {
    pub(crate) fn of(edge: Arc<Edge>) -> Self {
        Self { edge }
    }

    /// Whether the server could go on with this, on the addresses it has.
    ///
    /// # Errors
    /// [`BindError`] but [`BindError::Listen`].
    pub fn check(&self, config: &ServerConfig) -> Result<(), BindError> {
        self.edge.rules().followed_by(config.clone()).map(drop)
    }

    /// Goes on with this: each request from now on sees all of it, each before saw nothing of it (P-20).
    /// Addresses and TLS stay as they are. So do, on open connections, the limits of a connection, and the bytes of
    /// all bodies together. Sessions of a client that is there no more, or has no key left that it had, and of
    /// users whose issuer is there no more, end with their calls, and so do its streams; its other requests in flight go on, at most for the drain time if it is
    /// there no more. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// As [`Self::check`], and nothing is changed.
    pub fn replace(&self, config: ServerConfig) -> Result<(), BindError> {
        self.edge.replace(config)
    }

    /// Tells that who may use what has become different behind the [`Ports`](crate::Ports), once it has. Whoever watches
    /// resources asks for them again: what is refused now, or is not granted within ten seconds, is watched no longer.
    /// Returns at once. Must be called within a tokio runtime.
    pub fn rules_changed(&self) {
        self.edge.rules_changed();
    }

    /// Whose key or token somebody has typed, by the rules as they are now; `None`: it is nobody's, or cannot be
    /// checked, or nobody has to prove anything. All keys are compared, in constant time; what is no key is asked about
    /// as a token for `/mcp`. Takes as long as the [`TokenVerifier`](gateway_domain::TokenVerifier) does; cancel-safe.
    pub async fn identify(&self, typed: &Secret) -> Option<Caller> {
        let rules = self.edge.rules();
        proven(&rules, typed).await
    }

    /// Counts an attempt to reload the configuration that all of this belongs to, for the metrics.
    pub fn count_reload(&self, applied: bool) {
        self.edge.metrics.reloaded(if applied { "applied" } else { "rejected" });
    }
}

/// Tells a running face what [`Settings::rules_changed`] tells: for the one that has no settings. Clones are for the
/// same face, and may outlive it to no effect.
#[derive(Clone)]
pub struct Rulings {
    edge: Arc<Edge>,
}

impl Rulings {
    pub(crate) fn of(edge: Arc<Edge>) -> Self {
        Self { edge }
    }

    /// As [`Settings::rules_changed`].
    pub fn changed(&self) {
        self.edge.rules_changed();
    }
}

impl fmt::Debug for Rulings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rulings").finish_non_exhaustive()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").finish_non_exhaustive()
    }
}
