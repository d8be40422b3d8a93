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
        Ok(Arc::new(InUse { held: self.listing(name).await?, reader: None }))
    }

    async fn session_for(
        &self,
        name: &DownstreamName,
        exchange: &Exchange,
    ) -> Result<Arc<dyn DownstreamSession>, Error> {
        let held = self.listing_for(name, exchange).await?;
        Ok(Arc::new(InUse { held, reader: Some(exchange.clone()) }))
    }

    fn counts(&self, name: &DownstreamName) -> Option<SessionCounts> {
        self.counts(name)
    }
}

/// A session that is in use for as long as this is there.
struct InUse {
    held: Arc<Held>,
    /// For whom lists are read from it, unless they are for everybody.
    reader: Option<Exchange>,
}

#[async_trait]
impl Session for InUse {
    async fn close(&self) {
        self.held.session().close().await;
    }

    fn is_open(&self) -> bool {
        self.held.session().is_open()
    }
}

#[async_trait]
impl DownstreamSession for InUse {
    fn peer(&self) -> &PeerInfo {
        self.held.session().peer()
    }

    async fn call(&self, subject: &Subject, params: &Params, exchange: &Exchange) -> Result<Outcome, Error> {
        self.held.session().call(subject, params, exchange).await
    }

    async fn list(&self, list: ListKind, cursor: Option<&str>) -> Result<ListPage, Error> {
        match &self.reader {
            Some(exchange) => self.held.session().list_for(list, cursor, exchange).await,
            None => self.held.session().list(list, cursor).await,
        }
    }

    async fn ping(&self) -> Result<(), Error> {
        self.held.session().ping().await
    }
}
