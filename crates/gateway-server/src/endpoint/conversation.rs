use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::mpsc;
use tracing::Instrument;

use super::Payload;
use crate::in_flight::Boxed;

/// How many messages may wait for a slow client before their maker does.
const WAITING: usize = 8;

/// Messages that are made while they are sent: the maker runs only when somebody asks for the next one,
/// and stops for good when the conversation is dropped.
pub(crate) struct Conversation {
    messages: mpsc::Receiver<Payload>,
    maker: Option<Boxed<()>>,
}

/// Where the maker puts its messages. Waiting there is how a slow client slows it down.
#[derive(Clone)]
pub(crate) struct Speaker(mpsc::Sender<Payload>);

impl Speaker {
    /// Sends one message; `false` if nobody listens any more.
    pub(crate) async fn say(&self, message: Payload) -> bool {
        self.0.send(message).await.is_ok()
    }
}

impl Conversation {
    pub(crate) fn new<F: Future<Output = ()> + Send + 'static>(make: impl FnOnce(Speaker) -> F) -> Self {
        let (speaker, messages) = mpsc::channel(WAITING);
        Self { messages, maker: Some(Box::pin(make(Speaker(speaker)).in_current_span())) }
    }

    /// The next message; `None` at the end.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Payload>> {
        loop {
            if let Poll::Ready(message) = self.messages.poll_recv(cx) {
                return Poll::Ready(message);
            }
            // The channel is empty and open, so the maker is still there.
            let Some(maker) = &mut self.maker else { return Poll::Pending };
            std::task::ready!(Pin::as_mut(maker).poll(cx));
            self.maker = None;
        }
    }

    /// As [`Self::poll_next`]. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Payload> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}
