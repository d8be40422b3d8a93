use std::{collections::HashMap, fmt};

use async_trait::async_trait;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use super::{Slot, StoreError, TokenStore};

/// Keeps secrets until the process ends.
#[derive(Default)]
pub struct MemoryStore(Mutex<HashMap<Slot, Zeroizing<Vec<u8>>>>);

/// Documents at most.
const MOST: usize = 4096;

#[async_trait]
impl TokenStore for MemoryStore {
    async fn load(&self, slot: &Slot) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        Ok(self.0.lock().await.get(slot).cloned())
    }

    async fn save(&self, slot: &Slot, document: Zeroizing<Vec<u8>>) -> Result<(), StoreError> {
        let mut kept = self.0.lock().await;
        if kept.len() >= MOST && !kept.contains_key(slot) {
            return Err(StoreError::Full);
        }
        kept.insert(slot.clone(), document);
        Ok(())
    }

    async fn remove(&self, slot: &Slot) -> Result<(), StoreError> {
        self.0.lock().await.remove(slot);
        Ok(())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_takes_no_more_than_it_may() {
        let store = MemoryStore::default();
        let slot = |number: usize| Slot::client("i", &number.to_string());
        for number in 0..MOST {
            store.save(&slot(number), Zeroizing::new(vec![1])).await.unwrap();
        }
        assert_eq!(store.save(&slot(MOST), Zeroizing::default()).await, Err(StoreError::Full));
        store.save(&slot(0), Zeroizing::new(vec![2])).await.unwrap();
        assert_eq!(**store.load(&slot(0)).await.unwrap().unwrap(), [2]);
        store.remove(&slot(0)).await.unwrap();
        assert_eq!(store.load(&slot(0)).await, Ok(None));
        store.save(&slot(MOST), Zeroizing::default()).await.unwrap();
    }
}
