//! The task that owns a process's stdout.

use std::{io, sync::Arc};

use bytes::{Bytes, BytesMut};
use gateway_domain::{DownstreamFault, DownstreamObserver, Notice, RawObject};
use gateway_protocol::{
    EnvelopeError, Incoming, Message, Notification, Request, RequestId, Revision,
    client::Unreadable,
    method,
    ndjson::{Line, LineDecoder},
};
use tokio::{io::AsyncReadExt, process::ChildStdout};

use crate::{
    StdioConfig,
    link::Link,
    text::{self, Censor},
};

/// Why reading has ended.
#[derive(Debug)]
pub(crate) enum Silence {
    /// The stream is at its end.
    End,
    /// So many lines in a row were no messages.
    Noise(u32),
    /// The stream cannot be read.
    Error(io::Error),
}

pub(crate) struct Reader {
    link: Arc<Link>,
    censor: Arc<Censor>,
    observer: Arc<dyn DownstreamObserver>,
    decoder: LineDecoder,
    noise_limit: u32,
    /// Lines in a row that were no messages.
    noise: u32,
    noise_seen: bool,
}

impl Reader {
    pub(crate) fn new(
        link: Arc<Link>,
        config: &StdioConfig,
        censor: Arc<Censor>,
        observer: Arc<dyn DownstreamObserver>,
    ) -> Self {
        let decoder = LineDecoder::new(config.max_line_bytes);
        let noise_limit = config.noise_limit;
        Self { link, censor, observer, decoder, noise_limit, noise: 0, noise_seen: false }
    }

    /// Reads until the stream ends or is no use any more.
    pub(crate) async fn run(mut self, mut stdout: ChildStdout) -> Silence {
        loop {
            make_room(self.decoder.buffer());
            let ended = match stdout.read_buf(self.decoder.buffer()).await {
                Ok(read) => read == 0,
                Err(error) => return Silence::Error(error),
            };
            while let Some(line) = self.decoder.next_line() {
                self.line(line);
                if self.noise > self.noise_limit {
                    return Silence::Noise(self.noise);
                }
            }
            if ended && let Some(line) = self.decoder.finish() {
                self.line(line);
            }
            if ended {
                return Silence::End;
            }
        }
    }

    fn line(&mut self, line: Line) {
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong => return self.link.overlong(Unreadable::head(self.decoder.head())),
        };
        match Incoming::parse(text.clone()) {
            Ok(Incoming::Single(message)) => {
                self.noise = 0;
                self.message(message);
            }
            // Only that revision has arrays (protocol.md §2.2).
            Ok(Incoming::Batch(messages)) if self.link.revision.get().is_some_and(|r| r.has_batches()) => {
                self.noise = 0;
                for message in messages {
                    match message {
                        Ok(message) => self.message(message),
                        Err(error) => {
                            let id = error.id.as_ref().and_then(RequestId::to_number);
                            let element = id.map_or(Unreadable::Other, |id| Unreadable::Answer(Some(id)));
                            self.unreadable(&text, element, &error);
                        }
                    }
                }
            }
            Ok(Incoming::Batch(_)) => self.noise(&text, "an array, which this revision does not have"),
            Err(error) => self.unreadable(&text, Unreadable::whole(&text), &error),
        }
    }

    fn message(&self, message: Message) {
        match message {
            Message::Response(response) => self.link.answered(response),
            Message::Notification(notification) => self.notified(notification),
            Message::Request(request) => self.asked(&request),
        }
    }

    fn notified(&self, notification: Notification) {
        let (name, params) = (&self.link.name, notification.params.object);
        let is_taken = match notification.method.as_str() {
            method::PROGRESS => return self.link.progress(params),
            method::MESSAGE => return self.logged(params),
            method::CANCELLED => return self.link.withdrawn(&params),
            method::ACKNOWLEDGED => return self.link.acknowledged(&params),
            method::RESOURCE_UPDATED => self.link.watching.updated(&params),
            method::ELICITATION_COMPLETE => self.link.tell_owner(Notice::ElicitationComplete(params)),
            other => match method::changed_list(other) {
                Some(list) => return self.observer.list_changed(list),
                None => false,
            },
        };
        if !is_taken {
            tracing::trace!(downstream = %name, method = notification.method, "a notification for nobody");
        }
    }

    /// What cannot be told to a client is for the gateway's own log (protocol.md §20.6).
    fn logged(&self, params: RawObject) {
        let text = self.censor.shown(params.as_str().as_bytes(), text::LINE);
        if self.link.logged(params) {
            return;
        }
        tracing::debug!(downstream = %self.link.name, "message: {text}");
        self.link.drop_quietly();
    }

    /// Answers a request of the server's, so that it does not wait for us.
    fn asked(&self, request: &Request) {
        if self.link.revision.get().is_some_and(|revision| *revision >= Revision::NEWEST_MODERN) {
            // There a server must not ask, nor a client answer (protocol.md §3).
            return self.link.drop_one("a request that a modern server must not make");
        }
        self.link.asked(request);
    }

    fn unreadable(&mut self, line: &Bytes, message: Unreadable, error: &EnvelopeError) {
        if !self.link.refused(message, DownstreamFault::Nonsense { reason: error.to_string() }) {
            self.noise(line, &error.to_string());
        }
    }

    fn noise(&mut self, line: &Bytes, reason: &str) {
        self.noise += 1;
        if !std::mem::replace(&mut self.noise_seen, true) {
            let sample = self.censor.shown(line, text::SAMPLE);
            let name = &self.link.name;
            tracing::warn!(downstream = %name, "a line on stdout is no message ({reason}): {sample}");
        }
        self.link.drop_one("a line on stdout that is no message");
    }
}

/// Keeps room for the next read: a chunk, and for a long line as much again as there is of it, so that it
/// is not read in ever so many pieces.
fn make_room(buffer: &mut BytesMut) {
    if buffer.capacity() - buffer.len() < CHUNK / 4 {
        buffer.reserve(buffer.len().max(CHUNK));
    }
}

const CHUNK: usize = 32 << 10;
