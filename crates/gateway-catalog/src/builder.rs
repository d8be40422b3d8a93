use std::sync::Arc;

use gateway_domain::{Decider, ScopeRules, Unrestricted};

use crate::{
    CatalogConfig, ListStore, Listings, LiveCatalog, MemoryStore, Profile, ProfileError, Screen, Source,
    profile::Profiles, screen::Unscreened, shared::Parts, visibility::Rules,
};

/// What a catalogue is started with. By default lists are kept in this process's memory, everybody may use everything,
/// nothing needs scopes, nobody looks at what is listed, and there are no profiles.
pub struct CatalogBuilder {
    config: CatalogConfig,
    listings: Arc<dyn Listings>,
    sources: Vec<Source>,
    store: Arc<dyn ListStore>,
    decider: Arc<dyn Decider>,
    scopes: Arc<dyn ScopeRules>,
    screen: Arc<dyn Screen>,
    profiles: Vec<Profile>,
}

impl CatalogBuilder {
    /// A catalogue of these sources.
    pub fn new(config: CatalogConfig, listings: Arc<dyn Listings>, sources: Vec<Source>) -> Self {
        Self {
            config,
            listings,
            sources,
            store: Arc::new(MemoryStore::default()),
            decider: Arc::new(Unrestricted),
            scopes: Arc::new(Unrestricted),
            screen: Arc::new(Unscreened),
            profiles: Vec::new(),
        }
    }

    /// The same with lists kept elsewhere: one that is fresh there is shown without asking the downstream (G-5).
    #[must_use]
    pub fn with_store(self, store: Arc<dyn ListStore>) -> Self {
        Self { store, ..self }
    }

    /// The same where this decides who may use what. After its rules have changed,
    /// [`LiveCatalog::rules_changed`] has clients told.
    #[must_use]
    pub fn with_decider(self, decider: Arc<dyn Decider>) -> Self {
        Self { decider, ..self }
    }

    /// The same where this says which scopes things need. [`crate::Resolve`] asks it of everything that is called, once it
    /// is known what a name is of.
    #[must_use]
    pub fn with_scopes(self, scopes: Arc<dyn ScopeRules>) -> Self {
        Self { scopes, ..self }
    }

    /// The same where this looks at everything before it is shown.
    #[must_use]
    pub fn with_screen(self, screen: Arc<dyn Screen>) -> Self {
        Self { screen, ..self }
    }

    /// The same with profiles.
    #[must_use]
    pub fn with_profiles(self, profiles: Vec<Profile>) -> Self {
        Self { profiles, ..self }
    }

    /// Begins to list all enabled sources at the same time, each in a task of its own. Must be called within a tokio
    /// runtime.
    ///
    /// # Errors
    /// The profiles cannot be as they are.
    pub fn start(self) -> Result<LiveCatalog, ProfileError> {
        let profiles = Profiles::new(self.profiles, &self.config.rules)?;
        let parts = Parts { rules: Rules::new(self.decider, self.scopes), screen: self.screen, profiles };
        Ok(LiveCatalog::begin(self.config, self.listings, self.store, parts, self.sources))
    }
}

impl std::fmt::Debug for CatalogBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CatalogBuilder").field("sources", &self.sources).finish_non_exhaustive()
    }
}
