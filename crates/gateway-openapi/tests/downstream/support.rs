use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_domain::{
    ClientCapabilities, DownstreamName, DownstreamObserver, DownstreamSession, Era, Error, Exchange,
    Factory as _, ListKind, Outcome, Params, RawObject, SessionKey, SessionProfile, Subject,
};
use gateway_openapi::{
    downstream::{ApiConfig, ApiFactory},
    engine::{BaseUrl, ClientError, ExecutorConfig, HttpClient, ResponseBody},
    ir::{Listing, Method, Operation},
    source::{Source, SourceError},
};
use http_body_util::{BodyExt as _, Full};

/// A source whose content and stamp a test changes.
pub(crate) struct Changing {
    content: Mutex<Result<Listing, SourceError>>,
    stamp: AtomicU64,
    pub(crate) loads: AtomicUsize,
    /// Only reading tells on what else it depends.
    pub(crate) learns: AtomicBool,
    /// Nothing is read while somebody has this.
    pub(crate) held: tokio::sync::Mutex<()>,
}

impl Changing {
    pub(crate) fn new(content: impl Into<Listing>) -> Arc<Self> {
        Arc::new(Self {
            content: Mutex::new(Ok(content.into())),
            stamp: AtomicU64::new(1),
            loads: AtomicUsize::new(0),
            learns: AtomicBool::new(false),
            held: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn set(&self, content: Result<Listing, SourceError>) {
        self.set_unnoticed(content);
        self.stamp.fetch_add(1, Relaxed);
    }

    pub(crate) fn set_unnoticed(&self, content: Result<Listing, SourceError>) {
        *self.content.lock().unwrap() = content;
    }

    /// Waits until so many readings have begun.
    pub(crate) async fn is_read(&self, times: usize) {
        while self.loads.load(Relaxed) < times {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl Source for Changing {
    fn name(&self) -> String {
        "the test's".into()
    }

    async fn load(&self) -> Result<Listing, SourceError> {
        self.loads.fetch_add(1, Relaxed);
        drop(self.held.lock().await);
        if self.learns.swap(false, Relaxed) {
            self.stamp.fetch_add(1, Relaxed);
        }
        self.content.lock().unwrap().clone()
    }

    async fn stamp(&self) -> Option<u64> {
        Some(self.stamp.load(Relaxed))
    }
}

/// An API that answers with nothing, not at all, or never.
#[derive(Debug, Default)]
pub(crate) struct FakeApi {
    pub(crate) is_down: AtomicBool,
    pub(crate) hangs: AtomicBool,
    pub(crate) requests: AtomicUsize,
    pub(crate) looks: AtomicUsize,
}

impl FakeApi {
    async fn answer(&self) -> Result<(), ClientError> {
        if self.hangs.load(Relaxed) {
            std::future::pending::<()>().await;
        }
        match self.is_down.load(Relaxed) {
            true => Err(ClientError { reason: "connection refused".into(), is_unsent: true }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl HttpClient for FakeApi {
    async fn send(&self, _: http::Request<Bytes>) -> Result<http::Response<ResponseBody>, ClientError> {
        self.requests.fetch_add(1, Relaxed);
        self.answer().await?;
        let body =
            Full::new(Bytes::from_static(b"{\"a\":1.0}")).map_err(|never| match never {}).boxed_unsync();
        Ok(http::Response::builder().header("content-type", "application/json").body(body).unwrap())
    }

    async fn reach(&self) -> Result<(), ClientError> {
        self.looks.fetch_add(1, Relaxed);
        self.answer().await
    }
}

/// Counts what it hears of the list of tools.
#[derive(Default)]
pub(crate) struct Observer {
    changes: AtomicUsize,
}

impl Observer {
    /// How often the tools have changed since this was last asked.
    pub(crate) fn changes(&self) -> usize {
        self.changes.swap(0, Relaxed)
    }
}

impl DownstreamObserver for Observer {
    fn list_changed(&self, list: ListKind) {
        assert_eq!(list, ListKind::Tools);
        self.changes.fetch_add(1, Relaxed);
    }

    fn session_lost(&self, reason: &str) {
        panic!("a session was lost: {reason}");
    }
}

/// An API as a downstream, with everything around it.
pub(crate) struct Scene {
    pub(crate) source: Arc<Changing>,
    pub(crate) api: Arc<FakeApi>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) factory: ApiFactory,
}

impl Scene {
    pub(crate) fn new(content: impl Into<Listing>, change: impl FnOnce(&mut ApiConfig)) -> Self {
        let (source, api, observer) =
            (Changing::new(content), Arc::<FakeApi>::default(), Arc::<Observer>::default());
        let base = BaseUrl::parse("https://api.example/v1").unwrap();
        let executor = ExecutorConfig::new(base, api.clone());
        let mut config = ApiConfig::new(DownstreamName::parse("shop").unwrap(), source.clone(), executor);
        change(&mut config);
        let factory = ApiFactory::new(config, observer.clone());
        Self { source, api, observer, factory }
    }

    pub(crate) async fn open(&self) -> Result<Arc<dyn DownstreamSession>, Error> {
        self.factory.create(&SessionProfile::default()).await
    }
}

pub(crate) fn get(id: &str) -> Operation {
    Operation::new(id, Method::Get, format!("/{id}"))
}

pub(crate) fn invalid() -> SourceError {
    SourceError::Invalid { source_name: "shop.yaml".into(), reason: "at /paths: it is a number".into() }
}

/// The names on the list, and what is remarked on it.
pub(crate) async fn listed(session: &Arc<dyn DownstreamSession>) -> (Vec<String>, Vec<String>) {
    let page = session.list(ListKind::Tools, None).await.unwrap();
    assert_eq!(page.next_cursor, None);
    (page.items.iter().map(|item| item.get_text("name").unwrap()).collect(), page.skipped)
}

pub(crate) async fn call(
    session: &Arc<dyn DownstreamSession>,
    subject: Subject,
    params: &str,
) -> Result<Outcome, Error> {
    let params = Params { object: RawObject::parse(params.to_owned()).unwrap(), meta: None };
    session.call(&subject, &params, &quiet()).await
}

pub(crate) fn quiet() -> Exchange {
    let key = SessionKey::Legacy { id: "s".into() };
    Exchange::quiet(Era::Modern, key, ClientCapabilities::none())
}

/// Lets so much time pass that everything that looks now and then has looked. For paused clocks.
pub(crate) async fn some_looks() {
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
