use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{AnnotateFunc, AuditFunc, Executor, NameError, Naming, Override, RateLimit, ShapeFunc, Tool};
use crate::ir::Operation;

/// How operations become tools (E-34). Only the executor is needed.
#[derive(Clone)]
pub struct BuildConfig {
    /// What calls the API.
    pub executor: Arc<Executor>,
    /// In place of [`super::default_shape`]; then answers of all media types are text.
    pub shape: Option<ShapeFunc>,
    /// Who hears of calls.
    pub audit: Option<AuditFunc>,
    /// Changes annotations before [`Override::annotations`] does.
    pub annotator: Option<AnnotateFunc>,
    /// How often each tool may be called. Default: no limit.
    pub limit: RateLimit,
    /// What names look like.
    pub naming: Naming,
    /// By the id of an operation, or by method and path: `GET /pets`.
    pub overrides: BTreeMap<String, Override>,
    /// The longest text of an answer, in bytes, notice included (E-33). Zero: no limit but that of an answer's body.
    /// Default 256 KiB.
    pub max_response_bytes: usize,
    /// The largest input or output schema of a tool, in bytes. Default 32 KiB.
    pub max_schema_bytes: usize,
    /// Whether tools have output schemas. Default true.
    pub output_schemas: bool,
    /// How long a call may take, if that is not [`super::ExecutorConfig::timeout`].
    pub timeout: Option<Duration>,
    /// The most calls of a tool at once; more are refused. Default 32.
    pub max_concurrent: usize,
}

impl BuildConfig {
    /// Everything as it is by default.
    pub fn new(executor: Arc<Executor>) -> Self {
        Self {
            executor,
            shape: None,
            audit: None,
            annotator: None,
            limit: RateLimit::default(),
            naming: Naming::default(),
            overrides: BTreeMap::new(),
            max_response_bytes: 256 << 10,
            max_schema_bytes: 32 << 10,
            output_schemas: true,
            timeout: None,
            max_concurrent: 32,
        }
    }
}

impl std::fmt::Debug for BuildConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuildConfig").field("overrides", &self.overrides).finish_non_exhaustive()
    }
}

/// Why no tools can be made. For the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A name that is configured cannot be had.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Makes one tool of each operation, in their order (E-35).
///
/// # Errors
/// Names that are configured cannot be had.
pub fn build(
    _operations: impl IntoIterator<Item = Operation>,
    _config: &BuildConfig,
) -> Result<Vec<Tool>, BuildError> {
    Ok(Vec::new())
}

/// A server that tools can be added to, for embedders.
pub trait ToolServer {
    /// Offers one more tool.
    fn add(&mut self, tool: Tool);
}

/// Adds all of them, in their order (E-35).
pub fn register(server: &mut impl ToolServer, tools: impl IntoIterator<Item = Tool>) {
    tools.into_iter().for_each(|tool| server.add(tool));
}
