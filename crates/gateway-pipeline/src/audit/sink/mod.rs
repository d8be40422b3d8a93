//! Where records are written to.

mod file;
mod rotation;
mod stdout;

use std::io::{self, Write};

use async_trait::async_trait;
use tokio::task::spawn_blocking;

pub use self::{
    file::{FileSink, OpenError},
    rotation::Rotation,
    stdout::StdoutSink,
};

/// Takes the lines of an audit log. Owned by one task, which calls one method at a time and drops no future of its but
/// with the runtime. May take its time: no request waits for it.
#[async_trait]
pub trait Sink: Send {
    /// Hands `lines` to the operating system and removes from their front what it took, whether it fails or not. What
    /// is left comes again, in front of nothing else.
    ///
    /// # Errors
    /// Of the last thing that went wrong. It is counted, and never fatal (P-62).
    async fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()>;

    /// Makes durable what was written.
    ///
    /// # Errors
    /// As [`Self::write`].
    async fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Opens anew what it writes to; what cannot be opened is written on as it is.
    ///
    /// # Errors
    /// As [`Self::write`].
    async fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Something that is used by one blocking call at a time.
#[derive(Debug)]
struct Blocking<T>(Option<T>);

impl<T: Send + 'static> Blocking<T> {
    fn new(inner: T) -> Self {
        Self(Some(inner))
    }

    /// Does something on a thread where it may block. Not cancel-safe: a future that is dropped leaves nothing to use.
    async fn run<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> io::Result<R> {
        let mut inner = self.0.take().ok_or_else(|| io::Error::other("it was given up"))?;
        let (inner, result) = spawn_blocking(move || {
            let result = work(&mut inner);
            (inner, result)
        })
        .await?;
        self.0 = Some(inner);
        Ok(result)
    }
}

/// Writes until all is written or something fails. How much was written.
fn write_out(mut to: impl Write, lines: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < lines.len() {
        match to.write(&lines[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a byte at a time, and says before each what is in the list.
    struct Slow(Vec<io::Result<usize>>, Vec<u8>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(said) = self.0.pop() {
                return said;
            }
            self.1.push(bytes[0]);
            Ok(1)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_interrupted_write_goes_on_and_a_failed_one_says_how_far_it_came() {
        #[track_caller]
        fn check(said: io::Result<usize>, expected: (usize, Option<io::ErrorKind>)) {
            let mut slow = Slow(vec![said], Vec::new());
            let (written, result) = write_out(&mut slow, b"abc");
            assert_eq!((written, result.err().map(|error| error.kind())), expected);
            assert_eq!(slow.1, b"abc"[..written]);
        }
        check(Err(io::ErrorKind::Interrupted.into()), (3, None));
        check(Err(io::ErrorKind::StorageFull.into()), (0, Some(io::ErrorKind::StorageFull)));
        check(Ok(0), (0, Some(io::ErrorKind::WriteZero)));
    }
}
