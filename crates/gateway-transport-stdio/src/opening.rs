//! Drives the state machine of an opening over a process.

use std::{sync::Arc, time::Duration};

use gateway_domain::{
    ClientCapabilities, DownstreamFault, DownstreamName, DownstreamObserver, Era, Error, InternalError,
    PeerInfo,
};
use gateway_protocol::{
    Response, Revision,
    client::{Knowledge, Opening, OpeningConfig, Patience, Reply, Step, Wait},
    method, write,
};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

use crate::{StdioConfig, keeper::Keeper, link::Answer, process::Process, text};

/// What a session is opened on.
pub(crate) struct Attempt<'a> {
    pub(crate) name: &'a DownstreamName,
    pub(crate) config: &'a StdioConfig,
    pub(crate) observer: &'a Arc<dyn DownstreamObserver>,
    /// What is declared in a legacy handshake.
    pub(crate) declared: &'a ClientCapabilities,
    /// Each process that is started holds a receiver until it is gone.
    pub(crate) alive: &'a watch::Sender<()>,
    /// Whether a server that ends when it is asked for one era may be started again and asked for the other.
    pub(crate) may_respawn: bool,
}

/// An open session, or why there is none; and what was learnt of the server either way.
pub(crate) struct Verdict {
    pub(crate) session: Result<(Process, PeerInfo), Error>,
    pub(crate) knowledge: Knowledge,
    /// Whether a second process was started for the other era.
    pub(crate) respawned: bool,
}

/// One of the two requests of an opening while its answer is awaited.
#[derive(Default)]
struct Slot {
    waiting: Option<(u64, Answer)>,
}

#[derive(Default)]
struct Slots {
    probe: Slot,
    handshake: Slot,
    /// What was asked last and how long silence is waited for.
    current: Option<(Wait, Instant)>,
    ended: Option<String>,
}

impl Attempt<'_> {
    /// Opens a session within the start-up timeout. Whatever becomes of it, no process is left behind but
    /// the one of the session; dropping the future ends that too.
    pub(crate) async fn open(&self, wanted: OpeningConfig, knowledge: Knowledge) -> Verdict {
        let deadline = after(self.config.startup_timeout);
        let mut process = match self.start().await {
            Ok(process) => process,
            Err(error) => return Verdict { session: Err(error), knowledge, respawned: false },
        };
        let (mut opening, mut step) = Opening::start(wanted, knowledge);
        let (mut slots, mut respawned) = (Slots::default(), false);
        let fault = loop {
            match step {
                Step::Send { method, params, wait, .. } => {
                    slots.send(&process, method, &params, wait, self.patience(&slots, wait, deadline));
                }
                Step::Continue => {}
                Step::Respawn if !self.may_respawn => {
                    break DownstreamFault::Ended { reason: slots.ended.unwrap_or_default() };
                }
                Step::Respawn => {
                    process.abandon().await;
                    respawned = true;
                    process = match self.start().await {
                        Ok(process) => process,
                        Err(error) => {
                            return Verdict {
                                session: Err(error),
                                knowledge: opening.knowledge(),
                                respawned,
                            };
                        }
                    };
                    slots = Slots::default();
                    step = opening.respawned();
                    continue;
                }
                Step::Done(peer) => {
                    slots.forget(&process);
                    let knowledge = opening.knowledge();
                    return Verdict { session: self.finish(process, *peer).await, knowledge, respawned };
                }
                Step::Fail(reason) => break self.failed(&slots, &process, reason),
            }
            step = match slots.next(deadline).await {
                Some((wait, reply)) => opening.reply(wait, reply),
                None => break self.too_slow(&process),
            };
        };
        process.abandon().await;
        Verdict { session: Err(fault.before(self.name)), knowledge: opening.knowledge(), respawned }
    }

    async fn start(&self) -> Result<Process, Error> {
        Process::start(self.name, self.config, self.observer, self.alive.subscribe())
            .await
            .map_err(|reason| DownstreamFault::Unreachable { reason }.before(self.name))
    }

    /// Until when silence is waited for. After a silent probe the first handshake gets half of what is left,
    /// so that a server that was only slow can be probed again.
    fn patience(&self, slots: &Slots, wait: Wait, deadline: Instant) -> Instant {
        match wait {
            Wait::Probe => deadline.min(after(self.config.probe_timeout)),
            Wait::Handshake if slots.probe.waiting.is_some() && slots.handshake.waiting.is_none() => {
                let now = Instant::now();
                now + deadline.duration_since(now) / 2
            }
            Wait::Handshake => deadline,
        }
    }

    async fn finish(&self, process: Process, peer: PeerInfo) -> Result<(Process, PeerInfo), Error> {
        let Some(revision) = Revision::parse(&peer.protocol) else {
            return Err(InternalError { what: "an opening agreed on an unknown revision" }.into());
        };
        if let Err(error) = process.link.opened(revision, self.declared) {
            process.abandon().await;
            return Err(error);
        }
        if peer.era == Era::Legacy {
            process.link.tell(write::notification(method::INITIALIZED, b"{}"));
        }
        Keeper::start(&process.link, self.config, self.observer, &peer);
        tracing::debug!(downstream = %self.name, pid = process.pid(), protocol = %revision, "opened a session");
        Ok((process, peer))
    }

    fn failed(&self, slots: &Slots, process: &Process, reason: String) -> DownstreamFault {
        match &slots.ended {
            // Its last words are part of the reason already.
            Some(_) => DownstreamFault::Ended { reason },
            None => DownstreamFault::Handshake { reason: with_last_words(process, reason) },
        }
    }

    fn too_slow(&self, process: &Process) -> DownstreamFault {
        let reason = format!("no session within {:?}", self.config.startup_timeout);
        DownstreamFault::Handshake { reason: with_last_words(process, reason) }
    }
}

