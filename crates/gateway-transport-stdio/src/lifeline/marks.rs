use std::{
    fmt::Write as _,
    io::{self, Read as _},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// What the children of one gateway are marked with.
pub(super) struct Marks {
    run: String,
    given: AtomicU64,
}

impl Marks {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { run: random()?, given: AtomicU64::new(0) })
    }

    /// What all of them begin with.
    pub(super) fn run(&self) -> &str {
        &self.run
    }

    pub(super) fn next(&self) -> String {
        format!("{}-{}", self.run, self.given.fetch_add(1, Ordering::Relaxed))
    }
}

/// What tells a process of this run, or of this child of it, even if it has thrown its environment away: a soft
/// limit on real-time computing (`RLIMIT_RTTIME`), which passes to whatever a process starts, through new
/// sessions and past parents that are gone. As a limit it is without effect: it is more than a hundred thousand
/// years. Its bits are those of [`TAGGED`], then of the run, then of the child.
pub(crate) fn tag(marker: &str) -> Option<u64> {
    let (run, number) = marker.split_once('-')?;
    Some(tag_of_run(run)? | number.parse::<u64>().ok()? & !RUN)
}

/// The part of the tag that all children have.
pub(crate) fn tag_of_run(run: &str) -> Option<u64> {
    let bits = u64::from_str_radix(run.get(..9)?, 16).ok()?;
    Some(TAGGED | bits << 24)
}

const TAGGED: u64 = 1 << 62;

/// The bits of the part that all children have.
pub(crate) const RUN: u64 = !0 << 24;

/// The mark of a child that no lifeline watches; `None` if there are no random bits.
pub(crate) fn unwatched() -> Option<String> {
    static MARKS: OnceLock<Option<Marks>> = OnceLock::new();
    MARKS.get_or_init(|| Marks::new().ok()).as_ref().map(Marks::next)
}

fn random() -> io::Result<String> {
    let mut bits = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bits)?;
    Ok(bits.iter().fold(String::with_capacity(32), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_runs_and_children_apart() {
        let (one, other) = (Marks::new().unwrap(), Marks::new().unwrap());
        let [first, second] = [one.next(), one.next()].map(|marker| tag(&marker).unwrap());
        let foreign = tag(&other.next()).unwrap();
        assert_ne!(first, second);
        assert_eq!((first & RUN, second & RUN), (first & RUN, tag_of_run(one.run()).unwrap()));
        assert_ne!(first & RUN, foreign & RUN);
        // More than a hundred thousand years, in microseconds.
        assert!([first, second, foreign].iter().all(|tag| tag / 1_000_000 > 100_000 * 366 * 24 * 60 * 60));
        assert_eq!(tag("0123456789abcdef0123456789abcdef-7"), Some(1 << 62 | 0x1234_5678 << 24 | 7));
        for bad in ["", "x", "short-1", "0123456789-x", "éééééééééé-1"] {
            assert_eq!(tag(bad), None, "{bad}");
        }
    }
}
