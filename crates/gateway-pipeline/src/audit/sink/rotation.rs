use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// When a file is put aside for a new one, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// A file that would become larger, in bytes, is put aside first. 0: never. 100 MiB.
    pub max_bytes: u64,
    /// How many files that were put aside are kept, the newest as `NAME.1`. 0: it is emptied instead. 5.
    pub keep: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { max_bytes: 100 << 20, keep: 5 }
    }
}

impl Rotation {
    /// Whether a file of this size is put aside before so much is added.
    pub(super) fn is_due(self, size: u64, more: usize) -> bool {
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        self.max_bytes > 0 && size > 0 && size.saturating_add(more) > self.max_bytes
    }

    /// Puts a file aside: afterwards there is none at `path`. The oldest of those that were put aside is gone.
    pub(super) fn put_aside(self, path: &Path) -> io::Result<()> {
        if self.keep == 0 {
            return fs::remove_file(path);
        }
        for age in (1..self.keep).rev() {
            match fs::rename(aged(path, age), aged(path, age + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(path, aged(path, 1))
    }
}

fn aged(path: &Path, age: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{age}"));
    name.into()
}
