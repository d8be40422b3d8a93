use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use gateway_domain::DownstreamName;

use crate::{
    curation::Curation,
    engine::{BuildConfig, Credential, ExecutorConfig},
    source::Source,
};

/// Says how operations become tools, given how they do by default.
pub type BuildFunc = Arc<dyn Fn(BuildConfig) -> BuildConfig + Send + Sync>;

/// One API, and which part of it is offered how.
#[derive(Clone)]
pub struct ApiConfig {
    /// Its name as a downstream.
    pub name: DownstreamName,
    /// What the API can be asked.
    pub source: Arc<dyn Source>,
    /// What of that is offered.
    pub curation: Curation,
    /// Where the API is and how it is asked. Credentials are made of [`Self::credentials`] instead, once it is known
    /// what schemes the source has.
    pub executor: ExecutorConfig,
    /// By the name of the security scheme that each is for. An API key for a scheme that wants a bearer token is one.
    pub credentials: BTreeMap<String, Credential>,
    /// Hooks, limits, names, overrides.
    pub build: BuildFunc,
    /// How often the source is asked whether it has changed; a change counts once it has been the same for as long.
    /// `None`: never. Default 1 s.
    pub watch: Option<Duration>,
}

impl ApiConfig {
    /// Offers what only reads, with all else as it is by default.
    pub fn new(name: DownstreamName, source: Arc<dyn Source>, executor: ExecutorConfig) -> Self {
        Self {
            name,
            source,
            curation: Curation::default(),
            executor,
            credentials: BTreeMap::new(),
            build: Arc::new(|build| build),
            watch: Some(Duration::from_secs(1)),
        }
    }
}

impl fmt::Debug for ApiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiConfig")
            .field("name", &self.name)
            .field("source", &self.source.name())
            .field("executor", &self.executor)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}
