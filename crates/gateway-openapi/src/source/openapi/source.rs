use std::sync::Arc;

use async_trait::async_trait;

use super::{Limits, read};
use crate::{
    engine::HttpClient,
    ir::Listing,
    source::{Place, References, Source, SourceError},
};

/// An OpenAPI or Swagger document as a source.
#[derive(Debug, Clone)]
pub struct OpenApi {
    document: Place,
    references: References,
    client: Option<Arc<dyn HttpClient>>,
    limits: Limits,
}

impl OpenApi {
    /// The document at this place. References to other documents lead nowhere, and there is no client for URLs.
    pub fn new(document: Place) -> Self {
        Self { document, references: References::none(), client: None, limits: Limits::default() }
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
}

#[async_trait]
impl Source for OpenApi {
    fn name(&self) -> String {
        self.document.name()
    }

    async fn load(&self) -> Result<Listing, SourceError> {
        let content = self.document.fetch(self.client.as_deref(), self.limits.document_bytes).await?;
        read(content, &self.name(), &self.limits)
    }

    async fn stamp(&self) -> Option<u64> {
        self.document.stamp().await
    }
}
