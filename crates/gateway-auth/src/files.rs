use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use tokio::task::spawn_blocking;

/// How often watched files are looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Reads a whole file of at most `limit` bytes; says what is wrong for the operator. Cancel-safe.
pub(crate) async fn read(path: PathBuf, limit: usize) -> Result<Bytes, String> {
    let read = {
        let path = path.clone();
        spawn_blocking(move || read_now(&path, limit)).await
    };
    let outcome = read.unwrap_or_else(|_| Err(io::Error::other("the runtime is shutting down")));
    outcome.map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn read_now(path: &Path, limit: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(io::Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(bytes.into())
}
