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
        let (mut now, mut pause, mut missed) = (Listening::default(), FIRST_PAUSE, false);
        while let Some(wanted) = self.watching.wanted() {
            let wanted: BTreeSet<_> = wanted.into_iter().collect();
            if now.granted.as_ref() != Some(&wanted) {
                self.replace(&mut now, wanted).await;
                if now.request.is_some() && std::mem::take(&mut missed) {
                    self.tell_all();
                }
                continue;
            }
            let has_ended = tokio::select! {
                () = self.watching.changed() => false,
                () = now.ended() => true,
            };
            if has_ended {
                tracing::debug!(downstream = %self.link.name, "it stopped telling of changes; asked again");
                sleep(pause).await;
                pause = (pause * 2).min(LAST_PAUSE);
                (now, missed) = (Listening::default(), true);
            }
        }
    }

    /// Listens to what is wanted now. The old request ends when the new one is acknowledged; where there will be no
    /// new one it stays.
    async fn replace(&self, now: &mut Listening, wanted: BTreeSet<Arc<str>>) {
        if self.lists.is_empty() && wanted.is_empty() {
            if let Some((id, _)) = now.request.take() {
                self.link.stop_listening(id);
            }
            now.granted = Some(wanted);
            return;
        }
        match self.ask_to_listen(&wanted).await {
            Some(new) => {
                if let Some((id, _)) = std::mem::replace(now, new).request {
                    self.link.stop_listening(id);
                }
            }
            None => {
                let kept = now.granted.take().unwrap_or_default();
                now.granted = Some(kept.intersection(&wanted).cloned().collect());
            }
        }
        for uri in wanted {
            let is_granted = now.granted.as_ref().is_some_and(|granted| granted.contains(&uri));
            self.watching.settle(&uri, if is_granted { Wire::Granted } else { Wire::Refused(unknown(&uri)) });
        }
    }

    /// `None` if the server will not, or says nothing in time where resources depend on it.
    async fn ask_to_listen(&self, wanted: &BTreeSet<Arc<str>>) -> Option<Listening> {
        let none = ClientCapabilities::none();
        let revision = self.link.revision.get().copied().unwrap_or(Revision::NEWEST_MODERN);
        let hop = Hop { revision, client: &self.client, capabilities: &none };
        let uris: Vec<&str> = wanted.iter().map(AsRef::as_ref).collect();
        let (id, mut said) = self.link.listen(&listen_params(&hop, &self.lists, &uris));
        let granted = match timeout(self.patience, said.recv()).await {
            Ok(Some(Said::Granted(answer))) => answer.resources,
            Ok(Some(Said::Refused(error))) => {
                let reason = error.message();
                tracing::debug!(downstream = %self.link.name, "it tells of no changes: {reason}");
                return None;
            }
            Ok(Some(Said::Ended) | None) => return None,
            // Borne where only lists were asked for.
            Err(_) if wanted.is_empty() => Vec::new(),
            Err(_) => {
                self.link.stop_listening(id);
                return None;
            }
        };
        let granted = wanted.iter().filter(|uri| granted.iter().any(|granted| **granted == ***uri)).cloned();
        Some(Listening { request: Some((id, said)), granted: Some(granted.collect()) })
    }

    /// Nobody listened for a while.
    fn tell_all(&self) {
        for list in &self.lists {
            self.observer.list_changed(*list);
        }
        self.watching.missed();
    }
}

/// The request to listen that is open.
#[derive(Default)]
struct Listening {
    request: Option<(u64, mpsc::Receiver<Said>)>,
    /// The resources whose changes are told; `None` if the server is still to be asked.
    granted: Option<BTreeSet<Arc<str>>>,
}

impl Listening {
    /// Waits until the server stops; for ever if it does not listen. Cancel-safe.
    async fn ended(&mut self) {
        let Some((_, said)) = &mut self.request else { return std::future::pending().await };
        // A late acknowledgement changes nothing.
        while let Some(Said::Granted(_)) = said.recv().await {}
    }
}

fn unknown(uri: &str) -> Error {
    CallerError::UnknownResource { uri: uri.to_owned() }.into()
}

/// How long after a server stopped to tell of changes it is asked again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);
