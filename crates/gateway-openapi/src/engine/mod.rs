//! Tools out of operations (seed 002). Knows neither sources nor MCP clients.

#[cfg(test)]
mod arbitrary;
mod arguments;
mod client;
mod extras;
mod hooks;
mod inputs;
mod limits;
mod names;
mod naming;
mod outcome;
mod overrides;
pub mod request;

pub use client::{ClientError, HttpClient, ResponseBody};
pub use extras::{Extras, Reserved};
pub use hooks::{AnnotateFunc, Annotations, AuditEvent, AuditFunc, ShapeFunc};
pub use inputs::{Inputs, MAX_SCHEMA_BYTES, bundle, input_schema};
pub use limits::RateLimit;
pub use names::{NameError, names};
pub use naming::Naming;
pub use outcome::{CallError, Response};
pub use overrides::{AnnotationOverride, Argument, Override};
pub use request::{BaseUrl, BaseUrlError};
