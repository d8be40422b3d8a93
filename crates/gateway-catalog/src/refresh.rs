//! The task that keeps one downstream's list fresh.

use std::{
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, SystemTime},
};

use gateway_domain::{DownstreamFault, DownstreamSession, Error, Exchange, Execution, ListKind, RawJson};
use tokio::time::Instant;

use crate::{
    CatalogConfig, Source,
    cache::Fresh,
    item::Others,
    offer::Offer,
    shared::Shared,
    signal::{Changes, Health, Heard},
    tracked::{Read, Stage, Tracked},
    walk::{Bounds, Hints, Walk, ttl, walk},
};

/// Keeps one downstream's list fresh whatever happens: a panic is a bug, but no reason never to list that
/// downstream again.
pub(crate) async fn refresh_for_ever(shared: Arc<Shared>, tracked: Arc<Tracked>) {
    let (first, last) = shared.config.retry;
    let (mut delay, mut panics) = (first, 0_u64);
    loop {
        let begun = Instant::now();
        until_panic(keep_fresh(&shared, &tracked)).await;
        panics += 1;
        tracing::error!(downstream = %tracked.source.name, panics, "reading the list panicked, trying again");
        tracked.break_off(panics);
        // Not the snapshot: building it may be what panicked.
        shared.tell(&tracked, false);
        if begun.elapsed() > last {
            delay = first;
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(last);
    }
}

/// Runs what has no end until it panics; the panic's hook has reported what was wrong.
async fn until_panic(endless: impl Future<Output = Infallible>) {
    let mut endless = pin!(endless);
    let polled = std::future::poll_fn(|context| {
        // It is never polled again, and what it shares is behind locks that forgive.
        match catch_unwind(AssertUnwindSafe(|| endless.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(never)) => match never {},
            Err(_) => Poll::Ready(()),
        }
    });
    polled.await;
}

/// Reads a whole list of one downstream from the session of this exchange's client, or from the one that
/// serves everybody. That a session has ended before is no failure of the downstream: the list is read from
/// another one, once (G-31).
pub(crate) async fn list(
    shared: &Shared,
    source: &Source,
    list: ListKind,
    exchange: Option<&Exchange>,
) -> Result<(Arc<dyn DownstreamSession>, Walk), Unread> {
    let mut may_try_again = true;
    loop {
        let session = match exchange {
            Some(exchange) => shared.listings.session_for(&source.name, exchange).await,
            None => shared.listings.session(&source.name).await,
        };
        let session = session.map_err(Unread::opening)?;
        // Opening has its own bound; from here the list has to come in time.
        match read(source, session.as_ref(), list, &shared.config).await {
            Err(error) if may_try_again && had_ended(session.as_ref(), &error) => may_try_again = false,
            Err(error) => return Err(Unread { error, session: Some(session) }),
            Ok(walked) => return Ok((session, walked)),
        }
    }
}

/// A list that could not be read.
pub(crate) struct Unread {
    pub(crate) error: Error,
    /// The session it could not be read from, if there was one.
    session: Option<Arc<dyn DownstreamSession>>,
}

impl Unread {
    fn opening(error: Error) -> Self {
        Self { error, session: None }
    }

    fn stage(&self) -> Stage {
        if self.session.is_some() { Stage::Reading } else { Stage::Opening }
    }
}

fn had_ended(session: &dyn DownstreamSession, error: &Error) -> bool {
    let is_unread = matches!(error, Error::Downstream(error) if error.execution == Execution::NotStarted);
    is_unread && !session.is_open()
}

async fn read(
    source: &Source,
    session: &dyn DownstreamSession,
    list: ListKind,
    config: &CatalogConfig,
) -> Result<Walk, Error> {
    let bounds = Bounds { pages: config.max_pages, entries: config.rules.max_tools };
    let after = source.list_timeout;
    match tokio::time::timeout(after, walk(source, session, list, bounds)).await {
        Ok(walked) => walked,
        Err(_) => Err(DownstreamFault::TimedOut { after }.before(&source.name)),
    }
}

/// Whether a downstream does not let in the gateway itself, which says nothing about callers with credentials of their
/// own.
fn is_refused(error: &Error) -> bool {
    use DownstreamFault::{CallerCredentials, Credentials, Unauthorized};
    let Error::Downstream(error) = error else { return false };
    matches!(error.fault, Credentials { .. } | CallerCredentials { .. } | Unauthorized { .. })
}

/// Reads the other lists, side by side. Each has its own deadline, and fails for itself.
async fn read_others(
    source: &Source,
    session: &dyn DownstreamSession,
    config: &CatalogConfig,
) -> Vec<(ListKind, Result<Walk, Error>)> {
    let [prompts, resources, templates] = Others::KINDS.map(|list| read(source, session, list, config));
    let (prompts, resources, templates) = tokio::join!(prompts, resources, templates);
    Others::KINDS.into_iter().zip([prompts, resources, templates]).collect()
}

/// Lists one downstream again and again: when it says that something changed, when its session was lost,
/// when it can be used again, when the list is old, when somebody wants it, and after a failure with a
/// growing delay.
async fn keep_fresh(shared: &Shared, tracked: &Tracked) -> Infallible {
    let mut rounds = Rounds::new(shared, tracked);
    let mut may_be_cached = tracked.may_begin_cached;
    loop {
        let forgets = tracked.begin();
        if forgets {
            shared.cache.remove(&tracked.source).await;
        }
        may_be_cached = match rounds.refresh(may_be_cached && !forgets).await {
            Ok(()) => rounds.rest().await == Wakened::Old,
            Err(retry_in) => {
                let delay = rounds.delay(retry_in);
                rounds.back_off(delay).await;
                false
            }
        };
    }
}

struct Rounds<'a> {
    shared: &'a Shared,
    tracked: &'a Tracked,
    /// How long after the next failure another attempt is made.
    delay: Duration,
    /// How long announcements are gathered.
    pause: Duration,
    /// How many changes have come one soon after the other.
    quick: u32,
    /// When to try again what could not all be read.
    again: Option<Instant>,
    /// The date of the list that is shown, in the store. Only another one is news.
    dated: Option<SystemTime>,
}

