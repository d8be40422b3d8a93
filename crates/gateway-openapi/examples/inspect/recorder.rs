use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use gateway_domain::RawObject;
use gateway_openapi::engine::{CallContext, ClientError, HttpClient, ResponseBody, Tool};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};

use crate::sample;

/// An API that takes everything, and remembers the last request.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Option<Request<Bytes>>>);

/// What came of calling every tool once.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) made: usize,
    /// For which no arguments were found that fit: schemas may ask for anything.
    pub(crate) unmade: Vec<String>,
    pub(crate) faults: Vec<String>,
}

#[async_trait]
impl HttpClient for Recorder {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        *self.last() = Some(request);
        let empty = Empty::new().map_err(|never: std::convert::Infallible| match never {});
        Ok(Response::new(empty.boxed_unsync()))
    }
}

impl Recorder {
    /// Calls each tool with what its schema needs, and looks at what arrives.
    pub(crate) async fn call_all(&self, tools: &[Tool]) -> Calls {
        let mut calls = Calls::default();
        for tool in tools {
            let schema = tool.definition().input_schema();
            let arguments =
                schema.and_then(|schema| RawObject::parse(sample::arguments(schema.as_str())).ok());
            let result = tool.call(&arguments.unwrap_or_default(), &CallContext::default()).await;
            let name = tool.definition().name();
            match self.last().take() {
                Some(request) => {
                    calls.made += 1;
                    calls.faults.extend(fault(tool, &request).map(|fault| format!("{name}: {fault}")));
                }
                None => calls.unmade.push(format!("{name}: {}", result.as_str())),
            }
        }
        calls
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<Request<Bytes>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What is wrong with where a request went.
fn fault(tool: &Tool, request: &Request<Bytes>) -> Option<String> {
    let operation = tool.operation();
    let (uri, path) = (request.uri(), request.uri().path());
    let expected = format!("/base{}", operation.path);
    let is_there = uri.scheme_str() == Some("https")
        && uri.authority().is_some_and(|authority| authority == "api.example")
        && path.starts_with("/base/")
        && path.split('/').count() == expected.split('/').count()
        && !path.contains(['{', '}'])
        && request.method() == operation.method.as_str();
    (!is_there)
        .then(|| format!("{} {} arrived as {} {uri}", operation.method, operation.path, request.method()))
}
