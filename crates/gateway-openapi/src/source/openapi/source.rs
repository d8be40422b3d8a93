use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::{Limits, gathering::Gathering};
use crate::{
    engine::HttpClient,
    ir::Listing,
    source::{Place, References, Source, SourceError},
};

/// An OpenAPI or Swagger document as a source.
#[derive(Debug)]
pub struct OpenApi {
    document: Place,
    references: References,
    client: Option<Arc<dyn HttpClient>>,
    limits: Limits,
    /// The other documents that were read the last time: when one of them changes, so does what this source yields.
    others: Mutex<Vec<Place>>,
}

impl OpenApi {
    /// The document at this place. References to other documents lead nowhere, and there is no client for URLs.
    pub fn new(document: Place) -> Self {
        Self {
            document,
            references: References::none(),
            client: None,
            limits: Limits::default(),
            others: Mutex::default(),
        }
    }

    /// Lets references lead to some other documents (E-W21).
    #[must_use]
    pub fn with_references(mut self, references: References) -> Self {
        self.references = references;
        self
    }

    /// What documents at URLs are read with. Nothing else is sent with it.
    #[must_use]
    pub fn with_client(mut self, client: Arc<dyn HttpClient>) -> Self {
        self.client = Some(client);
        self
    }

    /// Changes how much is read.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    fn others(&self) -> Vec<Place> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Source for OpenApi {
    fn name(&self) -> String {
        self.document.name()
    }

    async fn load(&self) -> Result<Listing, SourceError> {
        let gathering = Gathering::new(&self.references, self.client.as_deref(), self.limits);
        let (listing, others) = gathering.load(&self.document).await?;
        *self.others.lock().unwrap_or_else(PoisonError::into_inner) = others;
        Ok(listing)
    }

    async fn stamp(&self) -> Option<u64> {
        let mut all = self.document.stamp().await?;
        for other in self.others() {
            // A document that has gone is a change as well.
            all = all.rotate_left(1) ^ other.stamp().await.unwrap_or_default();
        }
        Some(all)
    }
}
