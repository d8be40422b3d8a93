//! Time limits of a connection that hyper does not have: an idle time that differs from the time for a
//! head, and a limit on how long written bytes may stay unread (security.md §2.7). Timers are looked at
//! only when the peer is not, so a busy connection pays for no more than reading the clock.

use std::{
    collections::HashMap,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep, sleep_until},
};

use crate::config::Limits;

/// How many requests a connection has begun and ended to answer.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// When the last one ended.
    last: Mutex<Option<Instant>>,
    /// Whether there can be several at a time (HTTP/2). Bytes are then no sign of a request.
    multiplexed: AtomicBool,
    /// Those of several that have given their peer something, and since when it is not taken.
    unread: Mutex<HashMap<usize, Instant>>,
    /// Whether the last answer went out before its request was read to its end.
    lingers: AtomicBool,
}

impl Activity {
    /// Which one it is.
    pub(crate) fn begin(&self, multiplexed: bool) -> usize {
        if multiplexed {
            self.multiplexed.store(true, Ordering::Release);
        }
        self.begun.fetch_add(1, Ordering::AcqRel)
    }

    pub(crate) fn end(&self) {
        *locked(&self.last) = Some(Instant::now());
        self.ended.fetch_add(1, Ordering::AcqRel);
    }

    /// The connection ends with this answer, and its peer may be sending still.
    pub(crate) fn linger(&self) {
        self.lingers.store(true, Ordering::Release);
    }

    /// One of several has given its peer something.
    pub(crate) fn given(&self, request: usize) {
        locked(&self.unread).insert(request, Instant::now());
    }

    /// The peer has made room for more, or there will be no more.
    pub(crate) fn taken(&self, request: usize) {
        locked(&self.unread).remove(&request);
    }

