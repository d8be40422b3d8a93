//! One tool of an API, and what is heard of its calls.

use std::sync::{Arc, Mutex};

use gateway_domain::RawObject;
use gateway_openapi::{
    engine::{
        AuditEvent, BaseUrl, BuildConfig, CallContext, ClientConfig, Executor, ExecutorConfig, HttpClient,
        NetworkClient, Tool, build,
    },
    ir::{Method, Operation},
};

pub(crate) struct Shop {
    pub(crate) tool: Tool,
    heard: Arc<Mutex<Vec<AuditEvent>>>,
}

impl Shop {
    /// `GET /v1/things`, changed.
    pub(crate) fn new(
        base: &str,
        client: Arc<dyn HttpClient>,
        executor: impl FnOnce(&mut ExecutorConfig),
        tools: impl FnOnce(&mut Operation, &mut BuildConfig),
    ) -> Self {
        let mut config = ExecutorConfig::new(BaseUrl::parse(&format!("{base}/v1")).unwrap(), client);
        executor(&mut config);
        let mut config = BuildConfig::new(Arc::new(Executor::new(config)));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        config.audit = Some(Arc::new(move |event| hearing.lock().unwrap().push(event.clone())));
        let mut operation = Operation::new("things", Method::Get, "/things");
        tools(&mut operation, &mut config);
        Self { tool: build([operation], &config).unwrap().remove(0), heard }
    }

    /// The same over the network.
    pub(crate) fn at(url: &str, tools: impl FnOnce(&mut Operation, &mut BuildConfig)) -> Self {
        let client = NetworkClient::new(ClientConfig::default()).unwrap();
        Self::new(url, Arc::new(client), |_| {}, tools)
    }

    pub(crate) async fn call(&self) -> RawObject {
        self.call_with("{}").await
    }

    pub(crate) async fn call_with(&self, arguments: &str) -> RawObject {
        self.tool.call(&RawObject::parse(arguments.to_owned()).unwrap(), &CallContext::default()).await
    }

    /// The text of a call's result, and whether it is flagged as error.
    pub(crate) async fn said(&self) -> (String, bool) {
        said(&self.call().await)
    }

    /// Status and error of each call so far, 0 and nothing where there was none.
    pub(crate) fn heard(&self) -> Vec<(u16, String)> {
        let error = |event: &AuditEvent| event.error.as_ref().map(ToString::to_string).unwrap_or_default();
        self.events().iter().map(|event| (event.status, error(event))).collect()
    }

    pub(crate) fn events(&self) -> Vec<AuditEvent> {
        self.heard.lock().unwrap().clone()
    }
}

pub(crate) fn said(result: &RawObject) -> (String, bool) {
    let content = result.get("content").and_then(|content| content.elements(1)).unwrap();
    let block = RawObject::try_from(content[0].clone()).unwrap();
    let is_error = result.get("isError").is_some_and(|flag| flag.as_str() == "true");
    (block.get_text("text").unwrap(), is_error)
}
