use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use gateway_domain::Secret;

use super::{
    config::{NamedSecret, RedactorConfig, RedactorError},
    redactor::{Redactor, is_usable},
    stage::RedactSettings,
};

/// A redactor that learns secrets while it is used. Whoever shares it sees what it knows now.
///
/// What it knew once it knows until it is dropped, within bounds: a secret that was replaced may still be valid, and
/// stand in what a server remembers.
#[derive(Debug)]
pub struct LiveRedactor {
    current: ArcSwap<Redaction>,
    /// Held while another redactor is made, so that none is lost.
    known: Mutex<Known>,
}

/// What is redacted now. Immutable.
#[derive(Debug)]
pub struct Redaction {
    /// What finds it.
    pub redactor: Redactor,
    /// Where it is looked for.
    pub settings: RedactSettings,
}

#[derive(Debug, Clone)]
pub(super) struct Known {
    config: RedactorConfig,
    /// Of configurations before; the oldest first.
    former: VecDeque<NamedSecret>,
    /// Found out while running; what was met last is not among the first.
    learnt: VecDeque<Secret>,
}

impl LiveRedactor {
    /// How many secrets are kept that the configuration had once, and as many that were learnt. The oldest go first,
    /// of what was learnt those that nobody has met again for long.
    pub const MOST: usize = 1000;

    /// Compiles what is to be found at first.
    ///
    /// # Errors
    /// As [`Redactor::new`].
    pub fn new(config: RedactorConfig, settings: RedactSettings) -> Result<Self, RedactorError> {
        let known = Known { config, former: VecDeque::new(), learnt: VecDeque::new() };
        let current = Redaction { redactor: known.redactor()?, settings };
        Ok(Self { current: ArcSwap::from_pointee(current), known: Mutex::new(known) })
    }

    /// What is redacted now: for one thing that passes, not to be kept.
    pub fn current(&self) -> Arc<Redaction> {
        self.current.load_full()
    }

    /// Takes another configuration on. Secrets of the one before, and what was learnt, stay known. Blocks while it
    /// compiles.
    ///
    /// # Errors
    /// As [`Redactor::new`]; then everything stays as it was.
    pub fn replace(&self, config: RedactorConfig, settings: RedactSettings) -> Result<(), RedactorError> {
        let mut known = self.lock();
        let mut next = known.clone();
        next.forget(config);
        let redactor = next.redactor()?;
        self.current.store(Arc::new(Redaction { redactor, settings }));
        *known = next;
        Ok(())
    }

    /// Has a secret found from now on, such as a token that was fetched. One that is too short for it, a part of the
    /// mark, or known already changes nothing. Blocks while it compiles: some milliseconds if it knows hundreds.
    pub fn learn(&self, value: &str) {
        self.learn_all([value]);
    }

    /// As [`Self::learn`], for secrets that come together, which are compiled together.
    pub fn learn_all<'a>(&self, values: impl IntoIterator<Item = &'a str>) {
        let mut known = self.lock();
        let mut fresh: Vec<&str> = Vec::new();
        for value in values {
            let is_new = !known.meets(value) && !fresh.contains(&value);
            if is_new && is_usable(value, known.config.min_secret_bytes) {
                fresh.push(value);
            }
        }
        if fresh.is_empty() {
            return;
        }
        let mut next = known.clone();
        fresh.iter().for_each(|value| next.keep_learnt(value));
        match next.redactor() {
            Ok(redactor) => {
                let settings = self.current.load().settings;
                self.current.store(Arc::new(Redaction { redactor, settings }));
                *known = next;
            }
            Err(error) => tracing::error!(%error, "a secret that was found out is not redacted"),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        // It is replaced as a whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Redaction {
    /// What is to be found in what clients send; `None`: nothing.
    pub fn of_arguments(&self) -> Option<&Redactor> {
        Some(&self.redactor).filter(|redactor| self.settings.arguments && !redactor.is_empty())
    }

    /// What is to be found in what clients are sent; `None`: nothing.
    pub fn of_results(&self) -> Option<&Redactor> {
        Some(&self.redactor).filter(|redactor| self.settings.results && !redactor.is_empty())
    }
}

impl Known {
    /// Takes a configuration on; what only the one before had is former.
    fn forget(&mut self, config: RedactorConfig) {
        let before = std::mem::replace(&mut self.config, config);
        let is_there =
            |secret: &NamedSecret, among: &[NamedSecret]| among.iter().any(|one| one.value == secret.value);
        self.former.retain(|secret| !is_there(secret, &self.config.secrets));
        for secret in before.secrets {
            let is_long = secret.value.expose().len() >= self.config.min_secret_bytes;
            if is_long
                && !is_there(&secret, &self.config.secrets)
                && !is_there(&secret, self.former.make_contiguous())
            {
                add(&mut self.former, secret);
            }
        }
    }

    /// Adds a secret, which is not looked for before another redactor is made.
    pub(super) fn keep_learnt(&mut self, value: &str) {
        add(&mut self.learnt, Secret::new(value));
    }

    /// Whether it is known. What was learnt is then among the younger half: as long as it is used, others are
    /// forgotten.
    fn meets(&mut self, value: &str) -> bool {
        let is_it = |secret: &Secret| secret.expose() == value;
        if let Some(at) = self.learnt.iter().rposition(is_it) {
            if at < self.learnt.len() / 2
                && let Some(secret) = self.learnt.remove(at)
            {
                self.learnt.push_back(secret);
            }
            return true;
        }
        self.config.secrets.iter().chain(&self.former).any(|secret| is_it(&secret.value))
    }

    fn redactor(&self) -> Result<Redactor, RedactorError> {
        let learnt = |value: &Secret| NamedSecret { name: "a credential".to_owned(), value: value.clone() };
        let mut config = self.config.clone();
        config.secrets.extend(self.former.iter().cloned().chain(self.learnt.iter().map(learnt)));
        Redactor::new(config)
    }
}

fn add<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() >= LiveRedactor::MOST {
        all.pop_front();
    }
    all.push_back(one);
}
