use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{DownstreamObserver, DownstreamSession, Error, Factory, SessionProfile};
use tokio::time::timeout;

use super::{ApiConfig, Report, api::Api, session::ApiSession, watch::watch};

/// How long the first session waits to know whether the API can be reached. If it takes longer, that is told later.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// Opens sessions to one API, which share what its source said.
pub struct ApiFactory {
    api: Arc<Api>,
}

impl ApiFactory {
    /// Nothing is read yet. `observer` hears when the tools are others, or when the API can be reached again or no
    /// more.
    pub fn new(config: ApiConfig, observer: Arc<dyn DownstreamObserver>) -> Self {
        Self { api: Arc::new(Api::new(config, observer)) }
    }

    /// What became of the source's operations, for as long as this factory or a session of its lives.
    pub fn reports(&self) -> Reports {
        Reports(Arc::downgrade(&self.api))
    }
}

#[async_trait]
impl Factory for ApiFactory {
    type Session = Arc<dyn DownstreamSession>;

    /// Reads the source if it has not been read. That the API cannot be reached is no reason not to open a session.
    async fn create(&self, _: &SessionProfile) -> Result<Self::Session, Error> {
        let api = &self.api;
        let loaded = api.load().await.map_err(|fault| fault.before(&api.config.name))?;
        if api.reachability().take_wish() && timeout(FIRST_LOOK, api.reach()).await.is_err() {
            api.reachability().want();
        }
        api.watch_with(|| tokio::spawn(watch(Arc::downgrade(api), loaded.stamp)).abort_handle());
        Ok(Arc::new(ApiSession::new(api.clone(), &loaded)))
    }
}

impl fmt::Debug for ApiFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.api.config.fmt(f)
    }
}

/// Tells what became of the operations of one API, and has them read again.
#[derive(Clone)]
pub struct Reports(Weak<Api>);

impl Reports {
    /// The report of the last reading that was good; `None` before the first one.
    pub fn last(&self) -> Option<Arc<Report>> {
        Some(self.0.upgrade()?.current()?.report().clone())
    }

    /// Has the source read again within [`ApiConfig::watch`] (1 s if it is not watched), changed or not. What was read
    /// before stays if that comes to nothing. Nothing if the source has not been read yet, or the API is gone.
    pub fn reread(&self) {
        if let Some(api) = self.0.upgrade() {
            api.ask();
        }
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reports").field(&self.last()).finish()
    }
}
