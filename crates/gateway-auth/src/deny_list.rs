use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use tokio::{sync::watch, time::sleep};

use crate::{
    claims::Verified,
    files,
    reason::{Failure, Reason},
};

/// Bytes of the file.
const FILE_LIMIT: usize = 1024 * 1024;
/// Entries of the file.
const ENTRY_LIMIT: usize = 10_000;

/// Tokens and subjects that are refused though they have not expired: JWTs live until `exp` otherwise.
#[derive(Debug)]
pub(crate) struct DenyList {
    path: PathBuf,
    entries: ArcSwapOption<Entries>,
    is_ready: watch::Sender<bool>,
    /// So that a bad file is told once, and its end.
    is_failing: AtomicBool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Entries {
    ids: HashSet<Box<str>>,
    subjects: HashSet<Box<str>>,
}

impl DenyList {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            entries: ArcSwapOption::empty(),
            is_ready: watch::Sender::default(),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Whether a token may pass; nobody may before the file has been read.
    pub(crate) fn check(&self, token: &Verified) -> Result<(), Failure> {
        let entries = self.entries.load();
        let Some(entries) = entries.as_ref() else {
            return Err(Failure::Unknown("the deny list has not been read yet".into()));
        };
        let subject = token.caller.issuer_and_subject().map(|(_, subject)| subject);
        let is_denied = token.id.as_deref().is_some_and(|id| entries.ids.contains(id))
            || subject.is_some_and(|subject| entries.subjects.contains(subject));
        if is_denied { Err(Reason::Denied.into()) } else { Ok(()) }
    }

    /// Waits until the file has been read once. Cancel-safe.
    pub(crate) async fn ready(&self) {
        let mut is_ready = self.is_ready.subscribe();
        // The sender lives as long as `self`.
        let _ = is_ready.wait_for(|is_ready| *is_ready).await;
    }

    pub(crate) fn is_ready(&self) -> bool {
        *self.is_ready.borrow()
    }

    /// Reads the file, now and again, for ever.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            match self.read().await {
                Ok(entries) => {
                    self.entries.store(Some(Arc::new(entries)));
                    self.is_ready.send_replace(true);
                    if self.is_failing.swap(false, Ordering::Relaxed) {
                        tracing::info!("the deny list of tokens can be used again");
                    }
                }
                Err(reason) if !self.is_failing.swap(true, Ordering::Relaxed) => {
                    tracing::error!(%reason, "the deny list of tokens cannot be used; the last good one stays");
                }
                Err(_) => {}
            }
            sleep(files::LOOK_EVERY).await;
        }
    }

    async fn read(&self) -> Result<Entries, String> {
        let text = files::read(self.path.clone(), FILE_LIMIT).await?;
        let text = std::str::from_utf8(&text).map_err(|_| "it is not UTF-8")?;
        Entries::parse(text)
    }
}

impl Entries {
    /// Reads lines `jti VALUE` and `sub VALUE`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut entries = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let set = match line.split_once(' ') {
                Some(("jti", id)) => Some((&mut entries.ids, id)),
                Some(("sub", subject)) => Some((&mut entries.subjects, subject)),
                _ => None,
            };
            let (set, value) = set.ok_or_else(|| format!("line {} is no entry", number + 1))?;
            set.insert(value.trim().into());
            if entries.ids.len() + entries.subjects.len() > ENTRY_LIMIT {
                return Err(format!("it has more than {ENTRY_LIMIT} entries"));
            }
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_on_lines_of_their_own() {
        let entries = Entries::parse("# gone\n\n jti a b \r\nsub  ann\nsub bob\n").unwrap();
        let set = |words: &[&str]| words.iter().map(|word| (*word).into()).collect::<HashSet<Box<str>>>();
        assert_eq!(entries, Entries { ids: set(&["a b"]), subjects: set(&["ann", "bob"]) });
        for (text, line) in [("jti", 1), ("sub a\nann", 2), ("# x\n\nJTI a", 3)] {
            assert_eq!(Entries::parse(text), Err(format!("line {line} is no entry")), "{text}");
        }
    }

    #[test]
    fn there_are_at_most_ten_thousand() {
        let lines =
            |count| (0..count).map(|number| format!("{} {number}\n", ["jti", "sub"][number % 2])).collect();
        let of = |count| Entries::parse(&Vec::from_iter::<[String; 1]>([lines(count)]).concat());
        assert!(of(10_000).is_ok());
        assert_eq!(of(10_001), Err("it has more than 10000 entries".into()));
    }
}
