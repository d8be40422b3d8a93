//! The task that keeps asking how a downstream is, so that its recovery needs neither a person nor traffic
//! (R-W1, design §7).

use std::sync::{Arc, Weak};

use gateway_domain::{DownstreamFault, DownstreamSession, Error, Session as _};
use tokio::{
    task::JoinSet,
    time::{Duration, Instant},
};
use tracing::Instrument as _;

use crate::{
    Health,
    breaker::Failure,
    downstream::Downstream,
    health::Probe,
    held::Kept,
    verdict::{Verdict, reason},
};

/// When to try again what could not even be tried.
const LATER: Duration = Duration::from_secs(1);

/// Starts the task of a downstream whose sessions are watched. It ends with the downstream.
pub(crate) fn start(downstream: &Arc<Downstream>) {
    let health = downstream.health.clone();
    if let (true, Ok(runtime)) = (health.is_on(), tokio::runtime::Handle::try_current()) {
        let span = tracing::debug_span!("health", downstream = %downstream.name);
        runtime.spawn(watch(Arc::downgrade(downstream), health).instrument(span));
    }
}

async fn watch(downstream: Weak<Downstream>, health: Arc<Health>) {
    let interval = health.config.interval;
    // The first one soon, while it is well: that shows whether it answers pings at all.
    let mut next_ping = interval.map(|interval| Instant::now() + interval.min(LATER));
    while !health.is_over() {
        let ask = tokio::select! {
            () = health.changed.notified() => continue,
            () = until(health.probe_due()) => Ask::New,
            () = until(next_ping) => Ask::Kept,
        };
        let Some(downstream) = downstream.upgrade() else { return };
        match ask {
            Ask::New => {
                if let Some(probe) = health.begin_probe(Instant::now()) {
                    find_out(&downstream, &health, probe).await;
                }
            }
            Ask::Kept => {
                ask_kept(&downstream, &health).await;
                let unknown = health.knows_no_pings();
                next_ping = interval
                    .map(|interval| Instant::now() + if unknown { interval.min(LATER) } else { interval });
            }
        }
    }
}

