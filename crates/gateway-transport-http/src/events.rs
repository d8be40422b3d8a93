use std::time::Duration;

use bytes::Bytes;
use gateway_domain::DownstreamFault;
use gateway_protocol::sse::{Event, EventDecoder};
use hyper::body::Incoming;

use crate::{body, failure::Failure};

/// Where a stream stands: what a server needs to know to go on with it (protocol.md §4.5).
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The last event's id.
    pub(crate) id: Option<String>,
    /// How long the server wants us to wait before we come back.
    pub(crate) retry: Option<Duration>,
}

impl Place {
    /// What a stream does not say stays as an earlier one had it.
    fn follow(&mut self, stream: &EventDecoder) {
        self.retry = stream.retry().or(self.retry);
        if let Some(id) = stream.last_id()
            && self.id.as_deref() != Some(id)
        {
            self.id = Some(id).filter(|id| !id.is_empty()).map(str::to_owned);
        }
    }
}

/// What the first event says of a stream that has been read as a whole.
pub(crate) fn first(stream: &Bytes) -> Option<Bytes> {
    let mut decoder = EventDecoder::new(stream.len());
    decoder.push(stream);
    decoder.next_event().ok().flatten().map(|event| event.data)
}

/// The messages of one event stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    body: Incoming,
    decoder: EventDecoder,
}

impl EventStream {
    pub(crate) fn new(body: Incoming, limit: usize) -> Self {
        Self { body, decoder: EventDecoder::new(limit) }
    }

    /// The next message's text; `None` when the stream has ended. Events of other names and events without
    /// data are no messages. Cancel-safe.
    pub(crate) async fn next(&mut self, place: &mut Place) -> Result<Option<Bytes>, Failure> {
        while let Some(event) = self.next_named(place).await? {
            if event.name.is_none() && !event.data.is_empty() {
                return Ok(Some(event.data));
            }
        }
        Ok(None)
    }

    /// The next event, whatever it is.
    pub(crate) async fn next_named(&mut self, place: &mut Place) -> Result<Option<Event>, Failure> {
        loop {
            let event = self.decoder.next_event();
            place.follow(&self.decoder);
            match event.map_err(|error| Failure::during(DownstreamFault::TooLarge { limit: error.limit }))? {
                Some(event) => return Ok(Some(event)),
                None => match body::piece(&mut self.body).await? {
                    Some(data) => self.decoder.push(&data),
                    None => return Ok(None),
                },
            }
        }
    }

    /// What is left of the body.
    pub(crate) fn into_body(self) -> Incoming {
        self.body
    }
}
