//! What is logged as a warning.

use std::{
    fmt,
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::DefaultGuard,
};

#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

/// Somebody hears everything at all times: else a line that another test reaches first, in a thread where nobody
/// listens, is taken for one that nobody ever wants.
static EVERYTHING: LazyLock<()> =
    LazyLock::new(|| drop(tracing::subscriber::set_global_default(Log::default())));

impl Log {
    /// Hears the warnings of this thread while the second value lives.
    pub(super) fn start() -> (Self, DefaultGuard) {
        LazyLock::force(&EVERYTHING);
        let log = Self::default();
        let recording = tracing::subscriber::set_default(log.clone());
        (log, recording)
    }

    /// The fields of each warning since this was last asked.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!("{field}: {value:?}. ");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 += &format!("{field}: {value}. ");
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

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().expect("no panic").push(fields.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
