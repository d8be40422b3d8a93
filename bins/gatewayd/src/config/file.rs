use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Which files a configuration is read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Files {
    /// Pipes and `/dev/stdin` too; reading waits for whoever writes into them.
    #[default]
    Any,
    /// Those that can be read as often as one likes and that nobody has to write into first. A link to one
    /// is as good.
    Regular,
}

impl Files {
    /// The text of a file, of which no more than one byte beyond `most` is read.
    ///
    /// # Errors
    /// Whatever the system says, or that it is not such a file.
    pub(super) fn read(self, path: &Path, most: u64) -> io::Result<String> {
        let mut text = String::new();
        self.open(path)?.take(most.saturating_add(1)).read_to_string(&mut text)?;
        Ok(text)
    }

    fn open(self, path: &Path) -> io::Result<File> {
        if self == Self::Any {
            return File::open(path);
        }
        // Else opening a pipe would wait for a writer. What is regular is read as ever.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other(
                "it is no regular file, and only such are read while the gateway runs; restart it to read another",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_regular_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            assert_eq!(Files::Regular.read(path, 10).unwrap(), "text");
            assert_eq!(Files::Any.read(path, 10).unwrap(), "text");
            assert_eq!(Files::Regular.read(path, 2).unwrap(), "tex", "one more than allowed");
        }
        let device = Path::new("/dev/null");
        assert_eq!(Files::Any.read(device, 10).unwrap(), "");
        for path in [device, folder.path()] {
            let error = Files::Regular.read(path, 10).unwrap_err().to_string();
            assert!(error.starts_with("it is no regular file"), "{}: {error}", path.display());
        }
    }
}
