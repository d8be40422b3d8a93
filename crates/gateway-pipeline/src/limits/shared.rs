use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gateway_domain::{
    Call, Caller, CallerError, DownstreamName, Grants, NAMESPACE_SEPARATOR, Subject, Target, TaskAct, View,
};
use tokio::time::Instant;

use super::{
    buckets::Buckets,
    config::LimitsConfig,
    places::{NoPlace, Place, Places, Room},
};

/// What all stages of one gateway share: who has called how often, and what is going on.
#[derive(Debug)]
pub struct Limits {
    config: LimitsConfig,
    /// Whether there is any bound on rates.
    has_rates: bool,
    rates: Mutex<Spent>,
    callers: Arc<Places<Caller>>,
    tools: Arc<Places<Tool>>,
    downstreams: Arc<Places<DownstreamName>>,
}

/// A tool of a downstream, or a workflow.
pub(super) type Tool = (Option<DownstreamName>, Arc<str>);

#[derive(Debug)]
struct Spent {
    callers: Buckets<Caller>,
    caller_tools: Buckets<(Caller, Tool)>,
    tools: Buckets<Tool>,
    downstreams: Buckets<DownstreamName>,
    task_polls: Buckets<Caller>,
}

/// Leave to make a call, until it is dropped.
#[derive(Debug)]
pub(super) struct Leave {
    _caller: Option<Place<Caller>>,
    _tool: Option<Place<Tool>>,
    _downstream: Option<Place<DownstreamName>>,
}

/// What a call falls under.
#[derive(Debug)]
struct Scope<'a> {
    caller: &'a Caller,
    tool: Option<Tool>,
    downstream: Option<&'a DownstreamName>,
    /// Whether it is about a task and makes no work.
    is_poll: bool,
}

impl Limits {
    /// Nothing has been called yet.
    pub fn new(config: LimitsConfig) -> Self {
        let max = config.max_buckets;
        let has_rates = !config.rates.is_none();
        let spent = Spent {
            callers: Buckets::new(max),
            caller_tools: Buckets::new(max),
            tools: Buckets::new(max),
            downstreams: Buckets::new(max),
            task_polls: Buckets::new(max),
        };
        Self {
            config,
            has_rates,
            rates: Mutex::new(spent),
            callers: Places::new(),
            tools: Places::new(),
            downstreams: Places::new(),
        }
    }

    /// Takes the token that a call costs its caller, whatever it is for and whether there is such a thing. Once for each
    /// call, before anything is looked up for it. It is not given back if the call is refused later on.
    pub(super) fn count(&self, call: &Call) -> Result<(), CallerError> {
        if !self.has_rates {
            return Ok(());
        }
        let (caller, rates) = (&call.caller, &self.config.rates);
        let mut spent = self.spent();
        let (buckets, of, limit) = match is_poll(&call.target) {
            true => (&mut spent.task_polls, "about tasks", &rates.task_polls),
            false => (&mut spent.callers, "of this caller", &rates.caller),
        };
        let (now, rate) = (Instant::now(), || limit.bound(|| caller.to_string()));
        refuse([(of, buckets.wait(caller, now, || identity(caller), rate))])?;
        buckets.take(caller, now, rate);
        Ok(())
    }

    /// Takes the other tokens and the places that a call needs; waits, bounded, for places. Cancel-safe: places are given
    /// back, tokens are not.
    pub(super) async fn admit(&self, call: &Call) -> Result<Leave, CallerError> {
        let scope = Scope::of(call);
        let now = Instant::now();
        self.spend(&scope, now)?;
        self.enter(&scope, now + self.config.max_wait).await
    }

    /// Takes a token of each bucket, or of none.
    fn spend(&self, scope: &Scope<'_>, now: Instant) -> Result<(), CallerError> {
        if !self.has_rates || scope.is_poll {
            return Ok(());
        }
        self.spent().call(scope, &self.config, now)
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        // Every critical section leaves it consistent.
        self.rates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no place is taken or waited for.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.callers.len() + self.tools.len() + self.downstreams.len() == 0
    }

    /// Whether what some token grants is kept with a bucket.
    #[cfg(test)]
    pub(super) fn keeps_grants(&self) -> bool {
        let spent = self.spent();
        let pairs = spent.caller_tools.keys().map(|(caller, _)| caller);
        let mut callers = spent.callers.keys().chain(spent.task_polls.keys()).chain(pairs);
        callers.any(|caller| caller.grants().is_some_and(|grants| !grants.claims.is_empty()))
    }

