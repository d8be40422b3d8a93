//! The requests that a modern server's change events come under (protocol.md §14).

use gateway_domain::{PeerError, RawObject};
use gateway_protocol::{
    Answer,
    client::{Granted, cancelled_params},
    method, write,
};
use tokio::sync::mpsc;

use super::{Link, Outgoing, request_line};

/// What a server says about a request to listen.
#[derive(Debug)]
pub(crate) enum Said {
    /// It listens, to this.
    Granted(Granted),
    /// It will not.
    Refused(PeerError),
    /// It has stopped.
    Ended,
}

/// A request to listen that was not answered yet.
pub(super) struct Listener {
    id: u64,
    said: mpsc::Sender<Said>,
}

impl Link {
    /// Sends a request to listen; it takes no place from the others. The caller has no more than two.
    pub(crate) fn listen(&self, params: &[u8]) -> (u64, mpsc::Receiver<Said>) {
        let (said, receiver) = mpsc::channel(SAID);
        let id = {
            let mut table = self.table();
            let id = table.pending.fresh();
            table.listeners.retain(|listener| !listener.said.is_closed());
            table.listeners.push(Listener { id, said });
            id
        };
        self.send(Outgoing { request: None, line: request_line(id, method::LISTEN, params) });
        (id, receiver)
    }

    /// Ends a request to listen.
    pub(crate) fn stop_listening(&self, id: u64) {
        self.table().listeners.retain(|listener| listener.id != id);
        self.tell(write::notification(method::CANCELLED, &cancelled_params(id, "no longer wanted")));
    }

    /// Takes an acknowledgement.
    pub(crate) fn acknowledged(&self, params: &RawObject) {
        let granted = Granted::read(params);
        let Some(granted) = granted else { return self.drop_one("an acknowledgement of nothing of ours") };
        let table = self.table();
        let listener = table.listeners.iter().find(|listener| listener.id == granted.listener);
        // One acknowledgement is enough; there is room for it.
        let taken = listener.is_some_and(|listener| listener.said.try_send(Said::Granted(granted)).is_ok());
        drop(table);
        if !taken {
            self.drop_one("an acknowledgement that nobody waits for");
        }
    }

    /// Takes the answer that ends a request to listen. Returns whether it is one.
    pub(super) fn listener_answered(&self, id: u64, answer: &Answer) -> bool {
        let mut table = self.table();
        let Some(place) = table.listeners.iter().position(|listener| listener.id == id) else { return false };
        let listener = table.listeners.swap_remove(place);
        let said = match answer {
            Answer::Result(_) => Said::Ended,
            Answer::Error(error) => Said::Refused(error.clone()),
        };
        // Where there is no room, the end of the channel says the same.
        drop(listener.said.try_send(said));
        true
    }
}

/// One acknowledgement and one end.
const SAID: usize = 2;
