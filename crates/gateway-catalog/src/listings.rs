use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    DownstreamName, DownstreamSession, Error, Exchange, ListKind, ListPage, Outcome, Params, PeerInfo,
    Session, SessionCounts, Subject,
};
use gateway_registry::{Held, Manager};

/// Gives the sessions that downstreams' lists are read from.
#[async_trait]
pub trait Listings: Send + Sync {
    /// The session that serves everybody, opened if need be.
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error>;

    /// The session that a call of this exchange would use, opened if need be. A list that is not for
    /// everybody is read from it (G-10).
    async fn session_for(
        &self,
        name: &DownstreamName,
        exchange: &Exchange,
    ) -> Result<Arc<dyn DownstreamSession>, Error>;

    /// What became of the downstream's sessions, if that is known.
    fn counts(&self, _name: &DownstreamName) -> Option<SessionCounts> {
        None
    }
}

#[async_trait]
impl Listings for Manager {
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error> {
        Ok(Arc::new(InUse(self.listing(name).await?)))
    }

    async fn session_for(
        &self,
        name: &DownstreamName,
        exchange: &Exchange,
    ) -> Result<Arc<dyn DownstreamSession>, Error> {
        Ok(Arc::new(InUse(self.listing_for(name, exchange).await?)))
    }

    fn counts(&self, name: &DownstreamName) -> Option<SessionCounts> {
        self.counts(name)
    }
}

/// A session that is in use for as long as this is there.
struct InUse(Arc<Held>);

#[async_trait]
impl Session for InUse {
    async fn close(&self) {
        self.0.session().close().await;
    }

    fn is_open(&self) -> bool {
        self.0.session().is_open()
    }
}

#[async_trait]
impl DownstreamSession for InUse {
    fn peer(&self) -> &PeerInfo {
        self.0.session().peer()
    }

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        self.0.session().call(subject, params, exchange).await
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        self.0.session().list(list, cursor).await
    }

    async fn ping(&self) -> Result<(), Error> {
        self.0.session().ping().await
    }
}