impl Slots {
    fn send(&mut self, process: &Process, method: &'static str, params: &[u8], wait: Wait, until: Instant) {
        self.current = Some((wait, until));
        let waiting = match process.link.post(method, params) {
            Ok((id, answer)) => (id, answer),
            Err(error) => {
                // Told like the end of a request that was under way.
                let (sender, answer) = oneshot::channel();
                drop(sender.send(Err(error)));
                (0, answer)
            }
        };
        let slot = match wait {
            Wait::Probe => &mut self.probe,
            Wait::Handshake => &mut self.handshake,
        };
        if let Some((id, _)) = slot.waiting.replace(waiting) {
            process.link.forget(id);
        }
    }

    /// What comes of either request next; `None` once the deadline is over.
    async fn next(&mut self, deadline: Instant) -> Option<(Wait, Reply)> {
        let (current, until) = self.current.unwrap_or((Wait::Handshake, deadline));
        let (wait, answer) = tokio::select! {
            // A late answer to the probe decides before the handshake does.
            biased;
            answer = self.probe.answer() => (Wait::Probe, answer),
            answer = self.handshake.answer() => (Wait::Handshake, answer),
            () = tokio::time::sleep_until(until.min(deadline)) => {
                self.current = Some((current, deadline));
                return (Instant::now() < deadline).then_some((current, Reply::Silence));
            }
        };
        Some((wait, self.reply(answer)))
    }

    fn reply(&mut self, answer: Option<Result<Response, Error>>) -> Reply {
        match answer {
            Some(Ok(response)) => Reply::Answer(response),
            Some(Err(Error::Downstream(error))) => match error.fault {
                DownstreamFault::Ended { reason } => {
                    self.ended = Some(reason.clone());
                    Reply::Ended(reason)
                }
                // An answer of some kind, and no use.
                _ => Reply::Silence,
            },
            _ => Reply::Silence,
        }
    }

    fn forget(&self, process: &Process) {
        for slot in [&self.probe, &self.handshake] {
            if let Some((id, _)) = &slot.waiting {
                process.link.forget(*id);
            }
        }
    }
}

impl Slot {
    /// Waits for ever if nothing was asked. Cancel-safe.
    async fn answer(&mut self) -> Option<Result<Response, Error>> {
        let Some((_, answer)) = &mut self.waiting else { return std::future::pending().await };
        let answer = answer.await.ok();
        self.waiting = None;
        answer
    }
}

/// The moment after a time, which may be longer than clocks can count.
fn after(time: Duration) -> Instant {
    Patience::fixed(Instant::now().into(), time).until().into()
}

fn with_last_words(process: &Process, reason: String) -> String {
    // Part of it may be the server's own text.
    let reason = process.censor.shown(reason.as_bytes(), text::LINE);
    match process.tail.last_line() {
        Some(line) => format!("{reason}; last line on stderr: {line}"),
        None => reason,
    }
}