    /// Waits until a peer has left one of several responses unread for so long. That it reads others, and
    /// answers pings, costs it nothing and us what is held for that one.
    pub(crate) async fn stalls(&self, limit: Duration) {
        let often = (limit / 4).max(Duration::from_millis(10));
        loop {
            sleep(often).await;
            let oldest = locked(&self.unread).values().min().copied();
            if oldest.is_some_and(|since| since.elapsed() >= limit) {
                return;
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How much, and for how long, is read and dropped of a peer that sends on after it has been answered. If
/// it were not, the operating system would take the answer back (RFC 9112 §9.6).
const LINGER_BYTES: usize = 16 << 20;
const LINGER_TIME: Duration = Duration::from_secs(1);
/// How much of it at a time.
const SCRAP: usize = 8 << 10;

/// A connection that ends itself when its peer takes too long.
pub(crate) struct Watched<S> {
    inner: S,
    activity: Arc<Activity>,
    limits: Limits,
    /// How many requests had begun when reading last gave something.
    begun: usize,
    /// When the head that is being read began; `None` between requests.
    head: Option<Instant>,
    /// When reading last gave something.
    read: Instant,
    reading: Option<Pin<Box<Sleep>>>,
    /// When writing last could not go on.
    stalled: Option<Instant>,
    writing: Option<Pin<Box<Sleep>>>,
    /// Our end is closed; until when the peer's may not be, and how much has been dropped since.
    closing: Option<(Instant, usize)>,
}

impl<S> Watched<S> {
    /// A connection whose first head is awaited from now on.
    pub(crate) fn new(inner: S, activity: Arc<Activity>, limits: Limits) -> Self {
        let now = Instant::now();
        let (reading, writing) = (None, None);
        Self {
            inner,
            activity,
            limits,
            begun: 0,
            head: Some(now),
            read: now,
            reading,
            stalled: None,
            writing,
            closing: None,
        }
    }

    fn poll_reading(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let begun = self.activity.begun.load(Ordering::Acquire);
        if begun != self.begun {
            // The head that was being read is complete.
            self.begun = begun;
            self.head = None;
            self.read = Instant::now();
        }
        if begun != self.activity.ended.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        let deadline = match self.head {
            Some(since) => since + self.limits.header_time,
            None => self.read.max(locked(&self.activity.last).unwrap_or(self.read)) + self.limits.idle_time,
        };
        poll_deadline(&mut self.reading, deadline, cx)
    }

    fn poll_writing(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let since = *self.stalled.get_or_insert_with(Instant::now);
        poll_deadline(&mut self.writing, since + self.limits.write_stall, cx)
    }

    fn progressed(&mut self, bytes: usize) {
        let begun = self.activity.begun.load(Ordering::Acquire);
        let answering = begun != self.activity.ended.load(Ordering::Acquire);
        if self.activity.multiplexed.load(Ordering::Acquire) {
            return;
        }
        self.read = Instant::now();
        if begun != self.begun {
            self.begun = begun;
            self.head = None;
        }
        if !answering && bytes > 0 && self.head.is_none() {
            self.head = Some(self.read);
        }
    }
}

fn poll_deadline(
    timer: &mut Option<Pin<Box<Sleep>>>,
    deadline: Instant,
    cx: &mut Context<'_>,
) -> Poll<io::Error> {
    let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
    // A timer that is set too early is left alone: it costs one look when it fires.
    if timer.deadline() > deadline {
        timer.as_mut().reset(deadline);
    }
    loop {
        ready!(timer.as_mut().poll(cx));
        if Instant::now() >= deadline {
            return Poll::Ready(io::ErrorKind::TimedOut.into());
        }
        timer.as_mut().reset(deadline);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                self.progressed(buf.filled().len() - before);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => self.poll_reading(cx).map(Err),
        }
    }
}

impl<S> Watched<S> {
    /// What writing has come to. A socket is flushed and shut down at any time, so only bytes that it takes
    /// are a sign of its peer.
    fn written(&mut self, cx: &mut Context<'_>, bytes: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if bytes.is_pending() {
            return self.poll_writing(cx).map(Err);
        }
        if matches!(bytes, Poll::Ready(Ok(1..))) {
            self.stalled = None;
        }
        bytes
    }
}

impl<S: AsyncRead + Unpin> Watched<S> {
    /// Reads and drops what the peer has not been told to keep, for a while.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (until, mut dropped) = *self.closing.get_or_insert_with(|| (Instant::now() + LINGER_TIME, 0));
        let mut scrap = [0; SCRAP];
        loop {
            let mut buf = ReadBuf::new(&mut scrap);
            match Pin::new(&mut self.inner).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => dropped += buf.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if dropped > 0 || self.activity.lingers.load(Ordering::Acquire) => {
                    self.closing = Some((until, dropped));
                    return poll_deadline(&mut self.reading, until, cx).map(drop);
                }
                Poll::Pending => return Poll::Ready(()),
            }
            if dropped > LINGER_BYTES || Instant::now() >= until {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let bytes = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.written(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bytes = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.written(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What is flushed last is the end of a response. Reading was looked at before that, when there was
        // still one to wait for, so the idle time begins here.
        let _ = self.poll_reading(cx);
        match Pin::new(&mut self.inner).poll_flush(cx) {
            Poll::Pending => self.poll_writing(cx).map(Err),
            ready => ready,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            match Pin::new(&mut self.inner).poll_shutdown(cx) {
                Poll::Pending => return self.poll_writing(cx).map(Err),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {}
            }
        }
        self.poll_linger(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::timeout,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_bytes_are_a_sign_that_the_peer_reads() {
        let (near, mut far) = duplex(16);
        let limits = Limits { write_stall: Duration::from_secs(2), ..Limits::default() };
        let mut watched = Watched::new(near, Arc::default(), limits);
        watched.write_all(&[0; 16]).await.unwrap();
        let mut bytes = 0;
        let from = Instant::now();
        let stalled = async {
            loop {
                match timeout(Duration::from_millis(500), watched.write(b"x")).await {
                    Ok(Ok(written)) => bytes += written,
                    Ok(Err(error)) => return error.kind(),
                    Err(_) => watched.flush().await.unwrap(),
                }
                if bytes == 0 && from.elapsed() >= Duration::from_millis(1500) {
                    far.read_exact(&mut [0; 1]).await.unwrap();
                }
            }
        };
        let ended = timeout(Duration::from_secs(20), stalled).await;
        assert_eq!((ended, bytes), (Ok(io::ErrorKind::TimedOut), 1));
        let took = from.elapsed();
        assert!((Duration::from_millis(3500)..Duration::from_secs(5)).contains(&took), "after {took:?}");
    }
}
