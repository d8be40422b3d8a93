use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;
use gateway_domain::{CallerError, DownstreamFault, DownstreamName, Error, Factory, SessionProfile};
use tokio::time::Instant;

use crate::breaker::{Admission, Breaker, Cooldown};

/// When a downstream that cannot be opened is left alone.
#[derive(Debug, Clone)]
pub struct SupervisorConfig {
    /// How many failures in a row; 0 takes the default, 5.
    pub max_consecutive_failures: u32,
    /// How long it is then left alone. `None` or zero begins with 1 s and doubles with each failed probe
    /// up to 15 s, so that a server which is back is used again within 16 s.
    pub broken_cooldown: Option<Duration>,
}

impl Default for SupervisorConfig {
    fn default() -> Self {
        Self { max_consecutive_failures: 5, broken_cooldown: None }
    }
}

/// A factory that stops calling its delegate once that has failed too often. Safe for concurrent
/// use; while healthy, creations run side by side.
#[derive(Debug)]
pub struct SupervisedFactory<F> {
    name: DownstreamName,
    delegate: F,
    breaker: Mutex<Breaker>,
}

impl<F: Factory> SupervisedFactory<F> {
    /// Supervises `delegate`, which opens sessions to the downstream `name`.
    pub fn new(name: DownstreamName, delegate: F, config: &SupervisorConfig) -> Self {
        let limit = match config.max_consecutive_failures {
            0 => SupervisorConfig::default().max_consecutive_failures,
            limit => limit,
        };
        let cooldown = match config.broken_cooldown {
            Some(fixed) if !fixed.is_zero() => Cooldown::Fixed(fixed),
            _ => Cooldown::Growing(Duration::from_secs(1), Duration::from_secs(15)),
        };
        Self { name, delegate, breaker: Mutex::new(Breaker::new(limit, cooldown)) }
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        // The breaker is consistent between any two of its methods.
        self.breaker.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[async_trait]
impl<F: Factory> Factory for SupervisedFactory<F> {
    type Session = F::Session;

    async fn create(&self, profile: &SessionProfile) -> Result<F::Session, Error> {
        let admission = self.breaker().admit(Instant::now()).map_err(|refusal| {
            DownstreamFault::Broken { retry_in: refusal.retry_in, reason: refusal.reason }.before(&self.name)
        })?;
        let mut attempt = Attempt { factory: self, admission: Some(admission) };
        let created = self.delegate.create(profile).await;
        match &created {
            Ok(_) => attempt.succeeded(),
            Err(Error::Caller(CallerError::Cancelled)) => {}
            Err(error) => attempt.failed(error),
        }
        created
    }

    async fn wound_up(&self) {
        self.delegate.wound_up().await;
    }
}

/// A creation in progress. Dropped without an outcome, as when its caller gives up, it counts for
/// nothing (R-W5).
struct Attempt<'a, F: Factory> {
    factory: &'a SupervisedFactory<F>,
    admission: Option<Admission>,
}

impl<F: Factory> Attempt<'_, F> {
    fn succeeded(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.factory.breaker().succeeded(admission);
        }
    }

    fn failed(&mut self, error: &Error) {
        if let Some(admission) = self.admission.take() {
            // Whoever reports it names the downstream.
            let reason = match error {
                Error::Downstream(error) => error.fault.to_string(),
                error => error.to_string(),
            };
            self.factory.breaker().failed(admission, reason, Instant::now());
        }
    }
}

impl<F: Factory> Drop for Attempt<'_, F> {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.factory.breaker().abandoned(admission, Instant::now());
        }
    }
}
