use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gateway_protocol::client::Knowledge;
use tokio::time::Instant;

/// What is known of a server's eras. That it lacks one is believed for a while only, so that an upgraded
/// server is noticed (protocol.md §7.3); that it has one proves wrong by itself.
#[derive(Debug)]
pub(crate) struct Memory {
    lifetime: Duration,
    verdict: Mutex<Option<(Knowledge, Instant)>>,
    /// Whether the last session came about over HTTP+SSE.
    sse: AtomicBool,
}

impl Memory {
    pub(crate) fn recall_sse(&self) -> bool {
        self.sse.load(Ordering::Relaxed)
    }

    pub(crate) fn learn_sse(&self, sse: bool) {
        self.sse.store(sse, Ordering::Relaxed);
    }

    pub(crate) fn new(lifetime: Duration) -> Self {
        Self { lifetime, verdict: Mutex::new(None), sse: AtomicBool::new(false) }
    }

    pub(crate) fn recall(&self) -> Knowledge {
        let verdict = *self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        match verdict {
            Some((knowledge, since)) if since.elapsed() < self.lifetime => knowledge,
            _ => Knowledge::default(),
        }
    }

    /// Keeps what an opening has learnt. The age of what was known already stays.
    pub(crate) fn learn(&self, knowledge: Knowledge) {
        let mut verdict = self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *verdict {
            Some((known, since)) if since.elapsed() < self.lifetime => {
                if *known != knowledge {
                    *known = knowledge;
                    *since = Instant::now();
                }
            }
            stale => *stale = Some((knowledge, Instant::now())),
        }
    }

    pub(crate) fn forget(&self) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_verdict_is_believed_for_its_lifetime() {
        let memory = Memory::new(Duration::from_secs(600));
        assert_eq!(memory.recall(), Knowledge::default());
        let legacy = Knowledge { modern: Some(false), legacy: Some(true) };
        memory.learn(legacy);
        tokio::time::advance(Duration::from_secs(599)).await;
        assert_eq!(memory.recall(), legacy);
        memory.learn(legacy);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(memory.recall(), Knowledge::default(), "using a verdict does not make it younger");
    }
}
