//! What happens while a call runs, on its way to the client.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gateway_domain::{Era, Event, EventSink, LogLevel, RawJson};
use gateway_protocol::{meta, method, write};
use tokio::{sync::mpsc, time::Instant};

use super::{Payload, Visit};
use crate::{edge::Edge, metrics::Metrics};

/// The sending end of a call's events: bounded, and never in the way of the call.
struct Sink {
    sender: mpsc::Sender<Event>,
    /// How many events the call may still send.
    left: AtomicUsize,
    /// How many bytes may still wait.
    room: Arc<AtomicUsize>,
    edge: Arc<Edge>,
}

impl EventSink for Sink {
    fn emit(&self, event: Event) {
        if !spend(&self.left, 1) || !self.queue(event) {
            dropped(&self.edge.metrics);
        }
    }
}

impl Sink {
    /// Whether it was taken, or nobody wants it any more.
    fn queue(&self, event: Event) -> bool {
        let bytes = size(&event);
        if !spend(&self.room, bytes) {
            return false;
        }
        let sent = self.sender.try_send(event);
        if sent.is_err() {
            self.room.fetch_add(bytes, Ordering::AcqRel);
        }
        !matches!(sent, Err(mpsc::error::TrySendError::Full(_)))
    }
}

fn size(event: &Event) -> usize {
    let (Event::Progress(params) | Event::Log(params)) = event;
    params.as_str().len()
}

/// Takes so much of what is left, if there is so much.
fn spend(left: &AtomicUsize, amount: usize) -> bool {
    left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(amount)).is_ok()
}

fn dropped(metrics: &Metrics) {
    if metrics.dropped_events.inc() == 0 {
        tracing::warn!("a progress or log message was dropped; see gateway_events_dropped_total for more");
    }
}

/// A call asks one question at a time, and may take it back.
const QUESTIONS: usize = 4;

/// The receiving end: events become the client's notifications.
pub(super) struct Events {
    receiver: mpsc::Receiver<Event>,
    room: Arc<AtomicUsize>,
    /// The client's own token, with its JSON type.
    token: Option<RawJson>,
    level: Option<LogLevel>,
    /// Whether a client that named no level leaves it to the server.
    all_logs: bool,
    /// What the client is asked meanwhile.
    asked: Option<mpsc::Receiver<Payload>>,
    /// The progress reported last; it must grow (protocol.md §2.8).
    progress: f64,
    /// When the current second began, and how much was sent in it.
    second: Instant,
    sent: usize,
    per_second: usize,
    edge: Arc<Edge>,
}

impl Events {
    pub(super) fn new(
        visit: &Visit,
        token: Option<RawJson>,
        level: Option<LogLevel>,
        era: Era,
    ) -> (Arc<dyn EventSink>, Self) {
        let limits = &visit.rules.config.limits;
        let (sender, receiver) = mpsc::channel(limits.event_queue.max(1));
        let left = AtomicUsize::new(limits.events_per_call);
        let room = Arc::new(AtomicUsize::new(limits.event_queue_bytes));
        let sink = Sink { sender, left, room: room.clone(), edge: visit.edge.clone() };
        let per_second = limits.events_per_second;
        let (progress, second, edge) = (f64::NEG_INFINITY, Instant::now(), visit.edge.clone());
        let all_logs = era == Era::Legacy;
        let asked = None;
        let sent = 0;
        let events =
            Self { receiver, room, token, level, all_logs, asked, progress, second, sent, per_second, edge };
        (Arc::new(sink), events)
    }

    /// Where questions to the client are put from now on. They are in order with the events and never dropped.
    pub(super) fn questions(&mut self) -> mpsc::Sender<Payload> {
        let (sender, asked) = mpsc::channel(QUESTIONS);
        self.asked = Some(asked);
        sender
    }

    /// The next message; `None` when the call can send no more. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Payload> {
        loop {
            let event = tokio::select! {
                biased;
                Some(event) = self.receiver.recv() => event,
                Some(question) = next_of(&mut self.asked) => return Some(question),
                else => return None,
            };
            if let Some(message) = self.taken(&event) {
                return Some(message);
            }
        }
    }

    /// The next message that waits already.
    pub(super) fn take(&mut self) -> Option<Payload> {
        loop {
            let Ok(event) = self.receiver.try_recv() else { return self.asked.as_mut()?.try_recv().ok() };
            if let Some(message) = self.taken(&event) {
                return Some(message);
            }
        }
    }

    /// What an event becomes that waits no longer.
    fn taken(&mut self, event: &Event) -> Option<Payload> {
        self.room.fetch_add(size(event), Ordering::AcqRel);
        let message = self.notification(event)?;
        self.fits().then_some(message)
    }

    /// Whether one more may be sent in this second.
    fn fits(&mut self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.sent) = (now, 0);
        }
        let fits = self.sent < self.per_second;
        self.sent += usize::from(fits);
        if !fits {
            dropped(&self.edge.metrics);
        }
        fits
    }

    fn notification(&mut self, event: &Event) -> Option<Payload> {
        match event {
            Event::Progress(params) => {
                let token = self.token.as_ref()?;
                let progress = params.get("progress")?.as_str().parse::<f64>().ok()?;
                if progress.partial_cmp(&self.progress) != Some(std::cmp::Ordering::Greater) {
                    return None;
                }
                self.progress = progress;
                let params = params.edit().set(meta::PROGRESS_TOKEN, token.as_bytes()).finish();
                Some(write::notification(method::PROGRESS, params.as_bytes()).into())
            }
            Event::Log(params) => {
                let level = LogLevel::parse(&params.get_text("level")?)?;
                let wanted = self.level.map_or(self.all_logs, |lowest| level >= lowest);
                wanted.then(|| write::notification(method::MESSAGE, params.as_str().as_bytes()).into())
            }
        }
    }
}

async fn next_of(asked: &mut Option<mpsc::Receiver<Payload>>) -> Option<Payload> {
    match asked {
        Some(asked) => asked.recv().await,
        None => None,
    }
}
