use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use gateway_domain::{DownstreamName, Tool, printable};
use tracing::warn;

use super::lock::{Lock, Locked};

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
/// The catalogue asks [`Self::admits`] of every tool when it fits a list, with the name that it has on `/mcp`, on
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
        self.current.load().judge(downstream, exposed, tool).0
    }

    /// Whether the tool is offered at all. What is not as it was accepted is logged, once.
    pub fn admits(&self, downstream: &DownstreamName, exposed: &str, tool: &Tool) -> bool {
        let current = self.current.load();
        let (verdict, digest) = current.judge(downstream, exposed, tool);
        if verdict != Verdict::Known {
            current.tell(downstream, exposed, verdict, digest);
        }
        verdict == Verdict::Known || current.mode != PinMode::Quarantine
    }
}

impl Current {
    /// The verdict, with the digest if there is something to say.
    fn judge(&self, downstream: &DownstreamName, exposed: &str, tool: &Tool) -> (Verdict, String) {
        if self.mode == PinMode::Off {
            return (Verdict::Known, String::new());
        }
        let now = Locked::new(downstream, tool);
        let verdict = match self.lock.get(exposed) {
            None => Verdict::New,
            Some(accepted) if accepted.is_same(&now) => Verdict::Known,
            Some(_) => Verdict::Changed,
        };
        (verdict, now.digest().to_owned())
    }

    fn tell(&self, downstream: &DownstreamName, exposed: &str, verdict: Verdict, digest: String) {
        // Every critical section leaves it consistent.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() > TOLD || !told.insert((exposed.to_owned(), digest)) {
            return;
        }
        let is_last = told.len() > TOLD;
        drop(told);
        if is_last {
            warn!("more than {TOLD} tools are not as they were accepted; `gatewayd pin` shows all");
            return;
        }
        let tool = printable(exposed, 200);
        let what = match verdict {
            Verdict::Changed => "has changed since it was accepted",
            Verdict::New | Verdict::Known => "was never accepted",
        };
        let done = match self.mode {
            PinMode::Quarantine => "it is not offered",
            PinMode::Off | PinMode::Warn => "it is offered",
        };
        warn!(%downstream, tool, "a tool {what}; {done}; `gatewayd pin` shows and accepts it");
    }
}
