//! Server-sent events, read and written (WHATWG HTML §9.2; protocol.md §4.5).

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};

/// A server may ask for any delay before a reconnect; this much is granted (security.md §2.6).
const RETRY_LIMIT: Duration = Duration::from_secs(60);
/// The longest event id that is kept.
const ID_LIMIT: usize = 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's name, if it is another than `message`.
    pub name: Option<String>,
    /// The data lines, joined by LF.
    pub data: Bytes,
}

/// An event grew beyond the limit; the stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit in force.
    pub limit: usize,
}

/// Cuts a byte stream into events, wherever the stream is split and whichever line ends it uses.
/// Comments are passed over without being kept.
#[derive(Debug)]
pub struct EventDecoder {
    buffer: BytesMut,
    /// How much of `buffer` is known to hold no line end.
    searched: usize,
    /// The last line ended with CR; an LF right behind it belongs to it.
    after_cr: bool,
    /// Nothing has been read yet, so a byte order mark may come.
    at_start: bool,
    /// The line is a comment that did not fit; what is left of it is passed over.
    in_comment: bool,
    limit: usize,
    name: String,
    data: Option<BytesMut>,
    /// The id that the next blank line makes the last one.
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl EventDecoder {
    /// A decoder for events whose lines make up at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            after_cr: false,
            at_start: true,
            in_comment: false,
            limit,
            name: String::new(),
            data: None,
            id: None,
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Where the stream stands: the last id that was given, with an event or without data. An empty one takes
    /// the others back.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants us to wait before a reconnect, as it last said, with an event or without.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The next event that is complete. What follows the last blank line of a stream is no event.
    ///
    /// # Errors
    /// [`EventTooLarge`]; nothing more can be read then.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLarge> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Ok(Some(event));
                }
            } else {
                self.field(line);
            }
        }
        Ok(None)
    }

    fn line(&mut self) -> Result<Option<BytesMut>, EventTooLarge> {
        if !self.begin() {
            return Ok(None);
        }
        let Some(end) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return self.incomplete().map(|()| None);
        };
        let mut line = self.buffer.split_to(self.searched + end);
        self.after_cr = self.buffer[0] == b'\r';
        self.buffer.advance(1);
        self.searched = 0;
        if std::mem::take(&mut self.in_comment) {
            // Not empty, so that it does not end an event.
            line = BytesMut::from(&b":"[..]);
        } else if line.first() != Some(&b':') {
            // Checked alike whether the line came at once or in parts.
            self.fits(line.len())?;
        }
        Ok(Some(line))
    }

    /// Passes what may stand before a line; `false` if more bytes are needed to tell.
    fn begin(&mut self) -> bool {
        if self.at_start {
            const MARK: &[u8] = b"\xef\xbb\xbf";
            if self.buffer.len() < MARK.len() && MARK.starts_with(&self.buffer) {
                return false;
            }
            if self.buffer.starts_with(MARK) {
                self.buffer.advance(MARK.len());
            }
            self.at_start = false;
        }
        if self.after_cr && !self.buffer.is_empty() {
            self.after_cr = false;
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
            }
        }
        !self.buffer.is_empty()
    }

    fn incomplete(&mut self) -> Result<(), EventTooLarge> {
        if self.in_comment || self.buffer.first() == Some(&b':') {
            self.in_comment = true;
            self.buffer.clear();
            self.searched = 0;
        }
        self.fits(self.buffer.len())
    }

    fn fits(&self, more: usize) -> Result<(), EventTooLarge> {
        let kept = self.data.as_ref().map_or(0, BytesMut::len) + self.name.len();
        if kept + more > self.limit { Err(EventTooLarge { limit: self.limit }) } else { Ok(()) }
    }

    fn field(&mut self, mut line: BytesMut) {
        let colon = memchr::memchr(b':', &line);
        let mut value = line.split_off(colon.unwrap_or(line.len()));
        if colon.is_some() {
            value.advance(1);
            if value.first() == Some(&b' ') {
                value.advance(1);
            }
        }
        match &line[..] {
            b"data" => match &mut self.data {
                None => self.data = Some(value),
                Some(data) => {
                    data.extend_from_slice(b"\n");
                    data.extend_from_slice(&value);
                }
            },
            b"event" => self.name = String::from_utf8_lossy(&value).into_owned(),
            b"id" if value.len() <= ID_LIMIT && !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(&value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(&value).unwrap_or_default();
                let retry = digits.parse().map_or(RETRY_LIMIT, Duration::from_millis);
                self.retry = Some(retry.min(RETRY_LIMIT));
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        if let Some(id) = self.id.take() {
            self.last_id = Some(id);
        }
        let data = self.data.take()?.freeze();
        let name = Some(name).filter(|name| !name.is_empty() && name != "message");
        Some(Event { name, data })
    }
}

/// An event that carries one message; `message` is a single line.
pub fn event(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 8);
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
    out
}

/// A comment that keeps a quiet stream open.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

#[cfg(test)]
mod tests;
