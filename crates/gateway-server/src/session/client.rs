use gateway_domain::{ClientCapabilities, RawObject};
use gateway_protocol::{Revision, convert};

/// What a handshake has told about a client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The revision that was agreed on.
    pub(crate) revision: Revision,
    /// What it can do, in the canonical form.
    pub(crate) capabilities: ClientCapabilities,
    /// The same where it cannot be asked anything.
    pub(crate) unasked: ClientCapabilities,
}

impl Client {
    /// A client that declared this in a handshake that ended with this revision.
    pub(crate) fn new(revision: Revision, declared: &RawObject, extensions: &[String]) -> Self {
        let capabilities = convert::legacy::of_client(revision, declared).canonical(extensions);
        let interactive = ["roots", "sampling", "elicitation"];
        let rest = interactive.iter().fold(capabilities.raw().edit(), |edit, member| edit.remove(member));
        let rest = RawObject::try_from(rest.finish());
        let unasked = rest.map_or_else(|_| ClientCapabilities::none(), ClientCapabilities::from);
        Self { revision, capabilities, unasked }
    }
}

#[cfg(test)]
impl From<Revision> for Client {
    fn from(revision: Revision) -> Self {
        Self::new(revision, &RawObject::empty(), &[])
    }
}
