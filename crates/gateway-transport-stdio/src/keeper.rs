//! The task that keeps a server telling what is to be known: of its lists, and of the resources that are watched.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use gateway_domain::{
    CallerError, ClientCapabilities, DownstreamFault, DownstreamObserver, Era, Error, ListKind, PeerError,
    PeerInfo,
};
use gateway_protocol::{
    Answer, Implementation, RequestId, Revision,
    client::{Patience, listen_params, watch_params},
    code,
    meta::Hop,
    method, write,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use crate::{
    StdioConfig,
    link::{Link, Said},
    watching::{Watching, Wire},
};

/// Keeps what the server tells in step with what is wanted.
pub(crate) struct Keeper {
    link: Arc<Link>,
    watching: Arc<Watching>,
    observer: Arc<dyn DownstreamObserver>,
    client: Implementation,
    patience: Duration,
    /// The lists whose changes the server announces.
    lists: Vec<ListKind>,
}

impl Keeper {
    /// Starts the task for a session that has been opened. It ends with the session.
    pub(crate) fn start(
        link: &Arc<Link>,
        config: &StdioConfig,
        observer: &Arc<dyn DownstreamObserver>,
        peer: &PeerInfo,
    ) {
        let lists = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];
        let keeper = Self {
            link: Arc::clone(link),
            watching: Arc::clone(&link.watching),
            observer: Arc::clone(observer),
            client: config.client.clone(),
            patience: config.request_timeout,
            lists: lists.into_iter().filter(|list| peer.announces_changes(*list)).collect(),
        };
        let era = peer.era;
        if era == Era::Legacy && !peer.may_have_subscriptions() {
            return;
        }
        tokio::spawn(async move {
            match era {
                Era::Legacy => keeper.subscribe().await,
                Era::Modern => keeper.listen().await,
            }
        });
    }

    /// Legacy: one request for each resource, and one to end it.
    async fn subscribe(&self) {
        let mut told = BTreeSet::new();
        while let Some(wanted) = self.watching.wanted() {
            let wanted: BTreeSet<_> = wanted.into_iter().collect();
            if let Some(uri) = told.difference(&wanted).next().cloned() {
                told.remove(&uri);
                self.watching.settle(&uri, Wire::Open);
                // Whether it could or not: it is not watched any more.
                drop(self.request(method::UNSUBSCRIBE, &uri).await);
            } else if let Some(uri) = wanted.difference(&told).next().cloned() {
                let wire = match self.request(method::SUBSCRIBE, &uri).await {
                    Ok(()) => Wire::Granted,
                    Err(error) => Wire::Refused(error),
                };
                if wire == Wire::Granted {
                    told.insert(Arc::clone(&uri));
                }
                self.watching.settle(&uri, wire);
            } else {
                self.watching.changed().await;
            }
        }
    }

    async fn request(&self, method: &str, uri: &str) -> Result<(), Error> {
        let params = watch_params(uri);
        let patience = Patience::fixed(Instant::now().into(), self.patience);
        let message = |id| write::request(&RequestId::from(id), method, &params);
        match self.link.ask(patience, message).await?.answer {
            Answer::Result(_) => Ok(()),
            Answer::Error(error) => Err(self.refused(method, uri, &error)),
        }
    }

    fn refused(&self, method: &str, uri: &str, error: &PeerError) -> Error {
        match error.code {
            code::RESOURCE_NOT_FOUND | code::INVALID_PARAMS => unknown(uri),
            code => {
                let reason = format!("refused `{method}` with error {code}: {}", error.message());
                DownstreamFault::Nonsense { reason }.during(&self.link.name)
            }
        }
    }

    /// Modern: one request for all of it, and a new one whenever something else is wanted.
    async fn listen(&self) {
        let (mut now, mut course) = (Listening::default(), Course::default());
        while let Some(wanted) = self.watching.wanted() {
            let wanted: BTreeSet<_> = wanted.into_iter().collect();
            if now.granted.as_ref() != Some(&wanted) {
                match self.replace(&mut now, wanted).await {
                    Replaced::Done => course.worked |= now.is_acknowledged,
                    Replaced::Failed { refused } => self.failed(&mut now, &mut course, refused).await,
                }
                if now.request.is_some() && std::mem::take(&mut course.missed) {
                    self.tell_all();
                }
                continue;
            }
            let ended = tokio::select! {
                () = self.watching.changed() => None,
                refused = now.ended() => Some(refused),
            };
            if let Some(refused) = ended {
                course.worked |= now.is_acknowledged;
                course.steady(now.since);
                self.failed(&mut now, &mut course, refused).await;
            }
        }
    }

    /// Nothing is told now. A server that has refused and never told of anything is believed; others are asked again,
    /// after a pause.
    async fn failed(&self, now: &mut Listening, course: &mut Course, refused: bool) {
        if refused && !course.worked {
            *now = Listening { granted: Some(BTreeSet::new()), ..Listening::default() };
            return;
        }
        let downstream = &self.link.name;
        match refused && !std::mem::replace(&mut course.complained, true) {
            true => {
                tracing::warn!(%downstream, "it refuses to tell of changes, which it did before; asked again")
            }
            false => tracing::debug!(%downstream, "it stopped telling of changes; asked again"),
        }
        (*now, course.missed) = (Listening::default(), true);
        self.rest(course.next_pause()).await;
    }

    /// Rests, unless somebody waits for an answer.
    async fn rest(&self, pause: Duration) {
        let end = sleep(pause);
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => return,
                () = self.watching.changed() => if self.watching.is_waited_for() {
                    return;
                }
            }
        }
    }

    /// Listens to what is wanted now. The old request ends when the new one is acknowledged; where there will be no
    /// new one it stays.
    async fn replace(&self, now: &mut Listening, wanted: BTreeSet<Arc<str>>) -> Replaced {
        if self.lists.is_empty() && wanted.is_empty() {
            if let Some((id, _)) = now.request.take() {
                self.link.stop_listening(id);
            }
            now.granted = Some(wanted);
            return Replaced::Done;
        }
        let failed = match self.ask_to_listen(&wanted).await {
            Ok(new) => {
                if let Some((id, _)) = std::mem::replace(now, new).request {
                    self.link.stop_listening(id);
                }
                None
            }
            Err(refused) => {
                let kept = now.granted.take().unwrap_or_default();
                now.granted = Some(kept.intersection(&wanted).cloned().collect());
                now.request.is_none().then_some(Replaced::Failed { refused })
            }
        };
        for uri in wanted {
            let is_granted = now.granted.as_ref().is_some_and(|granted| granted.contains(&uri));
            match (is_granted, &failed) {
                (true, _) => self.watching.settle(&uri, Wire::Granted),
                (false, None) => self.watching.settle(&uri, Wire::Refused(unknown(&uri))),
                // What was told before will be told again, it is hoped.
                (false, Some(_)) => self.watching.refuse_new(&uri, unknown(&uri)),
            }
        }
        failed.unwrap_or(Replaced::Done)
    }

    /// The error says whether the server will not; else it said nothing in time where resources depend on it, or
    /// ended it at once.
    async fn ask_to_listen(&self, wanted: &BTreeSet<Arc<str>>) -> Result<Listening, bool> {
        let none = ClientCapabilities::none();
        let revision = self.link.revision.get().copied().unwrap_or(Revision::NEWEST_MODERN);
        let hop = Hop { revision, client: &self.client, capabilities: &none };
        let uris: Vec<&str> = wanted.iter().map(AsRef::as_ref).collect();
        let (id, mut said) = self.link.listen(&listen_params(&hop, &self.lists, &uris));
        let granted = match timeout(self.patience, said.recv()).await {
            Ok(Some(Said::Granted(answer))) => Some(answer.resources),
            Ok(Some(Said::Refused(error))) => {
                let reason = error.message();
                tracing::debug!(downstream = %self.link.name, "it tells of no changes: {reason}");
                return Err(true);
            }
            Ok(Some(Said::Ended) | None) => return Err(false),
            // Borne where only lists were asked for.
            Err(_) if wanted.is_empty() => None,
            Err(_) => {
                self.link.stop_listening(id);
                return Err(false);
            }
        };
        let is_acknowledged = granted.is_some();
        let granted = granted.unwrap_or_default();
        let granted = wanted.iter().filter(|uri| granted.iter().any(|granted| **granted == ***uri)).cloned();
        let (request, granted) = (Some((id, said)), Some(granted.collect()));
        Ok(Listening { request, granted, is_acknowledged, since: Instant::now() })
    }

    /// Nobody listened for a while.
    fn tell_all(&self) {
        for list in &self.lists {
            self.observer.list_changed(*list);
        }
        self.watching.missed();
    }
}

