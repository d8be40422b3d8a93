use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What tells one content of a file from another without reading it. Editors write within the same second,
/// with the same size, in place or by putting another file there; nothing of that goes unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Seconds and nanoseconds since 1970; like the size nothing for what is neither file nor folder.
    modified: (i64, i64),
    /// Bytes.
    size: u64,
    /// Which file it is: device and inode, of what a link leads to.
    file: (u64, u64),
}

/// Files that a configuration was read from, each as it was just before it was read: what is written while
/// it is read is a change. `None` for one that was not there.
pub(crate) type Stamps = BTreeMap<PathBuf, Option<Stamp>>;

impl Stamp {
    /// As it is now.
    ///
    /// # Errors
    /// Whatever the system says about the file.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let file = std::fs::metadata(path)?;
        // A pipe changes with whatever passes through it; a folder with the names of what is in it.
        let (modified, size) = match file.is_file() || file.is_dir() {
            true => ((file.mtime(), file.mtime_nsec()), file.size()),
            false => ((0, 0), 0),
        };
        Ok(Self { modified, size, file: (file.dev(), file.ino()) })
    }
}

/// Notes a file that is about to be read.
pub(super) fn note(stamps: &mut Stamps, path: &Path) {
    stamps.insert(path.to_owned(), Stamp::of(path).ok());
}
