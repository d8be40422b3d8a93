//! Tools out of operations (seed 002). Knows neither sources nor MCP clients.

#[cfg(test)]
mod arbitrary;
mod arguments;
mod build;
mod client;
mod context;
mod credentials;
mod executor;
mod extras;
mod gate;
mod hooks;
mod inputs;
mod limits;
mod names;
mod naming;
mod network;
mod outcome;
mod overrides;
pub mod request;
mod response;
mod tool;

pub(crate) use build::build_some;
pub use build::{BuildConfig, BuildError, ToolServer, build, register};
pub use client::{ClientError, HttpClient, ResponseBody};
pub use context::CallContext;
pub use credentials::{
    ClientAuthentication, ClientCredentials, Credential, CredentialError, Credentials, Secret,
};
pub use executor::{Executor, ExecutorConfig};
pub use extras::{Extras, Reserved};
pub(crate) use gate::Gates;
pub use hooks::{AnnotateFunc, Annotations, AuditEvent, AuditFunc, ShapeFunc, log_audit};
pub use inputs::{Inputs, MAX_SCHEMA_BYTES, bundle, input_schema};
pub use limits::RateLimit;
pub use names::{NameError, names};
pub use naming::Naming;
pub use network::{ClientConfig, ClientConfigError, NetworkClient};
pub use outcome::{CallError, Response};
pub use overrides::{AnnotationOverride, Argument, Override};
pub use request::{BaseUrl, BaseUrlError};
pub use response::default_shape;
pub use tool::Tool;