/// Why a rest has ended.
#[derive(PartialEq, Eq)]
enum Wakened {
    /// The list is old. Another process may have read it meanwhile.
    Old,
    /// There is reason to read it from the downstream itself.
    Told,
}

/// Lists that were read and can be kept for later, and how long they are fresh.
type Kept = (Fresh, Duration);

impl<'a> Rounds<'a> {
    fn new(shared: &'a Shared, tracked: &'a Tracked) -> Self {
        let (delay, pause) = (shared.config.retry.0, shared.config.gather);
        Self { shared, tracked, delay, pause, quick: 0, again: None, dated: None }
    }

    /// One attempt, made visible. The error says when the next is worth it, if that is known.
    async fn refresh(&mut self, may_be_cached: bool) -> Result<(), Option<Duration>> {
        let Self { shared, tracked, .. } = *self;
        self.again = None;
        let was_ready = tracked.is_ready();
        let is_private = !tracked.source.is_public;
        let is_cached = !is_private && may_be_cached && self.take_cached().await;
        let done = match is_private || is_cached {
            true if was_ready && is_cached => Ok(None),
            true => self.connect().await.map(|()| None),
            false => self.read(was_ready).await,
        };
        let done = done.map_err(|unread| tracked.fail(&unread.error, unread.stage()));
        shared.publish(tracked, !was_ready && done.is_ok());
        if let Some((fresh, ttl)) = done? {
            self.dated = shared.cache.put(&tracked.source, fresh, ttl).await;
        }
        if self.again.is_none() {
            self.delay = shared.config.retry.0;
        }
        Ok(())
    }

