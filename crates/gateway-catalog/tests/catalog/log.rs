//! Counts what is logged as a warning.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tracing::{Event, Level, Metadata, Subscriber, span, subscriber::DefaultGuard};

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<AtomicUsize>);

/// Somebody hears everything at all times: else a line that another test reaches first, in a thread where nobody
/// listens, is taken for one that nobody ever wants.
static EVERYTHING: LazyLock<()> =
    LazyLock::new(|| drop(tracing::subscriber::set_global_default(Log::default())));

impl Log {
    /// Hears the warnings of this thread while the second value lives.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        LazyLock::force(&EVERYTHING);
        let log = Self::default();
        let recording = tracing::subscriber::set_default(log.clone());
        (log, recording)
    }

    pub(crate) fn warnings(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, SeqCst);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
