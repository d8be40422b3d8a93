use std::{
    fs::File,
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use async_trait::async_trait;

use super::{Blocking, Sink, write_out};

/// Standard output. Never synced (P-61).
#[derive(Debug)]
pub struct StdoutSink(Blocking<File>);

impl StdoutSink {
    /// The process's standard output, which nobody else should write to.
    ///
    /// # Errors
    /// It is closed.
    pub fn open() -> io::Result<Self> {
        let stdout: OwnedFd = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self(Blocking::new(stdout.into())))
    }
}

#[async_trait]
impl Sink for StdoutSink {
    async fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        let mut taken = std::mem::take(lines);
        let (rest, result) = self
            .0
            .run(move |stdout| {
                let (written, result) = write_out(stdout, &taken);
                taken.drain(..written);
                (taken, result)
            })
            .await?;
        *lines = rest;
        result
    }
}