    /// From the caller's place on to the downstream's, so that who waits for a downstream is in nobody else's way.
    async fn enter(&self, scope: &Scope<'_>, deadline: Instant) -> Result<Leave, CallerError> {
        let at_once = &self.config.at_once;
        let room = |limit: usize| Room { limit, queue: self.config.queue, deadline };
        let too_many =
            |what: &'static str, limit: usize| move |NoPlace| CallerError::Overloaded { what, limit };
        let limit = scope.downstream.and_then(|_| at_once.caller.bound(|| scope.caller.to_string()));
        let caller = match limit {
            Some(limit) => {
                let place = self.callers.enter(scope.caller.clone(), scope.caller, room(limit)).await;
                Some(place.map_err(too_many("calls of this caller", limit))?)
            }
            None => None,
        };
        let tool = match scope.tool.as_ref().and_then(|tool| Some((tool, at_once.tool.bound(|| name(tool))?)))
        {
            Some((tool, limit)) => {
                let place = self.tools.enter(tool.clone(), scope.caller, room(limit)).await;
                Some(place.map_err(too_many("calls of this tool", limit))?)
            }
            None => None,
        };
        let limited = scope.downstream.and_then(|d| Some((d, at_once.downstream.bound(|| d.to_string())?)));
        let downstream = match limited {
            Some((downstream, limit)) => {
                let place = self.downstreams.enter(downstream.clone(), scope.caller, room(limit)).await;
                Some(place.map_err(too_many("calls of this downstream", limit))?)
            }
            None => None,
        };
        Ok(Leave { _caller: caller, _tool: tool, _downstream: downstream })
    }
}

impl Spent {
    fn call(&mut self, scope: &Scope<'_>, config: &LimitsConfig, now: Instant) -> Result<(), CallerError> {
        let (caller, rates) = (scope.caller, &config.rates);
        let of_caller_tool = |tool: &Tool| rates.caller_tool.bound(|| name(tool));
        let of_tool = |tool: &Tool| rates.tool.bound(|| name(tool));
        let of_downstream = |downstream: &DownstreamName| rates.downstream.bound(|| downstream.to_string());
        let pair = scope.tool.clone().map(|tool| (caller.clone(), tool));

        let own_tool = pair.as_ref().and_then(|pair| {
            let kept = || (identity(caller), pair.1.clone());
            self.caller_tools.wait(pair, now, kept, || of_caller_tool(&pair.1))
        });
        let tool = scope
            .tool
            .as_ref()
            .and_then(|tool| self.tools.wait(tool, now, || tool.clone(), || of_tool(tool)));
        let downstream =
            scope.downstream.and_then(|d| self.downstreams.wait(d, now, || d.clone(), || of_downstream(d)));
        refuse([
            ("of this tool by this caller", own_tool),
            ("of this tool", tool),
            ("of this downstream", downstream),
        ])?;

        if let Some(pair) = &pair {
            self.caller_tools.take(pair, now, || of_caller_tool(&pair.1));
            self.tools.take(&pair.1, now, || of_tool(&pair.1));
        }
        if let Some(downstream) = scope.downstream {
            self.downstreams.take(downstream, now, || of_downstream(downstream));
        }
        Ok(())
    }
}

impl<'a> Scope<'a> {
    fn of(call: &'a Call) -> Self {
        let (downstream, subject) = match &call.target {
            Target::Downstream { downstream, subject } => (Some(downstream), subject),
            Target::Exposed { view: View::Downstream(downstream), subject } => (Some(downstream), subject),
            Target::Exposed { view: View::All | View::Profile(_), subject } => (None, subject),
        };
        let tool = match subject {
            Subject::Tool { name, .. } => Some((downstream.cloned(), name.clone())),
            _ => None,
        };
        Self { caller: &call.caller, tool, downstream, is_poll: is_poll(&call.target) }
    }
}

fn is_poll(target: &Target) -> bool {
    let (Target::Downstream { subject, .. } | Target::Exposed { subject, .. }) = target;
    matches!(subject, Subject::Task { act: TaskAct::Get | TaskAct::Cancel, .. })
}

/// Refuses for the longest of the waits, of several for the first.
fn refuse<const N: usize>(waits: [(&'static str, Option<Duration>); N]) -> Result<(), CallerError> {
    let waits = waits.into_iter().filter_map(|(of, wait)| Some((of, wait.filter(|wait| !wait.is_zero())?)));
    match waits.rev().max_by_key(|(_, wait)| *wait) {
        Some((of, retry_in)) => Err(CallerError::RateLimited { of, retry_in }),
        None => Ok(()),
    }
}

/// The same caller without what its token grants, which is not to be kept.
fn identity(caller: &Caller) -> Caller {
    match (caller.client_name(), caller.issuer_and_subject()) {
        (Some(name), _) => Caller::client(name),
        (None, Some((issuer, subject))) => Caller::user(issuer, subject, Grants::default()),
        (None, None) => Caller::anonymous(),
    }
}

fn name((downstream, tool): &Tool) -> String {
    match downstream {
        Some(downstream) => format!("{downstream}{NAMESPACE_SEPARATOR}{tool}"),
        None => tool.to_string(),
    }
}
