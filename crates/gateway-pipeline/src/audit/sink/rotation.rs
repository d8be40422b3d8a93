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
    /// How many bytes of these lines are for a file of this size: whole lines that keep within the bound, and into a new
    /// file one at least. 0: it is put aside first.
    pub(super) fn fitting(self, size: u64, lines: &[u8]) -> usize {
        let room = match self.max_bytes {
            0 => lines.len(),
            most => usize::try_from(most.saturating_sub(size)).unwrap_or(usize::MAX).min(lines.len()),
        };
        let whole = memchr::memrchr(b'\n', &lines[..room]).map_or(0, |end| end + 1);
        match whole {
            0 if size == 0 => memchr::memchr(b'\n', lines).map_or(lines.len(), |end| end + 1),
            _ => whole,
        }
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
