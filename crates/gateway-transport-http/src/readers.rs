//! Change streams of callers who each prove themselves with what is their own, to a server that has no sessions.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use gateway_domain::{Caller, CallerError, Error, Incoming, Subscription, Updates};
use tokio::task::JoinHandle;

use crate::{inquiry::Ear, link::Link, listen, proof::Proof, watches};

/// One stream for each caller that watches something, as long as it does. Dropping it ends them.
#[derive(Default)]
pub(crate) struct Readers {
    all: Mutex<Vec<Reader>>,
}

struct Reader {
    link: Arc<Link>,
    caller: Caller,
    /// The watches of the caller that are there or being begun.
    watches: usize,
    listener: JoinHandle<()>,
}

impl Readers {
    /// Watches a resource for whoever this came with, in whose name alone it is asked for and told.
    pub(crate) async fn watch(
        self: &Arc<Self>,
        link: &Arc<Link>,
        uri: &str,
        updates: Arc<dyn Updates>,
        incoming: &Arc<Incoming>,
    ) -> Result<Subscription, Error> {
        if let Some(credentials) = &link.endpoint.config.credentials {
            // Why a stream is refused is not told; why there are no credentials is.
            let proof = Proof::obtain(&**credentials, Some(incoming)).await;
            proof.map_err(|failure| failure.of(&link.endpoint.name))?;
        }
        let seat = self.enter(link, incoming)?;
        let watch = watches::watch(&seat.link, uri, updates, Ear::Reader(incoming)).await?;
        Ok(Subscription::new((watch, seat)))
    }

    /// A place at the caller's stream. Of those whom nobody knows each is another.
    fn enter(self: &Arc<Self>, link: &Arc<Link>, incoming: &Arc<Incoming>) -> Result<Seat, Error> {
        let caller = &incoming.caller;
        let mut all = self.all();
        let known = all.iter_mut().find(|reader| {
            reader.caller == *caller && !caller.is_anonymous() && !reader.listener.is_finished()
        });
        let link = match known {
            Some(reader) => {
                reader.watches += 1;
                reader.link.renew(incoming);
                Arc::clone(&reader.link)
            }
            None => {
                let limit = link.endpoint.config.max_subscriptions;
                if all.len() >= limit {
                    return Err(CallerError::Overloaded { what: "watched resources", limit }.into());
                }
                let link = Arc::new(link.of_reader(incoming));
                let listener = tokio::spawn(listen::listen_modern(Arc::clone(&link), Vec::new()));
                let caller = caller.clone();
                all.push(Reader { link: Arc::clone(&link), caller, watches: 1, listener });
                link
            }
        };
        Ok(Seat { readers: Arc::downgrade(self), link })
    }

    /// Ends all streams; who watches has lost what it watches.
    pub(crate) fn close(&self) {
        let ended = std::mem::take(&mut *self.all());
        ended.iter().for_each(Reader::end);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    fn end(&self) {
        self.listener.abort();
        self.link.close();
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").field("callers", &self.all().len()).finish_non_exhaustive()
    }
}

/// A watch of a caller's. The stream ends with the last.
struct Seat {
    readers: Weak<Readers>,
    link: Arc<Link>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(readers) = self.readers.upgrade() else { return };
        let mut all = readers.all();
        let Some(place) = all.iter().position(|reader| Arc::ptr_eq(&reader.link, &self.link)) else { return };
        let Some(reader) = all.get_mut(place) else { return };
        reader.watches -= 1;
        if reader.watches == 0 {
            let ended = all.swap_remove(place);
            drop(all);
            ended.end();
        }
    }
}
