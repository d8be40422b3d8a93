use std::{
    fs::{File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use gateway_domain::Secret;
use gateway_egress::CredentialError;
use tokio::{sync::Mutex, time::Instant};

use super::{MOST_BYTES, unavailable};

/// How long it is believed that a file has not changed.
const FRESH: Duration = Duration::from_secs(1);
/// The bits of a mode with which others than the owner can read.
const READABLE_BY_OTHERS: u32 = 0o044;

/// A file with a value in it, read again when it has changed, which is looked at once in a second at the most.
#[derive(Debug)]
pub struct FileSource {
    path: PathBuf,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    value: Secret,
    stamp: Stamp,
    looked: Instant,
}

/// What is another once a file has been written or replaced, or may be read by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl FileSource {
    /// The file at `path`. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), known: Mutex::new(None) }
    }

    pub(super) fn origin(&self) -> String {
        format!("the file {}", self.path.display())
    }

    /// What stands in it. Cancel-safe.
    pub(super) async fn read(&self) -> Result<Secret, CredentialError> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.looked.elapsed() < FRESH) {
            return Ok(known.value.clone());
        }
        let (path, before) = (self.path.clone(), known.as_ref().map(|known| known.stamp));
        let looked = Instant::now();
        let read = tokio::task::spawn_blocking(move || look(&path, before)).await;
        let read = read.unwrap_or_else(|_| Err(io::Error::other("reading it was broken off")));
        match (read, known.as_mut()) {
            (Ok(None), Some(known)) => {
                known.looked = looked;
                Ok(known.value.clone())
            }
            (Ok(Some((stamp, value))), _) => {
                *known = Some(Known { value: value.clone(), stamp, looked });
                Ok(value)
            }
            (Ok(None), None) => Err(unavailable(format!("{} was not read", self.origin()))),
            (Err(error), _) => {
                *known = None;
                Err(unavailable(format!("{} cannot be read: {error}", self.origin())))
            }
        }
    }

    /// Has it looked at again, whenever that was done last.
    pub(super) async fn forget(&self) {
        *self.known.lock().await = None;
    }
}

/// What stands in a file, unless it is as it was.
fn look(path: &Path, before: Option<Stamp>) -> io::Result<Option<(Stamp, Secret)>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let stamp = Stamp::of(&metadata);
    if before == Some(stamp) {
        return Ok(None);
    }
    let mut text = String::new();
    file.take(MOST_BYTES as u64 + 1).read_to_string(&mut text)?;
    if text.len() > MOST_BYTES {
        return Err(io::Error::other(format!("it is larger than {MOST_BYTES} bytes")));
    }
    if is_open_to_others(metadata.mode()) {
        tracing::warn!(path = %path.display(), "a file with a credential can be read by others than its owner");
    }
    Ok(Some((stamp, Secret::new(text))))
}

fn is_open_to_others(mode: u32) -> bool {
    mode & READABLE_BY_OTHERS != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_the_group_and_everybody_who_can_read() {
        let rows =
            [(0o100_600, false), (0o100_640, true), (0o100_604, true), (0o100_644, true), (0o100_733, false)];
        for (mode, open) in rows {
            assert_eq!(is_open_to_others(mode), open, "{mode:o}");
        }
    }
}
