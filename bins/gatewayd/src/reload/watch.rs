//! When a change of files is worth reading them: a state without clock or disk.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{Stamp, Stamps};

/// What is known of the files that are watched.
#[derive(Debug)]
pub(super) struct Watch {
    /// As they were when they were last read, whatever came of that.
    read: Stamps,
    /// Another state of theirs, and since when they have been in it.
    settling: Option<(Stamps, Instant)>,
    /// Those that could not be looked at.
    obscure: BTreeSet<PathBuf>,
}

/// What a look at the files gave.
pub(super) type Looks = Vec<(PathBuf, io::Result<Stamp>)>;

/// What is to be done about it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Whether to read the files.
    pub(super) is_change: bool,
    /// What could not be looked at, and could before (P-17).
    pub(super) errors: Vec<(PathBuf, io::Error)>,
}

impl Watch {
    pub(super) fn new(read: Stamps) -> Self {
        Self { read, settling: None, obscure: BTreeSet::new() }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.read.keys().map(PathBuf::as_path)
    }

    /// Takes note that the files were read, as they were then. One that an earlier configuration had and this
    /// one has not is still watched if the reading may not have come that far.
    pub(super) fn was_read(&mut self, stamps: Stamps, is_complete: bool) {
        let earlier = std::mem::replace(&mut self.read, stamps);
        if !is_complete {
            for (file, stamp) in earlier {
                self.read.entry(file).or_insert(stamp);
            }
        }
        self.settling = None;
        self.obscure.retain(|file| self.read.contains_key(file));
    }

    /// Takes note that the change was tried to be read in vain; only another one is a change again.
    pub(super) fn gave_up(&mut self) {
        if let Some((stamps, _)) = self.settling.take() {
            self.read = stamps;
        }
    }

    /// Judges a look. A change counts once it has been left alone for `quiet`: editors write more than once,
    /// and what comes between is half a file. A missing file is not a change (P-17), it may be about to be
    /// replaced; one that appears is.
    pub(super) fn see(&mut self, looks: Looks, now: Instant, quiet: Duration) -> Seen {
        let mut seen = Seen::default();
        let mut current = Stamps::new();
        for (file, look) in looks {
            let known = self.read.get(&file).copied().flatten();
            let stamp = match look {
                Ok(stamp) => {
                    self.obscure.remove(&file);
                    Some(stamp)
                }
                Err(error) => {
                    let is_missing = error.kind() == io::ErrorKind::NotFound;
                    if !is_missing && self.obscure.insert(file.clone()) {
                        seen.errors.push((file.clone(), error));
                    }
                    known
                }
            };
            current.insert(file, stamp);
        }
        if current == self.read {
            self.settling = None;
            return seen;
        }
        match &self.settling {
            Some((stamps, since)) if *stamps == current => {
                seen.is_change = now.duration_since(*since) >= quiet;
            }
            _ => self.settling = Some((current, now)),
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::{NotFound, PermissionDenied};

    use super::*;

    const QUIET: Duration = Duration::from_millis(100);

    /// Real files, so that their stamps are those that an editor would make.
    struct Scene {
        folder: tempfile::TempDir,
        watch: Watch,
        now: Instant,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut scene = Self { folder, watch: Watch::new(Stamps::new()), now: Instant::now() };
            scene.write("a", "one");
            scene.watch = Watch::new(scene.stamps());
            scene
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.path(name), text).unwrap();
        }

        /// Puts another file in the place of this one.
        fn replace(&self, name: &str, text: &str) {
            self.write("new", text);
            std::fs::rename(self.path("new"), self.path(name)).unwrap();
        }

        fn stamps(&self) -> Stamps {
            ["a", "b"].map(|name| (self.path(name), Stamp::of(&self.path(name)).ok())).into()
        }

        /// A look after a time in ms.
        fn look(&mut self, after: u64) -> bool {
            let looks = ["a", "b"].map(|name| (self.path(name), Stamp::of(&self.path(name))));
            self.see(after, looks.into()).is_change
        }

        fn see(&mut self, after: u64, looks: Looks) -> Seen {
            self.now += Duration::from_millis(after);
            self.watch.see(looks, self.now, QUIET)
        }
    }

