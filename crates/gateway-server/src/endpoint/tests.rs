//! What the log says of requests that fail.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gateway_domain::{CallerError, DownstreamName, OperatorError, UnlistedError};
use tracing::{Level, Metadata, Subscriber, span};

use super::*;

/// The levels of what was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Level>>>);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        self.0.lock().unwrap().push(*event.metadata().level());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn a_failure_is_logged_by_whose_it_is_and_one_that_was_known_before_in_detail_only() {
    let files = DownstreamName::parse("files").unwrap();
    let of = |fault: DownstreamFault| fault.before(&files);
    let reason = || "x".to_owned();
    let retry_in = Duration::from_secs(1);
    for (error, expected) in [
        (CallerError::InvalidCursor.into(), None),
        (of(DownstreamFault::Broken { retry_in, reason: reason() }), Some(Level::DEBUG)),
        (of(DownstreamFault::Ended { reason: reason() }), Some(Level::INFO)),
        (of(DownstreamFault::Exhausted { max: 1 }), Some(Level::INFO)),
        (OperatorError::Configuration { reason: reason() }.into(), Some(Level::INFO)),
        (UnlistedError { downstreams: vec![files.clone()] }.into(), Some(Level::INFO)),
        (panicked("x"), Some(Level::ERROR)),
    ] {
        let log = Log::default();
        let id = RequestId::from(1);
        tracing::subscriber::with_default(log.clone(), || failed(&error, &id));
        assert_eq!(log.0.lock().unwrap().first().copied(), expected, "{error}");
    }
}
