//! Where tokens and registrations are kept.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use zeroize::Zeroizing;

mod file;
mod memory;
mod records;
mod slot;

pub use file::{FileStore, StoreKey};
pub use memory::MemoryStore;
pub(crate) use records::{Binding, Records, Tokens};
pub(crate) use slot::Owner;
pub use slot::Slot;

/// Keeps secrets under their slots. A port: implementations decide how, but nobody else may read what they keep.
#[async_trait]
pub trait TokenStore: Send + Sync + fmt::Debug {
    /// What is kept in a slot. Cancel-safe.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn load(&self, slot: &Slot) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError>;

    /// Keeps a document in a slot, whole or not at all, in place of what was there. Cancel-safe.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn save(&self, slot: &Slot, document: Zeroizing<Vec<u8>>) -> Result<(), StoreError>;

    /// Empties a slot. Cancel-safe.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn remove(&self, slot: &Slot) -> Result<(), StoreError>;
}

/// Why something was not kept or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The operating system says why.
    #[error("cannot be used: {0}")]
    Io(Arc<str>),
    /// Others than its owner may read the file or folder.
    #[error("is open to others than its owner: {0}")]
    Exposed(Arc<str>),
    /// The key is not 32 bytes as base64 or as hexadecimal digits.
    #[error("has a key that is not 32 bytes in base64 or hexadecimal")]
    BadKey,
    /// A file was written with another key, or for another place, or was changed.
    #[error("holds a file that was not written with this key")]
    Unreadable,
    /// There is no place for more.
    #[error("is full")]
    Full,
}
