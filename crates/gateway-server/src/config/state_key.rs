use std::fmt;

/// A key that sealed values are made with. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct StateKey([u8; 32]);

impl StateKey {
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for StateKey {
    fn from(key: [u8; 32]) -> Self {
        Self(key)
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateKey").finish_non_exhaustive()
    }
}
