//! Tools out of operations (seed 002). Knows neither sources nor MCP clients.

mod client;
mod credentials;
mod extras;
mod hooks;
mod limits;
mod naming;
mod outcome;
mod overrides;

pub use client::{ClientError, HttpClient, ResponseBody};
pub use credentials::{
    ClientAuthentication, ClientCredentials, Credential, CredentialError, Credentials, Secret,
};
pub use extras::{Extras, Reserved};
pub use hooks::{AnnotateFunc, Annotations, AuditEvent, AuditFunc, ShapeFunc};
pub use limits::RateLimit;
pub use naming::Naming;
pub use outcome::{CallError, Response};
pub use overrides::{AnnotationOverride, Argument, Override};
