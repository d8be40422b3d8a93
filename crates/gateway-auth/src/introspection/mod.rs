//! Tokens that only the authorization server can tell about (RFC 7662).

mod endpoint;
mod flights;

use std::{sync::Arc, time::Duration};

use gateway_domain::RawObject;
use tokio::time::Instant;

pub(crate) use self::endpoint::{Endpoint, EndpointFigures, authorization};
use self::flights::Flights;
use crate::{
    Clock, IntrospectionConfig, IssuerConfig,
    claims::{self, Demands, Verified},
    reason::{Failure, Reason},
    remembered::{Memory, TokenHash},
};

type Verdict = Result<Arc<Verified>, Failure>;

/// Asks one authorization server, once for each token at a time, and remembers the answers for a while.
#[derive(Debug)]
pub(crate) struct Introspection {
    endpoint: Endpoint,
    answers: Memory<Answer>,
    flights: Flights<Verdict>,
    demands: Demands,
    active_for: Duration,
    inactive_for: Duration,
    clock: Clock,
}

#[derive(Debug, Clone)]
struct Answer {
    verdict: Result<Arc<Verified>, Reason>,
    until: Instant,
}

impl Introspection {
    pub(crate) fn new(
        config: &IntrospectionConfig,
        endpoint: Endpoint,
        remembered: usize,
        clock: Clock,
    ) -> Self {
        Self {
            endpoint,
            answers: Memory::new(remembered),
            flights: Flights::new(config.concurrency.saturating_mul(33)),
            demands: Demands { expiry: false, audience: config.require_audience },
            active_for: config.active_for,
            inactive_for: config.inactive_for,
            clock,
        }
    }

    /// What the issuer says of a token, now or a short while ago. Cancel-safe: whoever waits for the same goes on.
    pub(crate) async fn check(&self, token: &str, issuer: &IssuerConfig) -> Verdict {
        let hash = TokenHash::of(&issuer.issuer, token);
        if let Some(verdict) = self.remembered(&hash) {
            return verdict;
        }
        let flight = self.flights.board(hash).ok_or_else(|| {
            Failure::Unknown(format!("too many tokens of {} wait for introspection", issuer.issuer))
        })?;
        flight.outcome(|| self.ask(token, hash, issuer)).await
    }

    pub(crate) fn figures(&self) -> EndpointFigures {
        self.endpoint.figures()
    }

    fn remembered(&self, hash: &TokenHash) -> Option<Verdict> {
        let answer = self.answers.get(hash)?;
        if answer.until <= Instant::now() {
            self.answers.forget(hash);
            return None;
        }
        Some(answer.verdict.map_err(Failure::Bad))
    }

    async fn ask(&self, token: &str, hash: TokenHash, issuer: &IssuerConfig) -> Verdict {
        let asked = Instant::now();
        let members = self.endpoint.ask(token).await.map_err(Failure::Unknown)?;
        let now = self.clock.since_epoch();
        let verdict = self.judge(members, issuer, now);
        let (verdict, time) = match verdict {
            Ok((verified, time)) => (Ok(Arc::new(verified)), time),
            Err(reason) => (Err(reason), self.inactive_for),
        };
        self.answers.put(hash, Answer { verdict: verdict.clone(), until: asked + time });
        verdict.map_err(Failure::Bad)
    }

    /// The verdict, and how long a good one stands.
    fn judge(
        &self,
        members: RawObject,
        issuer: &IssuerConfig,
        now: Duration,
    ) -> Result<(Verified, Duration), Reason> {
        match members.get("active").map(|active| active.to_bool()) {
            Some(Some(true)) => {}
            Some(Some(false)) => return Err(Reason::Inactive),
            Some(None) | None => return Err(Reason::Claim),
        }
        let left = claims::expiry(&members)?.map_or(self.active_for, |expiry| expiry.saturating_sub(now));
        let verified = Verified::read(members, issuer, self.demands, now)?;
        Ok((verified, left.min(self.active_for)))
    }
}
