use gateway_domain::{ClientCapabilities, RawObject};
use gateway_protocol::{Revision, convert};

/// What a handshake has told about a client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The revision that was agreed on.
    pub(crate) revision: Revision,
    /// What it can do, in the canonical form.
    pub(crate) capabilities: ClientCapabilities,
}

impl Client {
    /// A client that declared this in a handshake that ended with this revision.
    pub(crate) fn new(revision: Revision, declared: &RawObject, extensions: &[String]) -> Self {
        let capabilities = convert::legacy::of_client(revision, declared).canonical(extensions);
        Self { revision, capabilities }
    }
}

#[cfg(test)]
impl From<Revision> for Client {
    fn from(revision: Revision) -> Self {
        Self::new(revision, &RawObject::empty(), &[])
    }
}
