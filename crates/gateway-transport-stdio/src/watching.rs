//! The resources that are watched over one process, for any number of listeners.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gateway_domain::{CallerError, Error, RawJson, RawObject, Subscription, Updates};
use gateway_protocol::client::covers;
use tokio::sync::{Notify, watch};

/// Who watches what, and what the server was asked of it.
#[derive(Default)]
pub(crate) struct Watching {
    table: Mutex<Table>,
    changed: Notify,
}

#[derive(Default)]
struct Table {
    next: u64,
    /// At most [`LIMIT`] watchers in all.
    resources: BTreeMap<Arc<str>, Watched>,
    watchers: usize,
    ended: bool,
}

struct Watched {
    watchers: Vec<(u64, Arc<dyn Updates>)>,
    wire: watch::Sender<Wire>,
}

/// What is known of the server about a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wire {
    /// It was not asked, or has not answered.
    Open,
    /// It tells of changes.
    Granted,
    /// It will not.
    Refused(Error),
}

impl Watching {
    /// Enters a watcher. What is returned waits for the server's answer, and ends the watch when it is dropped.
    ///
    /// # Errors
    /// There are too many, or the session has ended.
    pub(crate) fn add(
        self: &Arc<Self>,
        uri: &str,
        updates: Arc<dyn Updates>,
        ended: impl FnOnce() -> Error,
    ) -> Result<Watch, Error> {
        let mut table = self.table();
        if table.ended {
            return Err(ended());
        }
        if table.watchers >= LIMIT {
            let what = "watched resources on one downstream session";
            return Err(CallerError::Overloaded { what, limit: LIMIT }.into());
        }
        let (id, uri) = (table.next, Arc::<str>::from(uri));
        table.next += 1;
        table.watchers += 1;
        let watched = table
            .resources
            .entry(Arc::clone(&uri))
            .or_insert_with(|| Watched { watchers: Vec::new(), wire: watch::Sender::new(Wire::Open) });
        // Servers may think otherwise by now.
        if matches!(*watched.wire.borrow(), Wire::Refused(_)) {
            watched.wire = watch::Sender::new(Wire::Open);
        }
        watched.watchers.push((id, updates));
        let wire = watched.wire.subscribe();
        drop(table);
        self.changed.notify_one();
        Ok(Watch { guard: Guard { watching: Arc::clone(self), uri, id }, wire })
    }

    /// Tells the watchers of a resource, and of what it lies below, that it has changed.
    pub(crate) fn updated(&self, params: &RawObject) -> bool {
        let Some(changed) = params.get_text("uri") else { return false };
        let told = self.watchers(|uri| covers(uri, &changed));
        told.iter().for_each(|(_, updates)| updates.updated(params.clone()));
        !told.is_empty()
    }

    /// Tells the watchers that their resources may have changed while nobody was listening.
    pub(crate) fn missed(&self) {
        for (uri, updates) in self.watchers(|_| true) {
            // Made of a JSON string.
            if let Ok(params) = RawObject::parse(format!(r#"{{"uri":{}}}"#, RawJson::string(&uri))) {
                updates.updated(params);
            }
        }
    }

    /// The session has ended: nothing is told any more.
    pub(crate) fn end(&self) {
        let watched = {
            let mut table = self.table();
            table.ended = true;
            std::mem::take(&mut table.resources)
        };
        for (_, updates) in watched.into_values().flat_map(|watched| watched.watchers) {
            updates.lost();
        }
        self.changed.notify_one();
    }

    /// Waits until something else is wanted.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The resources that somebody watches and the server has not refused; `None` after the end. Those that nobody
    /// watches any more and that were never granted are forgotten.
    pub(crate) fn wanted(&self) -> Option<Vec<Arc<str>>> {
        let mut table = self.table();
        table
            .resources
            .retain(|_, watched| !watched.watchers.is_empty() || *watched.wire.borrow() == Wire::Granted);
        let wanted = table.resources.iter().filter(|(_, watched)| {
            !watched.watchers.is_empty() && !matches!(*watched.wire.borrow(), Wire::Refused(_))
        });
        (!table.ended).then(|| wanted.map(|(uri, _)| Arc::clone(uri)).collect())
    }

    /// Takes note of what the server says about a resource. Who was told of it and is not any more hears that.
    pub(crate) fn settle(&self, uri: &str, wire: Wire) {
        let is_refused = matches!(wire, Wire::Refused(_));
        let mut table = self.table();
        let Some(watched) = table.resources.get_mut(uri) else { return };
        let before = watched.wire.send_replace(wire);
        let lost = if is_refused && before == Wire::Granted { watched.watchers.clone() } else { Vec::new() };
        drop(table);
        lost.iter().for_each(|(_, updates)| updates.lost());
    }

    /// Takes note that the server will not tell of a resource that it has not told of so far.
    pub(crate) fn refuse_new(&self, uri: &str, error: Error) {
        let table = self.table();
        if let Some(watched) = table.resources.get(uri).filter(|watched| *watched.wire.borrow() == Wire::Open)
        {
            watched.wire.send_replace(Wire::Refused(error));
        }
    }

    /// Whether somebody waits for the server's answer, or for the end.
    pub(crate) fn is_waited_for(&self) -> bool {
        let table = self.table();
        table.ended || table.resources.values().any(|watched| *watched.wire.borrow() == Wire::Open)
    }

    fn watchers(&self, of: impl Fn(&str) -> bool) -> Vec<(Arc<str>, Arc<dyn Updates>)> {
        let table = self.table();
        let watched = table.resources.iter().filter(|(uri, _)| of(uri));
        let all = watched.flat_map(|(uri, watched)| {
            watched.watchers.iter().map(|(_, updates)| (Arc::clone(uri), Arc::clone(updates)))
        });
        all.collect()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // No code that can panic runs under the lock.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

/// A watch that the server may not have granted yet.
pub(crate) struct Watch {
    guard: Guard,
    wire: watch::Receiver<Wire>,
}

impl Watch {
    /// Waits for the server's answer; `None` if the session ends first.
    pub(crate) async fn granted(mut self) -> Option<Result<Subscription, Error>> {
        let wire = self.wire.wait_for(|wire| *wire != Wire::Open).await.ok()?.clone();
        Some(match wire {
            Wire::Refused(error) => Err(error),
            Wire::Open | Wire::Granted => Ok(Subscription::new(self.guard)),
        })
    }
}

struct Guard {
    watching: Arc<Watching>,
    uri: Arc<str>,
    id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut table = self.watching.table();
        let Some(watched) = table.resources.get_mut(&self.uri) else { return };
        watched.watchers.retain(|(id, _)| *id != self.id);
        table.watchers -= 1;
        drop(table);
        self.watching.changed.notify_one();
    }
}

/// The most watchers on one session.
const LIMIT: usize = 4096;
