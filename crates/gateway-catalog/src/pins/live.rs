use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use gateway_domain::{DownstreamName, Tool, printable};
use tracing::warn;

use super::{
    diff::Change,
    lock::{Lock, Locked},
};

/// What is done about tools that are not as they were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PinMode {
    /// Nothing: tools are not pinned.
    #[default]
    Off,
    /// They are told in the log.
    Warn,
    /// They are told, and nobody is offered them, until they are accepted.
    Quarantine,
}

/// What a lock says of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is as it was accepted, or tools are not pinned.
    Known,
    /// It was never accepted.
    New,
    /// It is another one than was accepted under its name.
    Changed,
}

/// The pins in force. Clones share them.
///
/// The catalogue asks [`Self::admits`], or [`Self::admits_own`], of every tool when it fits a list, with the name that it has on `/mcp`, on
/// whatever path it will be shown, and leaves out what is not admitted: for clients and for steps of workflows. After
/// [`Self::replace`] lists have to be fitted again.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    current: Arc<ArcSwap<Current>>,
}

#[derive(Debug, Default)]
struct Current {
    mode: PinMode,
    lock: Lock,
    /// What is in the log already: exposed names with digests.
    told: Mutex<HashSet<(String, String)>>,
}

/// How many tools are told in the log; a further one is told as the first of more.
const TOLD: usize = 1_000;

/// How many characters of a difference stand in the log.
const DIFF: usize = 1_000;

impl Pins {
    /// No tool is pinned.
    pub fn off() -> Self {
        Self::default()
    }

    /// These tools are.
    pub fn new(mode: PinMode, lock: Lock) -> Self {
        let pins = Self::off();
        pins.replace(mode, lock);
        pins
    }

    /// Puts another lock in force, whole. What is not admitted by it is told again.
    pub fn replace(&self, mode: PinMode, lock: Lock) {
        self.current.store(Arc::new(Current { mode, lock, told: Mutex::default() }));
    }

    /// What is done about tools that are not pinned.
    pub fn mode(&self) -> PinMode {
        self.current.load().mode
    }

    /// What the lock says of a tool, by its exposed name. Pure.
    pub fn judge(&self, downstream: &DownstreamName, exposed: &str, tool: &Tool) -> Verdict {
        match self.current.load().difference(downstream, exposed, tool) {
            None => Verdict::Known,
            Some(Change::Changed { .. }) => Verdict::Changed,
            Some(Change::Added { .. } | Change::Removed { .. }) => Verdict::New,
        }
    }

    /// Whether the tool is offered at all. What is not as it was accepted is logged with what is different, once.
    pub fn admits(&self, downstream: &DownstreamName, exposed: &str, tool: &Tool) -> bool {
        self.admits_if(downstream, exposed, tool, |_| false)
    }

    /// The same of a tool on a list that only its caller has a session for, so that the operator cannot accept it: what
    /// was never accepted is offered, and told. What is in the lock, and another one now, is not.
    pub fn admits_own(&self, downstream: &DownstreamName, exposed: &str, tool: &Tool) -> bool {
        self.admits_if(downstream, exposed, tool, |change| matches!(change, Change::Added { .. }))
    }

    fn admits_if(
        &self,
        downstream: &DownstreamName,
        exposed: &str,
        tool: &Tool,
        is_fine: impl Fn(&Change) -> bool,
    ) -> bool {
        let current = self.current.load();
        let Some(change) = current.difference(downstream, exposed, tool) else { return true };
        let is_offered = current.mode != PinMode::Quarantine || is_fine(&change);
        current.tell(downstream, exposed, &change, is_offered);
        is_offered
    }
}

impl Current {
    /// What is different about a tool; `None`: nothing.
    fn difference(&self, downstream: &DownstreamName, exposed: &str, tool: &Tool) -> Option<Change> {
        if self.mode == PinMode::Off {
            return None;
        }
        let (name, now) = (exposed.to_owned(), Locked::new(downstream, tool));
        match self.lock.get(exposed) {
            None => Some(Change::Added { name, now }),
            Some(before) if before.is_same(&now) => None,
            Some(before) => Some(Change::Changed { name, before: before.clone(), now }),
        }
    }

    fn tell(&self, downstream: &DownstreamName, exposed: &str, change: &Change, is_offered: bool) {
        let (what, now) = match change {
            Change::Changed { now, .. } => ("has changed since it was accepted", now),
            Change::Added { now, .. } | Change::Removed { before: now, .. } => ("was never accepted", now),
        };
        let Some(is_last) = self.is_untold(exposed, now.digest()) else { return };
        if is_last {
            warn!("more than {TOLD} tools are not as they were accepted; `gatewayd pin` shows all");
            return;
        }
        let done = if is_offered { "it is offered" } else { "it is not offered" };
        let (tool, diff) = (printable(exposed, 200), printable(&change.to_string(), DIFF));
        warn!(%downstream, tool, diff, "a tool {what}; {done}; `gatewayd pin` shows and accepts it");
    }

    /// Whether it is to be told, and if so whether as the last.
    fn is_untold(&self, exposed: &str, digest: &str) -> Option<bool> {
        // Every critical section leaves it consistent.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = told.len() <= TOLD && told.insert((exposed.to_owned(), digest.to_owned()));
        is_new.then(|| told.len() > TOLD)
    }
}
