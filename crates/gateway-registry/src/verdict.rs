use gateway_domain::{DownstreamFault, Error};

use crate::breaker::Failure;

/// What the outcome of a request says about the downstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It answers. A JSON-RPC error is an answer (R-W2).
    Alive,
    /// It does not, or not properly.
    Failing(Failure),
    /// Its session has ended, which for a process that is killed is no sign of a fault.
    Ended,
    /// Nothing: the caller's doing, the operator's, or the gateway's.
    Nothing,
}

impl Verdict {
    pub(crate) fn of<T>(result: &Result<T, Error>) -> Self {
        match result {
            Ok(_) => Self::Alive,
            Err(Error::Downstream(error)) => Self::on(&error.fault),
            Err(_) => Self::Nothing,
        }
    }

    /// Whether a sign of life that was asked for has not come. A session that has ended is no longer asked.
    pub(crate) fn is_silence(self, is_open: bool) -> bool {
        match self {
            Self::Failing(failure) => failure != Failure::RateLimited,
            Self::Ended => is_open,
            Self::Alive | Self::Nothing => false,
        }
    }

    fn on(fault: &DownstreamFault) -> Self {
        use DownstreamFault as Fault;
        match fault {
            Fault::Unreachable { .. } | Fault::Handshake { .. } | Fault::Nonsense { .. } => {
                Self::Failing(Failure::Hard)
            }
            Fault::Status { status: 429 } => Self::Failing(Failure::RateLimited),
            Fault::Status { status: 500.. } => Self::Failing(Failure::Hard),
            Fault::TimedOut { .. } => Self::Failing(Failure::Slow),
            Fault::Ended { .. } => Self::Ended,
            // Other statuses say that the request was wrong.
            Fault::Status { .. }
            | Fault::TooLarge { .. }
            | Fault::Unauthorized { .. }
            | Fault::Credentials { .. }
            | Fault::CallerCredentials { .. }
            | Fault::Exhausted { .. }
            | Fault::Broken { .. }
            | Fault::Closed
            | Fault::InputRequired => Self::Nothing,
        }
    }
}

/// The reason of an error for a place where the downstream is named already.
pub(crate) fn reason(error: &Error) -> String {
    match error {
        Error::Downstream(error) => error.fault.to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gateway_domain::{CallerError, DownstreamName, InternalError};

    use super::*;

    #[test]
    fn each_fault_counts_as_what_it_says_about_the_downstream() {
        use {DownstreamFault as Fault, Verdict as V};
        let reason = String::new;
        let name = DownstreamName::parse("fake").unwrap();
        let rows = [
            (Fault::Unreachable { reason: reason() }, V::Failing(Failure::Hard)),
            (Fault::Handshake { reason: reason() }, V::Failing(Failure::Hard)),
            (Fault::Nonsense { reason: reason() }, V::Failing(Failure::Hard)),
            (Fault::Status { status: 500 }, V::Failing(Failure::Hard)),
            (Fault::Status { status: 503 }, V::Failing(Failure::Hard)),
            (Fault::Status { status: 429 }, V::Failing(Failure::RateLimited)),
            (Fault::Status { status: 404 }, V::Nothing),
            (Fault::TimedOut { after: Duration::ZERO }, V::Failing(Failure::Slow)),
            (Fault::Ended { reason: reason() }, V::Ended),
            (Fault::TooLarge { limit: 1 }, V::Nothing),
            (Fault::Unauthorized { status: 401 }, V::Nothing),
            (Fault::Credentials { reason: reason(), visit: None }, V::Nothing),
            (Fault::CallerCredentials { what: "x" }, V::Nothing),
            (Fault::Exhausted { max: 1 }, V::Nothing),
            (Fault::Broken { retry_in: Duration::ZERO, reason: reason() }, V::Nothing),
            (Fault::Closed, V::Nothing),
            (Fault::InputRequired, V::Nothing),
        ];
        for (fault, expected) in rows {
            let text = fault.to_string();
            assert_eq!(Verdict::of::<()>(&Err(fault.during(&name))), expected, "{text}");
        }
        assert_eq!(Verdict::of(&Ok(())), V::Alive);
        assert_eq!(Verdict::of::<()>(&Err(CallerError::Cancelled.into())), V::Nothing, "R-W5");
        assert_eq!(Verdict::of::<()>(&Err(InternalError { what: "" }.into())), V::Nothing);
    }
}