/// Which sessions are asked for a sign of life.
enum Ask {
    New,
    Kept,
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Asks the sessions that serve everybody and lists. Nothing is opened merely for this.
async fn ask_kept(downstream: &Arc<Downstream>, health: &Arc<Health>) {
    // While it is refused a probe is on its way or due.
    if health.ignores_pings() || health.admits().is_err() {
        return;
    }
    let ([stateless, listing], has_answered) = (downstream.kept(), health.has_answered());
    let silences = async {
        let (one, other) = tokio::join!(silence(stateless), silence(listing));
        one.or(other)
    };
    let silence = tokio::select! {
        silence = silences => silence,
        // The downstream is found broken or closed in the meantime.
        () = health.changed.notified() => {
            health.changed.notify_one();
            return;
        }
    };
    let Some(reason) = silence else { return };
    if health.knows_no_pings() && has_answered {
        return health.pings_are_ignored();
    }
    tracing::warn!(downstream = %downstream.name, reason, "no sign of life, trying a new session");
    if let Some(probe) = health.unanswered(reason, Instant::now()) {
        find_out(downstream, health, probe).await;
    }
}

/// Why a session gave no sign of life. One that has ended is replaced without further ado.
async fn silence(held: Option<Arc<Kept>>) -> Option<String> {
    let held = held?;
    let answer = held.session().ping().await;
    let is_silence = Verdict::of(&answer).is_silence(held.session().is_open());
    answer.err().filter(|_| is_silence).map(|error| reason(&error))
}

/// Finds out whether the downstream can be used: while nothing but timeouts speaks against it, by asking the
/// sessions that they came from, else with a new one.
async fn find_out(downstream: &Arc<Downstream>, health: &Arc<Health>, probe: Probe) {
    if !probe.is_refusing() {
        match hear_out(health).await {
            Heard::Answer => return probe.passed(),
            Heard::Silence(reason) => return probe.failed(reason, Instant::now()),
            Heard::Nobody => {}
        }
    }
    let opened = tokio::select! {
        biased;
        opened = downstream.open_probe() => opened,
        // Nobody can be served while this goes on.
        error = health.overdue(), if !probe.is_refusing() => Err(error),
    };
    let session = match opened {
        Ok(session) => session,
        Err(error) => return not_opened(probe, &error),
    };
    let answer = session.ping().await;
    let is_slow = Verdict::of(&answer) == Verdict::Failing(Failure::Slow);
    let is_ignored = is_slow && (health.ignores_pings() || lists(health, &session).await);
    match answer {
        Err(error) if !is_ignored => {
            probe.failed(reason(&error), Instant::now());
            session.discard().await;
        }
        // It has shaken hands at least.
        _ => {
            retire_hung(health, probe.is_refusing());
            // Before anybody is admitted, so that they find it.
            let is_adopted = downstream.adopt(session).await;
            probe.passed();
            if is_adopted {
                health.session_replaced();
            }
        }
    }
}

/// Whether a session that does not answer a ping answers something else: then pings say nothing.
async fn lists(health: &Health, session: &Arc<dyn DownstreamSession>) -> bool {
    let list = tokio::time::timeout(health.config.timeout, session.list_tools(None)).await;
    let is_alive = list.is_ok_and(|list| Verdict::of(&list) == Verdict::Alive);
    if is_alive {
        health.pings_are_ignored();
    }
    is_alive
}

/// What sessions say whose calls have timed out.
enum Heard {
    /// One answers: the calls were slow, not the downstream (P-45).
    Answer,
    Silence(String),
    /// There is none that has not been asked already.
    Nobody,
}

/// Asks the sessions in doubt. If one answers, those that do not are retired.
async fn hear_out(health: &Health) -> Heard {
    let (doubtful, others): (Vec<_>, Vec<_>) =
        health.take_doubtful().into_iter().partition(|session| session.take_doubt());
    let (deaf, asked): (Vec<_>, Vec<_>) = doubtful.into_iter().partition(|session| session.is_deaf());
    deaf.iter().for_each(|session| session.doubt());
    let mut answers = JoinSet::new();
    for session in asked {
        answers.spawn(async move {
            let answer = session.ping().await;
            // One that ends now has not answered either, nor has one that is being replaced for that.
            let is_silent = session.is_deaf() || Verdict::of(&answer).is_silence(true);
            (session, answer.err().filter(|_| is_silent).map(|error| reason(&error)))
        });
    }
    // Each has the health's timeout; a panic has been reported by its hook.
    let (mut silent, mut why) = (deaf, None);
    let mut heard = others.iter().any(|session| session.is_open());
    while let Some(answer) = answers.join_next().await {
        match answer {
            Ok((session, Some(reason))) => {
                silent.push(session);
                why = Some(reason);
            }
            Ok((_, None)) => heard = true,
            Err(_) => {}
        }
    }
    match (heard, why) {
        (true, _) => {
            silent.iter().for_each(|session| session.retire());
            Heard::Answer
        }
        (false, Some(reason)) if !health.ignores_pings() => Heard::Silence(reason),
        (false, _) => {
            silent.iter().for_each(|session| session.doubt());
            Heard::Nobody
        }
    }
}

fn not_opened(probe: Probe, error: &Error) {
    let now = Instant::now();
    let Error::Downstream(downstreams) = error else { return probe.put_off(now + LATER) };
    match &downstreams.fault {
        // What was found out before has not been tried anew: it adds to no cooldown.
        DownstreamFault::Broken { retry_in, .. } if probe.is_refusing() => probe.put_off(now + *retry_in),
        DownstreamFault::Broken { retry_in, reason } => probe.failed(reason.clone(), now + *retry_in),
        DownstreamFault::Exhausted { .. } | DownstreamFault::Closed => probe.put_off(now + LATER),
        fault => probe.failed(fault.to_string(), now),
    }
}

/// The downstream answers on a new session: those that do not are replaced before their next use. Where
/// nothing but timeouts spoke against it, a session that has not been found deaf stays: its calls may have been
/// the slow ones (R-W3), and after each it is asked anyway.
fn retire_hung(health: &Health, all: bool) {
    let doubtful = health.take_doubtful().into_iter().filter(|session| session.take_doubt());
    doubtful.filter(|session| all || session.is_deaf()).for_each(|session| session.retire());
}
