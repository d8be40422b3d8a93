use std::{fmt, sync::Arc};

/// Who asks. Sessions, cursors, tasks and caches are keyed by it; it never comes from a client's own
/// description of itself (protocol.md §8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller(Identity);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Identity {
    Anonymous,
    Client(Arc<str>),
}

impl Caller {
    /// The one caller there is while no clients are configured.
    pub fn anonymous() -> Self {
        Self(Identity::Anonymous)
    }

    /// A configured client that proved its key.
    pub fn client(name: &str) -> Self {
        Self(Identity::Client(name.into()))
    }

    /// Whether nobody was authenticated.
    pub fn is_anonymous(&self) -> bool {
        self.0 == Identity::Anonymous
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Identity::Anonymous => f.write_str("anonymous"),
            Identity::Client(name) => f.write_str(name),
        }
    }
}
