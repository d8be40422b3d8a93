use std::{
    fs::{self, File, FileType, Metadata, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{
        FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use rustix::fs::OFlags;

use super::{Blocking, Rotation, Sink, write_out};

/// A file that records are appended to (P-61). It is created with mode 0600; of a regular one that is there, what others
/// than its owner may do is taken away.
///
/// Regular files, named pipes and character devices are fine, the latter two without rotation and fsync. A symbolic
/// link is refused, so that nobody who may write to the folder can point it elsewhere, and so is everything else. A
/// pipe that nobody reads takes as much as fits, and then waits.
///
/// A regular file that was moved, replaced or removed by somebody else is noticed before the next record, and at the next
/// fsync, and a new one begun. Where that cannot be, as behind a symbolic link, the old one is written on; if it was
/// removed, so that nobody could read what is written, records wait as they do when the disk is full.
///
/// Where the last line is not whole, because a gateway was killed while it wrote it, it is ended before more is written.
///
/// A file grows larger than [`Rotation::max_bytes`] by a part of one record at the most, unless it cannot be put aside.
#[derive(Debug)]
pub struct FileSink(Blocking<Open>);

/// An audit file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("audit log {}: {reason}", .path.display())]
pub struct OpenError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: io::Error,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    is_regular: bool,
    size: u64,
}

impl FileSink {
    /// Opens a file, or creates it; its folder must be there. Blocks: for the start.
    ///
    /// # Errors
    /// [`OpenError`]; the gateway should not start then.
    pub fn open(path: impl Into<PathBuf>, rotation: Rotation) -> Result<Self, OpenError> {
        let path = path.into();
        match Open::new(path.clone(), rotation) {
            Ok(open) => Ok(Self(Blocking::new(open))),
            Err(reason) => Err(OpenError { path, reason }),
        }
    }
}

#[async_trait]
impl Sink for FileSink {
    async fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        let mut taken = std::mem::take(lines);
        let work = move |open: &mut Open| {
            let result = open.write(&mut taken);
            (taken, result)
        };
        let (rest, result) = self.0.run(work).await?;
        *lines = rest;
        result
    }

    async fn sync(&mut self) -> io::Result<()> {
        self.0.run(Open::sync).await?
    }

    async fn reopen(&mut self) -> io::Result<()> {
        self.0.run(Open::reopen).await?
    }
}

impl Open {
    fn new(path: PathBuf, rotation: Rotation) -> io::Result<Self> {
        let file = append(&path)?;
        let metadata = file.metadata()?;
        let (is_regular, mut size) = (metadata.is_file(), metadata.len());
        if is_regular && size > 0 && !ends_a_line(&path, size) {
            // Whoever wrote it was killed in the middle: what comes now is a line of its own all the same.
            (&file).write_all(b"\n")?;
            size += 1;
        }
        Ok(Self { path, rotation, file, is_regular, size })
    }

    /// Writes to new files as the old ones become full; if there can be none, to this one nevertheless.
    fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.follow()?;
        let mut rotated = Ok(());
        while !lines.is_empty() {
            let fitting = match &rotated {
                Ok(()) if self.is_regular => self.rotation.fitting(self.size, lines),
                _ => lines.len(),
            };
            if fitting == 0 {
                rotated = self.rotate();
                continue;
            }
            let outcome = write_out(&self.file, &lines[..fitting]);
            self.settle(lines, outcome)?;
        }
        rotated
    }

    /// Goes over to the file that is there now, if it is another one. Fails if there is none that could be read later.
    fn follow(&mut self) -> io::Result<()> {
        match self.catch_up() {
            Err(error) if self.file.metadata()?.nlink() == 0 => Err(error),
            // Told of at the next fsync.
            _ => Ok(()),
        }
    }

    fn catch_up(&mut self) -> io::Result<()> {
        if self.is_regular && self.was_moved()? {
            // Nothing of the old file may be lost: it will not be synced again.
            self.file.sync_data()?;
            self.reopen()?;
        }
        Ok(())
    }

    /// Removes from `lines` what stands in the file, after so much was written.
    fn settle(&mut self, lines: &mut Vec<u8>, (written, result): (usize, io::Result<()>)) -> io::Result<()> {
        let kept = if self.is_regular && result.is_err() { self.cut(&lines[..written]) } else { written };
        self.size += number(kept);
        lines.drain(..kept);
        result
    }

    /// Takes the beginning of a line back from the end of the file. How much stands there then of what was written.
    fn cut(&self, written: &[u8]) -> usize {
        let whole = written.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let shorter = |metadata: Metadata| metadata.len().checked_sub(number(written.len() - whole));
        let cut = self.file.metadata().ok().and_then(shorter).map(|size| self.file.set_len(size));
        if matches!(cut, Some(Ok(()))) { whole } else { written.len() }
    }

    /// Nothing of the old file may be lost when a new one begins: it will not be synced again.
    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.rotation.put_aside(&self.path)?;
        self.reopen()
    }

    fn sync(&mut self) -> io::Result<()> {
        if !self.is_regular {
            return Ok(());
        }
        self.file.sync_data()?;
        self.catch_up()
    }

    fn was_moved(&self) -> io::Result<bool> {
        let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
        match fs::symlink_metadata(&self.path) {
            Ok(there) => Ok(identity(there) != identity(self.file.metadata()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        *self = Self::new(self.path.clone(), self.rotation)?;
        Ok(())
    }
}

/// Whether a file of this size ends with the end of a line, as far as can be told.
fn ends_a_line(path: &Path, size: u64) -> bool {
    let mut last = [b'\n'];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut last, size - 1));
    read.is_err() || last == *b"\n"
}