    /// Shows the list that the store has. The downstream is not asked for it (G-5).
    async fn take_cached(&mut self) -> bool {
        let source = &self.tracked.source;
        let cached = self.shared.cache.get(source).await;
        let Some(cached) = cached.filter(|cached| self.dated != Some(cached.read_at)) else { return false };
        self.dated = Some(cached.read_at);
        let admitted = cached.tools.into_iter().filter(|tool| source.filter.admits(tool.original()));
        let config = &self.shared.config;
        let offer = Offer::of(source, None, admitted.collect(), &config.rules);
        self.tracked.accept_cached(offer, cached.age, cached.left);
        self.tracked.accept_cached_others(cached.others, config);
        self.shared.publish(self.tracked, false);
        true
    }

    async fn connect(&self) -> Result<(), Unread> {
        let begun = Instant::now();
        match self.shared.listings.session(&self.tracked.source.name).await {
            Ok(session) => self.tracked.connected(session.peer(), begun.elapsed()),
            Err(error) if self.tracked.source.is_per_caller && is_refused(&error) => {
                self.tracked.awaits_callers()
            }
            Err(error) => return Err(Unread::opening(error)),
        }
        Ok(())
    }

    /// Reads all lists. What could be read is kept for later if it is everything.
    async fn read(&mut self, was_ready: bool) -> Result<Option<Kept>, Unread> {
        let Self { shared, tracked, .. } = *self;
        let (source, config, begun) = (&tracked.source, &shared.config, Instant::now());
        let (session, mut walked) = match list(shared, source, ListKind::Tools, None).await {
            Ok(read) => read,
            Err(unread) => {
                // The other lists are none the worse for it.
                if let Some(session) = unread.session.as_ref().filter(|session| session.is_open()) {
                    let others = read_others(source, session.as_ref(), config).await;
                    tracked.accept_others(others, config);
                }
                return Err(unread);
            }
        };
        let peer = session.peer();
        let (said, definitions) = (walked.hints(), walked.take_definitions());
        let is_empty = walked.is_empty() && peer.capabilities.contains("tools");
        let (reason, took) = (walked.reason(), begun.elapsed());
        let offer = Offer::of(source, Some(peer.era), walked.into_tools(), &config.rules);
        let fresh_for = ttl([said], config);
        tracked.accept(Read { peer, offer, reason, ttl: fresh_for, said, is_empty, took }, config);
        let Some((others, said_of_others)) = self.others(session.as_ref(), was_ready).await else {
            return Ok(None);
        };
        let fresh_for = ttl([said].into_iter().chain(said_of_others), config);
        tracked.hold_for(fresh_for);
        let tools = definitions.filter(|_| !is_empty);
        Ok(tools.map(|tools| (Fresh { tools, ..others }, fresh_for)))
    }

    /// Reads the lists other than that of tools, which is shown before if they take long. `None` if they could not
    /// all be read to their end.
    async fn others(
        &mut self,
        session: &dyn DownstreamSession,
        was_ready: bool,
    ) -> Option<(Fresh, Vec<Hints>)> {
        let Self { shared, tracked, .. } = *self;
        let mut reading = pin!(read_others(&tracked.source, session, &shared.config));
        let mut others = match tokio::time::timeout(shared.config.settle, reading.as_mut()).await {
            Ok(others) => others,
            Err(_) => {
                shared.publish(tracked, !was_ready);
                reading.await
            }
        };
        let (mut kept, mut said) = (Vec::new(), Vec::new());
        for (_, walked) in &mut others {
            if let Ok(walked) = walked {
                said.push(walked.hints());
                kept.extend(walked.take_definitions());
            }
        }
        if !tracked.accept_others(others, &shared.config) {
            self.again = Some(Instant::now() + self.delay(None));
        }
        let [prompts, resources, templates] = <[Vec<RawJson>; 3]>::try_from(kept).ok()?;
        Some((Fresh { tools: Vec::new(), prompts, resources, templates }, said))
    }