    #[test]
    fn a_change_counts_once_it_was_left_alone() {
        let mut scene = Scene::new();
        assert_eq!([scene.look(100), scene.look(100)], [false, false], "nothing has changed");
        scene.write("a", "more than one");
        assert!(!scene.look(100), "just seen");
        assert!(!scene.look(99), "not yet left alone for long enough");
        assert!(scene.look(1));
        assert!(scene.look(100), "until somebody has read it");
        scene.watch.was_read(scene.stamps(), true);
        assert_eq!([scene.look(100), scene.look(100)], [false, false], "it was read");
    }

    #[test]
    fn whoever_goes_on_writing_is_waited_for() {
        let mut scene = Scene::new();
        for n in 0..10 {
            scene.write("a", &"x".repeat(10 + n));
            assert!(!scene.look(100), "{n}");
        }
        assert!(scene.look(100));
    }

    #[test]
    fn another_file_of_the_same_size_and_time_is_another() {
        let mut scene = Scene::new();
        let time = std::fs::metadata(scene.path("a")).unwrap().modified().unwrap();
        scene.write("new", "two");
        std::fs::File::options().write(true).open(scene.path("new")).unwrap().set_modified(time).unwrap();
        std::fs::rename(scene.path("new"), scene.path("a")).unwrap();
        assert_eq!([scene.look(100), scene.look(100)], [false, true]);
    }

    #[test]
    fn nanoseconds_count() {
        let mut scene = Scene::new();
        let file = std::fs::File::options().write(true).open(scene.path("a")).unwrap();
        let time = file.metadata().unwrap().modified().unwrap();
        file.set_modified(time + Duration::from_nanos(1)).unwrap();
        assert_eq!([scene.look(100), scene.look(100)], [false, true]);
    }

    #[test]
    fn a_missing_file_is_no_change_and_one_that_appears_is() {
        let mut scene = Scene::new();
        std::fs::remove_file(scene.path("a")).unwrap();
        assert_eq!([scene.look(100), scene.look(100)], [false, false]);
        scene.replace("a", "two");
        assert_eq!([scene.look(100), scene.look(100)], [false, true]);
        scene.watch.was_read(scene.stamps(), true);
        scene.write("b", "was missing when the configuration was read");
        assert_eq!([scene.look(100), scene.look(100)], [false, true]);
    }

    #[test]
    fn what_is_taken_back_was_no_change() {
        let mut scene = Scene::new();
        std::fs::rename(scene.path("a"), scene.path("kept")).unwrap();
        scene.write("a", "two");
        assert!(!scene.look(100));
        std::fs::rename(scene.path("kept"), scene.path("a")).unwrap();
        assert_eq!([scene.look(100), scene.look(100)], [false, false]);
    }

    #[test]
    fn an_error_is_told_once_as_long_as_it_lasts() {
        let mut scene = Scene::new();
        let told = |scene: &mut Scene, kind: io::ErrorKind| {
            let seen = scene
                .see(100, vec![(scene.path("a"), Err(kind.into())), (scene.path("b"), Err(NotFound.into()))]);
            assert!(!seen.is_change);
            seen.errors.len()
        };
        assert_eq!([1, 0, 0].map(|_| told(&mut scene, PermissionDenied)), [1, 0, 0]);
        assert!(!scene.look(100));
        assert_eq!(told(&mut scene, PermissionDenied), 1, "another episode");
        assert_eq!(told(&mut scene, NotFound), 0);
    }

    #[test]
    fn files_that_a_reading_did_not_come_to_are_still_watched() {
        let mut scene = Scene::new();
        let mut only = scene.stamps();
        only.remove(&scene.path("b"));
        scene.watch.was_read(only.clone(), false);
        assert_eq!(scene.watch.files().count(), 2);
        scene.watch.was_read(only, true);
        assert_eq!(scene.watch.files().count(), 1);
    }
    #[test]
    fn a_change_that_could_not_be_read_is_none_until_there_is_another() {
        let mut scene = Scene::new();
        scene.write("a", "two");
        assert_eq!([scene.look(0), scene.look(100)], [false, true]);
        scene.watch.gave_up();
        assert_eq!([scene.look(100), scene.look(100), scene.look(100)], [false; 3]);
        scene.write("a", "three");
        assert_eq!([scene.look(0), scene.look(100)], [false, true]);
    }
}