/// Opens for appending what may be appended to.
fn append(path: &Path) -> io::Result<File> {
    // Opened for writing alone, a pipe would wait for its reader.
    let is_pipe = fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_fifo());
    let no_link = i32::from_ne_bytes(OFlags::NOFOLLOW.bits().to_ne_bytes());
    let mut options = OpenOptions::new();
    options.append(true).create(!is_pipe).read(is_pipe).mode(0o600).custom_flags(no_link);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !is_fit(metadata.file_type()) {
        let reason = "it is no regular file, named pipe or character device";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    if metadata.is_file() {
        tighten(path, &file, &metadata);
    }
    Ok(file)
}

/// What others than the owner may do with the file.
const OTHERS: u32 = 0o077;

/// Leaves a file to its owner alone. It is used nevertheless if that cannot be, as if it is somebody else's.
fn tighten(path: &Path, file: &File, metadata: &Metadata) {
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return;
    }
    let path = path.display();
    match file.set_permissions(Permissions::from_mode(mode & !OTHERS)) {
        Ok(()) => {
            tracing::warn!(%path, mode = format_args!("{mode:04o}"), "others could read the audit log; not any more")
        }
        Err(error) => {
            tracing::warn!(%path, %error, "others can read the audit log, and its mode cannot be changed")
        }
    }
}

fn number(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn is_fit(kind: FileType) -> bool {
    kind.is_file() || kind.is_fifo() || kind.is_char_device()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_line_that_was_begun_is_taken_back_and_comes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for (begun, whole, left) in
            [("b\nc", 2, "a\nb\n"), ("b\nc\n", 4, "a\nb\nc\n"), ("b", 0, "a\n"), ("", 0, "a\n")]
        {
            fs::write(&path, "a\n").unwrap();
            let open = Open::new(path.clone(), Rotation::default()).unwrap();
            (&open.file).write_all(begun.as_bytes()).unwrap();
            assert_eq!(open.cut(begun.as_bytes()), whole, "{begun:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), left, "{begun:?}");
        }
    }

    #[test]
    fn what_was_taken_back_is_left_to_be_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let mut open = Open::new(path.clone(), Rotation::default()).unwrap();
        let mut lines = b"a\nbc\n".to_vec();
        (&open.file).write_all(b"a\nb").unwrap();
        let full = || Err(io::ErrorKind::StorageFull.into());
        assert!(open.settle(&mut lines, (3, full())).is_err());
        assert_eq!((&*lines, open.size), (&b"bc\n"[..], 2));
        open.write(&mut lines).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), lines.len(), open.size), ("a\nbc\n", 0, 5));
    }

    #[test]
    fn what_cannot_be_taken_back_has_been_written() {
        let open = Open::new("/dev/null".into(), Rotation::default()).unwrap();
        assert_eq!(open.cut(b"b\nc"), 3);
    }
}
