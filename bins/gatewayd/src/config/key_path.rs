//! Where a value stands inside a configuration.

use std::fmt;

/// The way from the top of a configuration to a value: `downstreams.files.command[0]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyPath(Vec<Step>);

/// One step of a [`KeyPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    pub(super) fn new<const N: usize>(keys: [&str; N]) -> Self {
        Self(keys.into_iter().map(|key| Step::Key(key.to_owned())).collect())
    }

    pub(super) fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    pub(super) fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of what holds this value; `None` at the top.
    pub(super) fn parent(&self) -> Option<Self> {
        let (_, rest) = self.0.split_last()?;
        Some(Self(rest.to_vec()))
    }

    /// This path and those around it, innermost first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }

    pub(super) fn from_steps(steps: Vec<Step>) -> Self {
        Self(steps)
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(at) => write!(f, "[{at}]")?,
                Step::Key(key) => {
                    if index > 0 {
                        f.write_str(".")?;
                    }
                    if is_bare(key) { f.write_str(key)? } else { write!(f, "{key:?}")? }
                }
            }
        }
        Ok(())
    }
}

/// Keys that TOML lets stand without quotes.
fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
