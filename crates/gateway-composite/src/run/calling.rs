use tokio::sync::watch;

/// The calls of one run that are out. Clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(watch::Sender<usize>);

impl Calls {
    /// One more is out, until this is dropped.
    pub(super) fn begin(&self) -> Calling {
        self.0.send_modify(|out| *out += 1);
        Calling(self.clone())
    }

    /// Waits until none is out. Cancel-safe.
    pub(super) async fn none(&self) {
        // Fails when the sender is gone, which is in `self`.
        let _ = self.0.subscribe().wait_for(|out| *out == 0).await;
    }
}

/// A call that is out, or may be any moment. The end of its run waits for it.
#[derive(Debug)]
#[must_use = "dropped at once it keeps nobody waiting"]
pub(crate) struct Calling(Calls);

impl Calling {
    /// The same work, during which the call is out: from now on, though it has not been polled, until it is done or
    /// dropped.
    pub(crate) async fn during<T>(self, work: impl Future<Output = T>) -> T {
        work.await
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        self.0.0.send_modify(|out| *out -= 1);
    }
}

#[cfg(test)]
mod tests;
