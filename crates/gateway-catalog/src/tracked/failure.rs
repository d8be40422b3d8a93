//! What is kept, shown and answered of a downstream whose list could not be read.

use std::time::Duration;

use gateway_domain::{DownstreamFault, DownstreamState, Error};
use tokio::time::Instant;

use super::{Listed, Tracked};

/// Why the last attempt to list a downstream failed. Gone with the next that succeeds.
#[derive(Clone)]
pub(super) struct Failure {
    /// A word for it, as in [`gateway_domain::ListRemark`].
    pub(super) kind: &'static str,
    /// What a call meets whose tool may be on the list that could not be read.
    fault: DownstreamFault,
    at: Instant,
}

/// How far an attempt to list a downstream came before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No session was to be had.
    Opening,
    /// There was a session, and the list was read from it.
    Reading,
}

impl Tracked {
    /// Notes that the downstream could not be listed. Its last list stays, and with one it is no worse than
    /// degraded as long as there are sessions for calls. Gives how soon it is worth another attempt, if that
    /// is known.
    pub(crate) fn fail(&self, error: &Error, stage: Stage) -> Option<Duration> {
        let fault = match error {
            Error::Downstream(error) => Some(&error.fault),
            _ => None,
        };
        // The downstream's name, and that it is broken, stand beside the reason wherever it is shown.
        let (retry_in, reason) = match fault {
            Some(DownstreamFault::Broken { reason, retry_in }) => (Some(*retry_in), reason.clone()),
            Some(fault) => (None, fault.to_string()),
            None => (None, error.to_string()),
        };
        let kind = fault.map_or("gateway", DownstreamFault::kind);
        let told = match fault {
            Some(DownstreamFault::Broken { .. } | DownstreamFault::Unreachable { .. }) => fault.cloned(),
            _ => None,
        };
        let is_unusable = fault.is_some_and(|fault| leaves_no_session(fault, stage));
        let mut listed = self.state();
        listed.fail(kind, told, is_unusable, reason);
        listed.report(self, kind, retry_in.is_some());
        retry_in
    }

    /// Notes that the downstream is left alone for a while.
    pub(crate) fn is_left_alone(&self, reason: String) {
        let mut listed = self.state();
        listed.is_found_broken = true;
        listed.fail(BROKEN, None, true, reason);
        listed.report(self, BROKEN, true);
    }

    /// Notes that the downstream is not left alone any more. Whether it can be listed is another matter.
    pub(crate) fn is_well_again(&self) {
        self.state().is_found_broken = false;
    }

    /// Notes that the gateway itself failed to read the list, which the log tells more about.
    pub(crate) fn break_off(&self, panics: u64) {
        let reason =
            format!("reading its list panicked in the gateway ({panics} times so far); please report it");
        self.state().fail("gateway", None, false, reason);
    }

    /// What a call meets that may be of a tool on this downstream's list, as long as that is not known.
    pub(crate) fn unlisted(&self, now: Instant) -> Option<DownstreamFault> {
        let listed = self.state();
        if listed.is_known || !self.source.enabled {
            return None;
        }
        let unlisted = |reason: &str| DownstreamFault::Unreachable { reason: reason.to_owned() };
        Some(match (&listed.failure, listed.status.state) {
            (Some(failure), _) => failure.told(now),
            (None, DownstreamState::Starting) => unlisted("it is starting and has not been listed yet"),
            (None, _) => unlisted("it has not been listed yet"),
        })
    }

    /// Whether the last attempt to list it has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().failure.is_some()
    }
}

impl Failure {
    fn told(&self, now: Instant) -> DownstreamFault {
        match self.fault.clone() {
            DownstreamFault::Broken { retry_in, reason } => {
                let since = now.saturating_duration_since(self.at);
                DownstreamFault::Broken { retry_in: retry_in.saturating_sub(since), reason }
            }
            fault => fault,
        }
    }
}

impl Listed {
    fn fail(
        &mut self,
        kind: &'static str,
        fault: Option<DownstreamFault>,
        is_unusable: bool,
        reason: String,
    ) {
        // The list is tried again whatever was wrong, so a call is worth trying again as well.
        let fault = fault.unwrap_or_else(|| DownstreamFault::Unreachable { reason: reason.clone() });
        self.failure = Some(Failure { kind, fault, at: Instant::now() });
        let is_usable = self.read_at.is_some() && !is_unusable && !self.is_found_broken;
        // A list that was to be replaced, and was not, is old by that.
        self.outdated |= is_usable;
        self.status.state = if is_usable { DownstreamState::Degraded } else { DownstreamState::Broken };
        self.status.reason = Some(reason);
    }

    fn report(&mut self, tracked: &Tracked, kind: &'static str, is_left_alone: bool) {
        let (downstream, reason) = (&tracked.source.name, self.status.reason.as_deref());
        let admitted = self.warnings.admits(kind, is_left_alone, Instant::now());
        match (admitted, self.status.state) {
            (true, DownstreamState::Broken) => tracing::warn!(%downstream, reason, "downstream broken"),
            (true, _) => {
                tracing::warn!(%downstream, reason, "list of tools could not be read; the one before is shown")
            }
            (false, state) => tracing::debug!(%downstream, %state, reason, "downstream still not listed"),
        }
    }
}

/// Whether calls fare no better than the list did.
fn leaves_no_session(fault: &DownstreamFault, stage: Stage) -> bool {
    use DownstreamFault as F;
    match fault {
        F::Unreachable { .. }
        | F::Ended { .. }
        | F::Handshake { .. }
        | F::Unauthorized { .. }
        | F::Credentials { .. }
        | F::CallerCredentials { .. }
        | F::Broken { .. }
        | F::Closed => true,
        // All are in use, by calls.
        F::Exhausted { .. } => false,
        F::TimedOut { .. }
        | F::Nonsense { .. }
        | F::TooLarge { .. }
        | F::Status { .. }
        | F::InputRequired => stage == Stage::Opening,
    }
}

/// The kind of what its supervision says of a downstream.
const BROKEN: &str = "downstream_broken";
