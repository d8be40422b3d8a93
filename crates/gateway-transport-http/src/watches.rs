use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use gateway_domain::{
    CallerError, DownstreamFault, Era, Error, Incoming, RawJson, RawObject, Subscription, Updates,
};
use gateway_protocol::{Answer, client, code, meta, method};
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    time::timeout,
};

use crate::{inquiry::Ear, link::Link};

/// The resources that are watched in a session, and who hears of each.
pub(crate) struct Watches {
    by_uri: Mutex<HashMap<Arc<str>, Vec<Watcher>>>,
    next: AtomicU64,
    /// Grows with every change of what is watched.
    wanted: watch::Sender<u64>,
    /// What the modern stream that is open carries.
    granted: watch::Sender<Granted>,
    /// What a legacy server was told to watch. Held while it is told, so that this is done in order.
    told: AsyncMutex<HashSet<Arc<str>>>,
}

struct Watcher {
    number: u64,
    updates: Arc<dyn Updates>,
}

/// What a server has agreed to tell of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Granted {
    /// The [`Watches::wanted`] that it was asked for.
    pub(crate) wanted: u64,
    pub(crate) uris: HashSet<Arc<str>>,
}

impl Default for Watches {
    fn default() -> Self {
        Self {
            by_uri: Mutex::default(),
            next: AtomicU64::new(0),
            wanted: watch::Sender::new(0),
            granted: watch::Sender::new(Granted::default()),
            told: AsyncMutex::default(),
        }
    }
}