/// What came of an attempt to listen to something else.
enum Replaced {
    Done,
    /// Nothing is listened to.
    Failed {
        refused: bool,
    },
}

/// How listening has gone so far.
struct Course {
    /// Whether the server has ever acknowledged a request to listen.
    worked: bool,
    /// Whether it was said that it refuses by now.
    complained: bool,
    /// Whether changes may have gone unheard.
    missed: bool,
    pause: Duration,
}

impl Default for Course {
    fn default() -> Self {
        Self { worked: false, complained: false, missed: false, pause: FIRST_PAUSE }
    }
}

impl Course {
    /// A request that lasted from then was in order if that is long ago.
    fn steady(&mut self, since: Instant) {
        if since.elapsed() >= STEADY {
            self.pause = FIRST_PAUSE;
        }
    }

    fn next_pause(&mut self) -> Duration {
        let next = (self.pause * 2).min(LAST_PAUSE);
        std::mem::replace(&mut self.pause, next)
    }
}

/// The request to listen that is open.
struct Listening {
    request: Option<(u64, mpsc::Receiver<Said>)>,
    /// The resources whose changes are told; `None` if the server is still to be asked.
    granted: Option<BTreeSet<Arc<str>>>,
    is_acknowledged: bool,
    since: Instant,
}

impl Default for Listening {
    fn default() -> Self {
        Self { request: None, granted: None, is_acknowledged: false, since: Instant::now() }
    }
}

impl Listening {
    /// Waits until the server stops, and says whether it refuses; for ever if it does not listen. Cancel-safe.
    async fn ended(&mut self) -> bool {
        let Some((_, said)) = &mut self.request else { return std::future::pending().await };
        loop {
            match said.recv().await {
                // A late acknowledgement changes nothing else.
                Some(Said::Granted(_)) => self.is_acknowledged = true,
                Some(Said::Refused(_)) => return true,
                Some(Said::Ended) | None => return false,
            }
        }
    }
}

fn unknown(uri: &str) -> Error {
    CallerError::UnknownResource { uri: uri.to_owned() }.into()
}

/// How long after a server stopped to tell of changes it is asked again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);
/// A request to listen that has lasted this long was in order.
const STEADY: Duration = Duration::from_secs(10);
