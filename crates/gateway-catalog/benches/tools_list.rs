//! What a page of `tools/list` costs once it has been rendered: 10 downstreams with 20 tools each, and 16 of
//! which one never answers.

#![expect(clippy::expect_used, reason = "a bench has no input but its own")]

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use async_trait::async_trait;
use divan::{Bencher, black_box};
use gateway_catalog::{CatalogConfig, Listings, LiveCatalog, Signal, Source, ToolFilter};
use gateway_domain::{
    Caller, ClientCapabilities, Directory, DownstreamFault, DownstreamName, DownstreamSession, Era, Error,
    Exchange, ListKind, ListPage, Outcome, Params, PeerInfo, RawObject, Session, SessionKey, Subject, View,
};

fn main() {
    divan::main();
}

struct Ready(DownstreamName, PeerInfo);

#[async_trait]
impl Session for Ready {
    async fn close(&self) {}
}

#[async_trait]
impl DownstreamSession for Ready {
    fn peer(&self) -> &PeerInfo {
        &self.1
    }

    async fn call(&self, _: &Subject, _: &Params, _: &Exchange) -> Result<Outcome, Error> {
        Err(DownstreamFault::Closed.before(&self.0))
    }

    async fn list(&self, _: ListKind, _: Option<&str>) -> Result<ListPage, Error> {
        Ok(ListPage { items: (0..20).map(tool).collect(), ..ListPage::default() })
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// About 1 KB, as tools of everyday servers are.
fn tool(number: usize) -> RawObject {
    let text = "What the tool does, said in words. ".repeat(22);
    let definition = format!(
        r#"{{"name":"get_thing_{number}","description":"{text}","inputSchema":{{"type":"object","properties":{{"id":{{"type":"string"}}}}}}}}"#
    );
    RawObject::parse(definition).expect("JSON")
}

/// All are ready but the one of this number.
struct AllReadyBut(Option<usize>);

#[async_trait]
impl Listings for AllReadyBut {
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error> {
        if self.0.is_some_and(|silent| source(silent).name == *name) {
            return std::future::pending().await;
        }
        let peer = PeerInfo {
            era: Era::Modern,
            protocol: "2026-07-28".into(),
            server: None,
            capabilities: RawObject::parse(r#"{"tools":{}}"#).expect("JSON"),
            instructions: None,
        };
        Ok(Arc::new(Ready(name.clone(), peer)))
    }

    async fn session_for(
        &self,
        name: &DownstreamName,
        _: &Exchange,
    ) -> Result<Arc<dyn DownstreamSession>, Error> {
        self.session(name).await
    }
}

fn source(number: usize) -> Source {
    Source {
        name: DownstreamName::parse(&format!("server-{number}")).expect("a good name"),
        address: String::new(),
        is_public: true,
        is_per_caller: false,
        filter: ToolFilter::default(),
        required: false,
        enabled: true,
        mirrors_headers: false,
        list_timeout: Duration::from_secs(10),
        signal: Arc::new(Signal::new()),
    }
}

#[divan::bench]
fn page_of_a_warm_view(bencher: Bencher<'_, '_>) {
    warm_page(bencher, 10, None);
}

#[divan::bench]
fn page_of_16_of_which_one_never_answers(bencher: Bencher<'_, '_>) {
    warm_page(bencher, 16, Some(7));
}

fn warm_page(bencher: Bencher<'_, '_>, downstreams: usize, silent: Option<usize>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let config = CatalogConfig { page_size: 20 * downstreams, ..CatalogConfig::default() };
    let caller = Caller::anonymous();
    let session = SessionKey::Legacy { id: "s".into() };
    let exchange = Exchange::quiet(Era::Modern, session, ClientCapabilities::none());
    let catalog = runtime.block_on(async {
        let sources = (0..downstreams).map(source).collect();
        let catalog = LiveCatalog::start(config, Arc::new(AllReadyBut(silent)), sources);
        let begun = tokio::time::Instant::now();
        let page = catalog
            .list(ListKind::Tools, &View::All, &caller, &exchange, None)
            .await
            .expect("the first page");
        assert!(begun.elapsed() < Duration::from_secs(5), "the first list is answered within the budget");
        let tools = 20 * (downstreams - silent.iter().count());
        assert!(page.items.as_bytes().len() > tools * 750, "{tools} tools of about 1 KB");
        catalog
    });
    bencher.bench_local(|| {
        let mut page = pin!(catalog.list(ListKind::Tools, black_box(&View::All), &caller, &exchange, None));
        // Nothing is waited for, so the first poll has the page.
        match page.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(page) => page.expect("the first page"),
            Poll::Pending => unreachable!("everything is listed that will be"),
        }
    });
}
