//! What the tests of several stages need.

use std::{
    fmt::Debug,
    future::Future,
    pin::Pin,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use gateway_domain::{
    Call, Caller, ClientCapabilities, Dispatcher, Era, Error, Exchange, Outcome, Params, RawObject,
    SessionKey, Subject, Target, View,
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

pub(crate) fn call(name: &str) -> Call {
    call_of(Caller::client("desk"), Subject::tool(name))
}

pub(crate) fn call_of(caller: Caller, subject: Subject) -> Call {
    let session = SessionKey::Legacy { id: "s".into() };
    Call {
        target: Target::Exposed { view: View::All, subject },
        params: Params::empty(),
        follow_up: None,
        caller,
        exchange: Exchange::quiet(Era::Modern, session, ClientCapabilities::none()),
        origin: None,
    }
}

pub(crate) fn complete(result: &str) -> Result<Outcome, Error> {
    Ok(Outcome::Complete(object(result)))
}

pub(crate) fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

type Answering = Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send>>;

/// Answers as it is told, and counts.
pub(crate) struct Fake {
    answer: Box<dyn Fn(Call) -> Answering + Send + Sync>,
    pub(crate) calls: AtomicUsize,
}

impl Fake {
    pub(crate) fn new<F>(answer: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Outcome, Error>> + Send + 'static,
    {
        Self { answer: Box::new(move |call| Box::pin(answer(call))), calls: AtomicUsize::new(0) }
    }

    /// Answers at once.
    pub(crate) fn now(answer: impl Fn(Call) -> Result<Outcome, Error> + Send + Sync + 'static) -> Self {
        Self::new(move |call| std::future::ready(answer(call)))
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Dispatcher for Fake {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        (self.answer)(call).await
    }
}

/// Keeps what is logged: level and message.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Vec<(Level, String)>>);

impl Log {
    pub(crate) fn of(&self, level: Level) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|(of, _)| *of == level).map(|(_, text)| text.clone()).collect()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("gateway_pipeline")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push((*event.metadata().level(), message.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
