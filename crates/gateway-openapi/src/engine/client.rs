use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

/// What carries requests to the API: by default HTTP over the network, or the handlers of a router in the same process
/// (requirements 4c).
///
/// A client sends a request at most once, follows no redirect, takes no proxy from the environment and decodes nothing.
///
/// ```
/// use std::sync::Arc;
///
/// use bytes::Bytes;
/// use gateway_domain::RawObject;
/// use gateway_openapi::{
///     engine::{
///         BaseUrl, BuildConfig, CallContext, ClientError, Executor, ExecutorConfig, HttpClient, ResponseBody, build,
///     },
///     ir::{Method, Operation},
/// };
/// use http_body_util::{BodyExt, Full};
///
/// /// What serves the API's own clients, its middleware included.
/// #[derive(Debug)]
/// struct Router;
///
/// impl Router {
///     async fn handle(&self, request: http::Request<Bytes>) -> http::Response<Full<Bytes>> {
///         match (request.method().as_str(), request.uri().path()) {
///             ("GET", "/v1/pets") => http::Response::new(Full::from("Rex, Tom")),
///             _ => unreachable!("no other operation is offered"),
///         }
///     }
/// }
///
/// #[async_trait::async_trait]
/// impl HttpClient for Router {
///     async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<ResponseBody>, ClientError> {
///         let response = self.handle(request).await;
///         Ok(response.map(|body| body.map_err(|never| match never {}).boxed_unsync()))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let base = BaseUrl::parse("http://in.process/v1")?;
/// let executor = Executor::new(ExecutorConfig::new(base, Arc::new(Router)));
/// let operations = [Operation::new("list_pets", Method::Get, "/pets")];
/// let tools = build(operations, &BuildConfig::new(Arc::new(executor)))?;
/// let result = tools[0].call(&RawObject::empty(), &CallContext::default()).await;
/// assert_eq!(result.as_str(), r#"{"content":[{"type":"text","text":"Rex, Tom"}]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait HttpClient: Send + Sync + fmt::Debug {
    /// Sends one request and returns the head of what comes back. Cancel-safe: dropping the future, or the body, gives
    /// the request up. The caller bounds the time.
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<ResponseBody>, ClientError>;

    /// Whether the API can be reached, without asking it anything: a connection is made and closed.
    async fn reach(&self) -> Result<(), ClientError> {
        Ok(())
    }
}

/// The body of an answer, as it arrives.
pub type ResponseBody = UnsyncBoxBody<Bytes, ClientError>;

/// Why no answer came, or not all of it. Says nothing of hosts, addresses and URLs: it is shown to models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ClientError {
    /// In a few words: "connection refused".
    pub reason: String,
    /// Whether the request provably was not sent.
    pub is_unsent: bool,
}
