//! The task that owns a process's stdin.

use std::{io, sync::Arc};

use tokio::{io::AsyncWriteExt, process::ChildStdin, sync::mpsc};

use crate::link::{Link, Outgoing};

/// Writes what is queued until that fails; short messages that wait together go out in one piece. Aborting
/// the task closes stdin.
pub(crate) async fn write(
    link: Arc<Link>,
    mut queue: mpsc::Receiver<Outgoing>,
    mut stdin: ChildStdin,
) -> io::Error {
    let mut batch = Vec::with_capacity(BATCH);
    let mut joined = Vec::new();
    loop {
        batch.clear();
        queue.recv_many(&mut batch, BATCH).await;
        link.begin(&mut batch);
        if let Err(error) = write_batch(&mut stdin, &batch, &mut joined).await {
            return error;
        }
    }
}

async fn write_batch(stdin: &mut ChildStdin, batch: &[Outgoing], joined: &mut Vec<u8>) -> io::Result<()> {
    if let [only] = batch {
        return stdin.write_all(&only.line).await;
    }
    for outgoing in batch {
        if joined.len() + outgoing.line.len() > JOINED {
            stdin.write_all(joined).await?;
            joined.clear();
        }
        if outgoing.line.len() > JOINED {
            stdin.write_all(&outgoing.line).await?;
        } else {
            joined.extend_from_slice(&outgoing.line);
        }
    }
    stdin.write_all(joined).await?;
    joined.clear();
    Ok(())
}

/// The most messages that are taken from the queue at once.
const BATCH: usize = 32;

/// The most bytes that are written in one piece: what a pipe holds.
const JOINED: usize = 64 << 10;
