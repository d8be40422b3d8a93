use std::sync::{Arc, atomic::AtomicU64};

use arc_swap::ArcSwap;
use gateway_domain::{Access, Caller, Decider, Decision, DownstreamName};

use super::{
    class::Snapshot,
    config::PolicyConfig,
    fault::PolicyFaults,
    mentions::{Mention, mentions},
};

/// The rules in force. Clones share them.
///
/// A decision takes well under a microsecond: full names are looked up in a set, and which rules are about a caller
/// is worked out once for each token.
#[derive(Debug, Clone)]
pub struct Policy {
    current: Arc<ArcSwap<Snapshot>>,
    /// Counts classes, so that those of replaced rules have other numbers.
    numbers: Arc<AtomicU64>,
}

impl Policy {
    /// Checks the rules.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn new(config: &PolicyConfig) -> Result<Self, PolicyFaults> {
        let numbers = Arc::new(AtomicU64::new(0));
        let current = Arc::new(ArcSwap::from_pointee(Snapshot::new(config, numbers.clone())?));
        Ok(Self { current, numbers })
    }

    /// Puts other rules in force, with their pins (P-54): whatever is decided from now on is decided by them alone.
    /// Calls that were admitted go on.
    ///
    /// # Errors
    /// Everything that is wrong with them; the old ones then stay in force (P-19).
    pub fn replace(&self, config: &PolicyConfig) -> Result<(), PolicyFaults> {
        self.current.store(Arc::new(Snapshot::new(config, self.numbers.clone())?));
        Ok(())
    }

    /// The clients and downstreams that rules name, for whoever knows which there are.
    pub fn mentions(config: &PolicyConfig) -> Vec<Mention> {
        mentions(config)
    }
}

impl Decider for Policy {
    fn decide(&self, caller: &Caller, access: &Access<'_>) -> Decision {
        let current = self.current.load();
        current.decide(&current.class(caller), access)
    }

    fn class(&self, caller: &Caller) -> Option<u64> {
        let current = self.current.load();
        let class = current.class(caller);
        (!current.is_unrestricted(&class)).then(|| class.number())
    }

    /// By the patterns alone, since they do not know what there is: they could be about a resource whatever its URI is.
    fn may_use(&self, caller: &Caller, downstream: &DownstreamName) -> bool {
        let current = self.current.load();
        current.may_use(&current.class(caller), downstream)
    }
}
