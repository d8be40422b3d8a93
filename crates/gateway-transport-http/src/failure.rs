use std::{error::Error as StdError, fmt::Write};

use gateway_domain::{DownstreamFault, DownstreamName, Error, Execution};
use hyper_util::client::legacy;

/// A fault of the endpoint, and whether the request may have been carried out.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: DownstreamFault,
    pub(crate) execution: Execution,
}

impl Failure {
    /// For a request that was provably not sent or not taken.
    pub(crate) fn before(fault: DownstreamFault) -> Self {
        Self { fault, execution: Execution::NotStarted }
    }

    /// For a request that may have been carried out.
    pub(crate) fn during(fault: DownstreamFault) -> Self {
        Self { fault, execution: Execution::Possible }
    }

    pub(crate) fn nonsense(reason: impl ToString) -> Self {
        Self::during(DownstreamFault::Nonsense { reason: reason.to_string() })
    }

    pub(crate) fn ended(reason: impl ToString) -> Self {
        Self::during(DownstreamFault::Ended { reason: reason.to_string() })
    }

    /// For a request that was refused, with this status, because the server does not know its session.
    pub(crate) fn unknown_session(status: u16) -> Self {
        let reason = format!("it no longer knows the session (HTTP status {status})");
        Self::before(DownstreamFault::Ended { reason })
    }

    /// Whether the server is only busy or away, so that the same may be asked for again later.
    pub(crate) fn passes(&self) -> bool {
        match self.fault {
            DownstreamFault::Ended { .. } => self.execution == Execution::Possible,
            DownstreamFault::Status { status } => matches!(status, 408 | 425 | 429 | 500 | 502..),
            DownstreamFault::Unreachable { .. } | DownstreamFault::TimedOut { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn of(self, downstream: &DownstreamName) -> Error {
        match self.execution {
            Execution::NotStarted => self.fault.before(downstream),
            Execution::Possible => self.fault.during(downstream),
        }
    }
}

/// What the client reports before an answer has begun.
///
/// A pooled connection that the server closed while it was idle gives the request back unwritten; the client
/// then tries another one by itself, and only then. Anything else counts as possibly carried out.
impl From<legacy::Error> for Failure {
    fn from(error: legacy::Error) -> Self {
        let reason = chain(&error);
        if error.is_connect() {
            return Self::before(DownstreamFault::Unreachable { reason });
        }
        match error.source().and_then(|source| source.downcast_ref::<hyper::Error>()) {
            // hyper says "canceled" only of a request that it hands back.
            Some(source) if source.is_canceled() => Self::before(DownstreamFault::Unreachable { reason }),
            Some(source) if source.is_parse() => Self::nonsense(reason),
            _ => Self::ended(reason),
        }
    }
}

/// What the client reports once an answer has begun.
impl From<hyper::Error> for Failure {
    fn from(error: hyper::Error) -> Self {
        Self::ended(format_args!("its connection broke in the middle of an answer: {}", chain(&error)))
    }
}

fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {source}");
        next = source.source();
    }
    text
}
