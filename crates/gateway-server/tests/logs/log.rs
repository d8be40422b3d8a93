use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use tracing::subscriber::{DefaultGuard, set_default};
use tracing_subscriber::{filter::LevelFilter, fmt::format::FmtSpan};

/// What is logged on a thread, at every level.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Logs what this thread does from now on.
    pub(crate) fn begin(&self) -> DefaultGuard {
        let writer = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(move || writer.clone());
        set_default(subscriber.finish())
    }

    /// Takes what was logged.
    pub(crate) fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