    /// How long a failed downstream is left alone.
    fn delay(&mut self, retry_in: Option<Duration>) -> Duration {
        let last = self.shared.config.retry.1;
        if let Some(retry_in) = retry_in {
            return retry_in.max(self.shared.config.gather).min(last);
        }
        let delay = self.delay;
        self.delay = (delay * 2).min(last);
        delay
    }

    /// Waits until there is reason to list a downstream that is well.
    async fn rest(&mut self) -> Wakened {
        let Self { shared, tracked, .. } = *self;
        let (first, last) = shared.config.retry;
        let listed = Instant::now();
        let heard = loop {
            let heard = tokio::select! {
                biased;
                heard = tracked.source.signal.heard() => heard,
                () = tracked.wanted() => return Wakened::Told,
                () = until(tracked.due()) => return Wakened::Old,
                () = until(self.again) => return Wakened::Told,
            };
            // That it is well again is known, unless something else was said with it.
            if heard.changed.any() || heard.lost.is_some() || matches!(heard.health, Some(Health::Broken(_)))
            {
                break heard;
            }
        };
        let is_broken = matches!(heard.health, Some(Health::Broken(_)));
        self.note(heard).await;
        if is_broken {
            // Its supervision tells when it is over; this is for when it does not.
            self.back_off(last).await;
            return Wakened::Told;
        }
        // A downstream that announces a change, or ends, whenever it has been listed is listed less and less
        // often. One that just changes a few times hears its clients hear of it soon.
        let since = listed.elapsed();
        self.quick = if since < first { self.quick + 1 } else { 0 };
        let is_restless = since < shared.config.gather || self.quick > QUICK;
        let longest = if is_restless { last } else { shared.config.gather * 4 };
        self.pause = if self.quick > 0 { (self.pause * 2).min(longest) } else { shared.config.gather };
        tokio::select! {
            () = tokio::time::sleep(self.pause) => {}
            () = tracked.wanted() => {}
        }
        // What was told until now is answered by the refresh that follows; what comes while it runs is kept
        // and leads to another.
        self.note(tracked.source.signal.take()).await;
        Wakened::Told
    }

    /// Waits until a downstream that failed is tried again: after the delay, or when it is said to be well.
    async fn back_off(&self, delay: Duration) {
        let failed = Instant::now();
        let mut until = failed + delay;
        loop {
            tokio::select! {
                biased;
                () = self.tracked.wanted() => return,
                () = tokio::time::sleep_until(until) => return,
                heard = self.tracked.source.signal.heard() => {
                    if matches!(heard.health, Some(Health::Recovered)) {
                        // One that is said to be well whenever it has failed is not asked without a pause.
                        until = until.min(failed + self.shared.config.retry.0);
                    }
                    self.note(heard).await;
                }
            }
        }
    }

    async fn note(&self, heard: Heard) {
        let Self { shared, tracked, .. } = self;
        let Changes { tools, .. } = heard.changed;
        if tools || heard.lost.is_some() {
            tracked.outdate(tools);
        }
        if heard.changed.any() && tracked.source.is_public {
            shared.cache.remove(&tracked.source).await;
        }
        if heard.changed.any() && !tracked.source.is_public {
            shared.forget_private(tracked, heard.changed);
        }
        if let Some(reason) = heard.lost {
            tracing::info!(downstream = %tracked.source.name, reason, "session lost, opening another");
        }
        match heard.health {
            Some(Health::Broken(reason)) => {
                tracked.is_left_alone(reason);
                shared.tell(tracked, false);
            }
            Some(Health::Recovered) => tracked.is_well_again(),
            None => {}
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// So many changes may come one soon after the other before they are gathered for longer and longer.
const QUICK: u32 = 8;
