use std::sync::atomic::AtomicUsize;

use gateway_protocol::Implementation;
use tracing::{Level, Metadata, Subscriber, span};

use super::*;

/// Counts warnings.
#[derive(Clone, Default)]
struct Log(Arc<AtomicUsize>);

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// How many warnings and drops there are when a server with a queue of one is told two things.
fn told(
    prepare: impl FnOnce(&Link, mpsc::Receiver<Outgoing>) -> Option<mpsc::Receiver<Outgoing>>,
) -> (usize, u64) {
    let mut config = StdioConfig::new(vec!["x".into()], Implementation::new("g", "G", "1"));
    config.write_queue = 1;
    let (link, outgoing) = Link::new(DownstreamName::parse("d").unwrap(), &config);
    let _kept = prepare(&link, outgoing);
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        link.tell(b"{}".to_vec());
        link.tell(b"{}".to_vec());
    });
    (log.0.load(Ordering::SeqCst), link.dropped())
}

#[test]
fn what_is_dropped_warns_of_a_server_that_does_not_read_and_not_of_one_that_is_ended() {
    assert_eq!(told(|_, outgoing| Some(outgoing)), (1, 1), "it does not read");
    let closing = |link: &Link, outgoing| {
        link.close(DownstreamFault::Closed);
        Some(outgoing)
    };
    assert_eq!(told(closing), (0, 1), "it is being closed");
    let closed = |link: &Link, _| {
        link.close(DownstreamFault::Closed);
        None
    };
    assert_eq!(told(closed), (0, 2), "its stdin is closed");
    assert_eq!(told(|_, _| None), (0, 2), "its writer was taken away");
}