impl Watches {
    fn add(&self, uri: &Arc<str>, updates: Arc<dyn Updates>, limit: usize) -> Result<u64, CallerError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut by_uri = self.locked();
        if by_uri.len() >= limit && !by_uri.contains_key(uri) {
            return Err(CallerError::Overloaded { what: "watched resources", limit });
        }
        let watchers = by_uri.entry(Arc::clone(uri)).or_default();
        watchers.push(Watcher { number, updates });
        if watchers.len() == 1 {
            self.wanted.send_modify(|wanted| *wanted += 1);
        }
        Ok(number)
    }

    /// Returns whether nobody watches the resource any more.
    fn remove(&self, uri: &str, number: u64) -> bool {
        let mut by_uri = self.locked();
        let Some(watchers) = by_uri.get_mut(uri) else { return false };
        watchers.retain(|watcher| watcher.number != number);
        if !watchers.is_empty() {
            return false;
        }
        by_uri.remove(uri);
        self.wanted.send_modify(|wanted| *wanted += 1);
        true
    }

    /// What is wanted now, and its number.
    pub(crate) fn wanted(&self) -> (u64, Vec<Arc<str>>) {
        let by_uri = self.locked();
        (*self.wanted.borrow(), by_uri.keys().cloned().collect())
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.wanted.subscribe()
    }

    /// What is told from now on, of what was `asked` for. Who watches what was told before and is not any more has
    /// lost it.
    pub(crate) fn grant(&self, granted: Granted, asked: &[Arc<str>]) {
        let before = self.granted.send_replace(granted.clone()).uris;
        for uri in asked.iter().filter(|uri| before.contains(*uri) && !granted.uris.contains(*uri)) {
            let lost = self.locked().remove(uri).unwrap_or_default();
            lost.into_iter().for_each(|watcher| watcher.updates.lost());
        }
    }

    /// Nothing is told, and nothing will be.
    pub(crate) fn refuse(&self) {
        self.lose();
        self.granted.send_replace(Granted { wanted: u64::MAX, uris: HashSet::new() });
    }

    /// It is asked for anew.
    pub(crate) fn begin(&self) {
        self.granted.send_replace(Granted::default());
    }

    pub(crate) fn granted(&self) -> HashSet<Arc<str>> {
        self.granted.borrow().uris.clone()
    }

    /// Tells of a change, whose params these are: of the resource itself or of one below it.
    pub(crate) fn updated(&self, params: &RawObject) {
        let Some(changed) = params.get_text("uri") else { return };
        for updates in self.watchers(|watched| client::covers(watched, &changed)) {
            updates.updated(params.clone());
        }
    }

    /// Everything may have changed unseen.
    pub(crate) fn all_updated(&self) {
        let (_, uris) = self.wanted();
        for uri in uris {
            let text = format!(r#"{{"uri":{}}}"#, RawJson::string(&uri));
            // A string is valid wherever it stands.
            let Ok(params) = RawObject::parse(text) else { continue };
            for updates in self.watchers(|watched| *watched == *uri) {
                updates.updated(params.clone());
            }
        }
    }

    /// Nothing more will be told.
    pub(crate) fn lose(&self) {
        let lost = std::mem::take(&mut *self.locked());
        self.granted.send_replace(Granted::default());
        lost.into_values().flatten().for_each(|watcher| watcher.updates.lost());
    }

    /// Who watches such a resource; told outside the lock.
    fn watchers(&self, watched: impl Fn(&str) -> bool) -> Vec<Arc<dyn Updates>> {
        let by_uri = self.locked();
        let hit = by_uri.iter().filter(|(uri, _)| watched(uri));
        hit.flat_map(|(_, watchers)| watchers.iter().map(|watcher| Arc::clone(&watcher.updates))).collect()
    }

    fn is_watched(&self, uri: &str) -> bool {
        self.locked().contains_key(uri)
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Arc<str>, Vec<Watcher>>> {
        self.by_uri.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The params of an update without what belongs to the stream it came on.
pub(crate) fn without_stream(params: RawObject) -> RawObject {
    let Some(stamp) = params.get_object("_meta").filter(|meta| meta.contains(meta::SUBSCRIPTION_ID)) else {
        return params;
    };
    let rest = stamp.edit().remove(meta::SUBSCRIPTION_ID).finish();
    let edit = params.edit();
    let edit = if stamp.len() == 1 { edit.remove("_meta") } else { edit.set("_meta", rest.as_bytes()) };
    RawObject::try_from(edit.finish()).unwrap_or(params)
}

/// Watches a resource until the guard inside is dropped; `ear` says for whom a legacy server is told to tell of it.
pub(crate) async fn watch(
    link: &Arc<Link>,
    uri: &str,
    updates: Arc<dyn Updates>,
    ear: Ear<'_>,
) -> Result<Subscription, Error> {
    if !link.hub.peer.may_have_subscriptions() {
        return Err(CallerError::UnknownMethod { method: method::SUBSCRIBE.to_owned() }.into());
    }
    if !link.is_open() {
        return Err(DownstreamFault::Closed.before(&link.endpoint.name));
    }
    let uri = Arc::<str>::from(uri);
    let number = link.hub.watches.add(&uri, updates, link.endpoint.config.max_subscriptions)?;
    let incoming = ear.incoming();
    let watch = Watch { link: Arc::downgrade(link), uri: Arc::clone(&uri), number, incoming };
    match link.era() {
        Era::Legacy => tell(link, &uri, ear).await?,
        Era::Modern => wait_for_grant(link, &uri).await?,
    }
    Ok(Subscription::new(watch))
}

/// Has a legacy server tell of the resource, unless it does already.
async fn tell(link: &Arc<Link>, uri: &Arc<str>, ear: Ear<'_>) -> Result<(), Error> {
    let mut told = link.hub.watches.told.lock().await;
    if told.contains(uri) {
        return Ok(());
    }
    let answered = link.request_for(method::SUBSCRIBE, client::watch_params(uri), ear).await;
    Err(match answered.map(|response| response.answer) {
        Ok(Answer::Result(_)) => {
            // Not before: whoever gives up meanwhile leaves it to the next to ask.
            told.insert(Arc::clone(uri));
            return Ok(());
        }
        Ok(Answer::Error(error)) => match error.code {
            code::METHOD_NOT_FOUND => CallerError::UnknownMethod { method: method::SUBSCRIBE.into() }.into(),
            code::RESOURCE_NOT_FOUND | code::INVALID_PARAMS => unknown(uri),
            code => {
                let reason = format!("refused `{}` with error {code}", method::SUBSCRIBE);
                DownstreamFault::Nonsense { reason }.during(&link.endpoint.name)
            }
        },
        Err(failure) => failure.of(&link.endpoint.name),
    })
}

/// Waits until the modern stream carries the resource.
async fn wait_for_grant(link: &Arc<Link>, uri: &Arc<str>) -> Result<(), Error> {
    let watches = &link.hub.watches;
    let mut granted = watches.granted.subscribe();
    let (wanted, _) = watches.wanted();
    let decided = granted.wait_for(|granted| granted.uris.contains(uri) || granted.wanted >= wanted);
    let after = link.endpoint.config.request_timeout;
    let Ok(Ok(decided)) = timeout(after, decided).await else {
        return Err(DownstreamFault::TimedOut { after }.during(&link.endpoint.name));
    };
    if decided.uris.contains(uri) { Ok(()) } else { Err(unknown(uri)) }
}

fn unknown(uri: &str) -> Error {
    CallerError::UnknownResource { uri: uri.to_owned() }.into()
}

/// Ends a watch when it is dropped.
struct Watch {
    link: Weak<Link>,
    uri: Arc<str>,
    number: u64,
    /// Whose it is, if it is not the gateway's own.
    incoming: Option<Arc<Incoming>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(link) = self.link.upgrade() else { return };
        let last = link.hub.watches.remove(&self.uri, self.number);
        if !last || link.era() == Era::Modern || !link.is_open() {
            return;
        }
        let (teller, uri, incoming) = (Arc::clone(&link), Arc::clone(&self.uri), self.incoming.take());
        link.endpoint.errand(async move {
            let watches = &teller.hub.watches;
            let mut told = watches.told.lock().await;
            // Somebody may have come meanwhile.
            if !watches.is_watched(&uri) && told.remove(&uri) {
                // A server that does not hear it tells in vain, no more.
                let ear = incoming.as_ref().map_or(Ear::Nobody, Ear::Reader);
                let _ = teller.request_for(method::UNSUBSCRIBE, client::watch_params(&uri), ear).await;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_leaves_its_stream_behind() {
        for (given, expected) in [
            (r#"{"uri":"a:"}"#, r#"{"uri":"a:"}"#),
            (r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":4},"uri":"a:"}"#, r#"{"uri":"a:"}"#),
            (
                r#"{"uri":"a:","_meta":{"io.modelcontextprotocol/subscriptionId":4,"k":1.0}}"#,
                r#"{"uri":"a:","_meta":{"k":1.0}}"#,
            ),
        ] {
            let params = RawObject::parse(given.to_owned()).unwrap();
            assert_eq!(without_stream(params).as_str(), expected);
        }
    }
}
