//! An API in the same process: a client that hands requests to a function.

use std::{fmt, pin::Pin, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_openapi::engine::{ClientError, HttpClient, ResponseBody};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};

type Answering = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

pub(crate) struct Router(Box<dyn Fn(Request<Bytes>) -> Answering + Send + Sync>);

impl Router {
    pub(crate) fn new<A>(handler: impl Fn(Request<Bytes>) -> A + Send + Sync + 'static) -> Arc<Self>
    where
        A: Future<Output = Response<Bytes>> + Send + 'static,
    {
        Arc::new(Self(Box::new(move |request| Box::pin(handler(request)))))
    }
}

#[async_trait]
impl HttpClient for Router {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        let response = (self.0)(request).await;
        Ok(response.map(|body| Full::new(body).map_err(|never| match never {}).boxed_unsync()))
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Router")
    }
}
