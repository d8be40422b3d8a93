use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout, timeout_at},
};

use super::body::body;
use crate::trace::{Span, SpanSink};

/// Sends what was exported. Implemented by whoever knows HTTP.
#[async_trait]
pub trait SpanExport: Send + Sync {
    /// Sends one body of `application/json` to a collector's `/v1/traces`. Bounded in time by the caller; cancel-safe.
    ///
    /// # Errors
    /// Why it was not taken, for the log; the spans are then given up.
    async fn export(&self, body: Vec<u8>) -> Result<(), String>;
}

/// The bounds of an export of spans.
#[derive(Debug, Clone)]
pub struct OtlpConfig {
    /// How many spans may wait; further ones are dropped and counted. 2,048.
    pub queue: usize,
    /// How many spans are sent together at most. 512.
    pub batch: usize,
    /// How long a span waits for others to be sent with. 5 s.
    pub interval: Duration,
    /// How long sending may take. 10 s.
    pub timeout: Duration,
    /// How long [`OtlpExporter::close`] waits. 5 s.
    pub close_wait: Duration,
    /// What the spans are of, as `service.name` with `gatewayd`, which is all there is by default.
    pub resource: Vec<(String, String)>,
}

impl Default for OtlpConfig {
    fn default() -> Self {
        Self {
            queue: 2_048,
            batch: 512,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            close_wait: Duration::from_secs(5),
            resource: vec![("service.name".to_owned(), "gatewayd".to_owned())],
        }
    }
}

/// What became of the spans of an exporter, since it was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtlpCounts {
    /// Taken by the collector.
    pub sent: u64,
    /// There was no room, or the collector did not take them.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    dropped: AtomicU64,
    is_failing: AtomicBool,
}

impl Counters {
    fn sent(&self, spans: usize) {
        self.sent.fetch_add(u64::try_from(spans).unwrap_or(u64::MAX), Ordering::Relaxed);
        if self.is_failing.swap(false, Ordering::Relaxed) {
            let dropped = self.dropped.load(Ordering::Relaxed);
            tracing::info!(dropped, "spans are exported again; the count is since the start");
        }
    }

    fn dropped(&self, spans: usize, reason: &str) {
        self.dropped.fetch_add(u64::try_from(spans).unwrap_or(u64::MAX), Ordering::Relaxed);
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(reason, "spans are dropped");
        }
    }
}

/// Sends spans to a collector, from a task of its own.
pub struct OtlpExporter {
    /// `None` once it is closed.
    spans: Mutex<Option<mpsc::Sender<Span>>>,
    counters: Arc<Counters>,
    ended: watch::Receiver<bool>,
    close_wait: Duration,
}

impl OtlpExporter {
    /// Starts to export.
    ///
    /// # Panics
    /// Outside a tokio runtime with time.
    pub fn start(config: OtlpConfig, export: Arc<dyn SpanExport>) -> Self {
        let (spans, queue) = mpsc::channel(config.queue.max(1));
        let (ending, ended) = watch::channel(false);
        let counters = Arc::new(Counters::default());
        let close_wait = config.close_wait;
        let worker = Worker { config, export, queue, counters: counters.clone() };
        tokio::spawn(async move {
            worker.run().await;
            ending.send_replace(true);
        });
        Self { spans: Mutex::new(Some(spans)), counters, ended, close_wait }
    }

    /// What became of the spans so far.
    pub fn counts(&self) -> OtlpCounts {
        OtlpCounts {
            sent: self.counters.sent.load(Ordering::Relaxed),
            dropped: self.counters.dropped.load(Ordering::Relaxed),
        }
    }

    /// Takes no more spans, and waits until those that wait are sent, as long as [`OtlpConfig::close_wait`] at most.
    /// Idempotent. Cancel-safe.
    pub async fn close(&self) {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut ended = self.ended.clone();
        if timeout(self.close_wait, ended.wait_for(|ended| *ended)).await.is_err() {
            tracing::warn!("the collector of spans takes too long; some may not have been sent");
        }
    }
}

impl SpanSink for OtlpExporter {
    fn ended(&self, span: Span) {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = spans.as_ref().is_some_and(|spans| spans.try_send(span).is_ok());
        drop(spans);
        if !is_taken {
            self.counters.dropped(1, "there is no room for more");
        }
    }
}

impl fmt::Debug for OtlpExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OtlpExporter").field(&self.counts()).finish()
    }
}

struct Worker {
    config: OtlpConfig,
    export: Arc<dyn SpanExport>,
    queue: mpsc::Receiver<Span>,
    counters: Arc<Counters>,
}

impl Worker {
    async fn run(mut self) {
        while let Some(batch) = self.gather().await {
            self.send(&batch).await;
        }
    }

    /// The next spans; `None` once there will be no more.
    async fn gather(&mut self) -> Option<Vec<Span>> {
        let mut batch = vec![self.queue.recv().await?];
        let until = Instant::now() + self.config.interval;
        while batch.len() < self.config.batch {
            match timeout_at(until, self.queue.recv()).await {
                Ok(Some(span)) => batch.push(span),
                _ => break,
            }
        }
        Some(batch)
    }

    async fn send(&self, batch: &[Span]) {
        let sending = self.export.export(body(&self.config.resource, batch));
        match timeout(self.config.timeout, sending).await {
            Ok(Ok(())) => self.counters.sent(batch.len()),
            Ok(Err(reason)) => self.counters.dropped(batch.len(), &reason),
            Err(_) => self.counters.dropped(batch.len(), "the collector takes too long"),
        }
    }
}
