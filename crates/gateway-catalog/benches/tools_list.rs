//! What a page of `tools/list` costs once it has been rendered: 10 downstreams with 20 tools each.

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
    Caller, Directory, DownstreamFault, DownstreamName, DownstreamSession, Era, Error, Exchange, Outcome,
    ParamHeader, Params, PeerInfo, RawObject, Session, Tool, ToolPage, View,
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

    async fn call_tool(
        &self,
        _: &str,
        _: &[ParamHeader],
        _: &Params,
        _: &Exchange,
    ) -> Result<Outcome, Error> {
        Err(DownstreamFault::Closed.before(&self.0))
    }

    async fn list_tools(&self, _: Option<&str>) -> Result<ToolPage, Error> {
        Ok(ToolPage { tools: (0..20).map(tool).collect(), next_cursor: None, skipped: Vec::new() })
    }

    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// About 1 KB, as tools of everyday servers are.
fn tool(number: usize) -> Tool {
    let text = "What the tool does, said in words. ".repeat(22);
    let definition = format!(
        r#"{{"name":"get_thing_{number}","description":"{text}","inputSchema":{{"type":"object","properties":{{"id":{{"type":"string"}}}}}}}}"#
    );
    Tool::from_definition(RawObject::parse(definition).expect("JSON")).expect("it has a name")
}

struct AllReady;

#[async_trait]
impl Listings for AllReady {
    async fn session(&self, name: &DownstreamName) -> Result<Arc<dyn DownstreamSession>, Error> {
        let peer = PeerInfo {
            era: Era::Modern,
            protocol: "2026-07-28".into(),
            server: None,
            capabilities: RawObject::empty(),
            instructions: None,
        };
        Ok(Arc::new(Ready(name.clone(), peer)))
    }
}

fn source(number: usize) -> Source {
    Source {
        name: DownstreamName::parse(&format!("server-{number}")).expect("a good name"),
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let config = CatalogConfig { page_size: 200, ..CatalogConfig::default() };
    let caller = Caller::anonymous();
    let catalog = runtime.block_on(async {
        let catalog = LiveCatalog::start(config, Arc::new(AllReady), (0..10).map(source).collect());
        catalog.settled(Duration::from_secs(5)).await;
        let page = catalog.tools(&View::All, Era::Modern, &caller, None).await.expect("the first page");
        assert!(page.tools.as_bytes().len() > 150_000, "200 tools of about 1 KB");
        catalog
    });
    bencher.bench_local(|| {
        let mut page = pin!(catalog.tools(black_box(&View::All), Era::Modern, &caller, None));
        // Nothing is waited for, so the first poll has the page.
        match page.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(page) => page.expect("the first page"),
            Poll::Pending => unreachable!("everything is listed"),
        }
    });
}
