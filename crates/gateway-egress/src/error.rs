use std::time::Duration;

/// Why a request was not answered. Texts are for the operator; none tells an open port from a closed one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The address may not be reached, or the URL is none that is.
    #[error("may not be reached: {reason}")]
    Refused {
        /// The rule.
        reason: &'static str,
    },
    /// No connection came about, or it broke.
    #[error("cannot be reached")]
    Unreachable,
    /// There was no whole answer in time.
    #[error("did not answer within {after:?}")]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// The answer is larger than is read.
    #[error("answered with more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}
