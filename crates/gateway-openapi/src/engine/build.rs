use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
    time::Duration,
};

use gateway_domain::{JsonKind, RawJson};

use super::{
    AnnotateFunc, Annotations, AuditFunc, Executor, Inputs, MAX_SCHEMA_BYTES, NameError, Naming, Override,
    RateLimit, Reserved, ShapeFunc, Tool,
    arguments::Checker,
    bundle,
    gate::Gate,
    names,
    response::{Fields, Presenter},
    tool::{Parts, define},
};
use crate::ir::{Method, Operation};

/// How operations become tools (E-34). Only the executor is needed.
#[derive(Clone)]
pub struct BuildConfig {
    /// What calls the API.
    pub executor: Arc<Executor>,
    /// In place of [`super::default_shape`]; then answers of all media types are text and nothing else (E-32).
    pub shape: Option<ShapeFunc>,
    /// Who hears of calls.
    pub audit: Option<AuditFunc>,
    /// Changes annotations before [`Override::annotations`] does.
    pub annotator: Option<AnnotateFunc>,
    /// How often each tool may be called. Default: no limit.
    pub limit: RateLimit,
    /// What names look like.
    pub naming: Naming,
    /// By method and path, `GET /pets`, or else by the id of an operation.
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
            max_schema_bytes: MAX_SCHEMA_BYTES,
            output_schemas: true,
            timeout: None,
            max_concurrent: 32,
        }
    }
}

/// Shows no values of arguments: they may be secrets.
impl fmt::Debug for BuildConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildConfig")
            .field("executor", &self.executor)
            .field("limit", &self.limit)
            .field("naming", &self.naming)
            .field("overrides", &self.overrides.keys())
            .finish_non_exhaustive()
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
    operations: impl IntoIterator<Item = Operation>,
    config: &BuildConfig,
) -> Result<Vec<Tool>, BuildError> {
    let operations: Vec<_> = operations.into_iter().collect();
    let wanted: Vec<_> = operations.iter().map(|operation| config.wanted(operation)).collect();
    let given = operations.iter().zip(&wanted).map(|(operation, wanted)| (operation, wanted.name.as_deref()));
    let names = names(given, &config.naming)?;
    let reserved = config.executor.reserved();
    let parts = operations.into_iter().zip(wanted).zip(names);
    Ok(parts.map(|((operation, wanted), name)| config.tool(&name, operation, wanted, &reserved)).collect())
}

impl BuildConfig {
    fn wanted(&self, operation: &Operation) -> &Override {
        static NOTHING: LazyLock<Override> = LazyLock::new(Override::default);
        if self.overrides.is_empty() {
            return &NOTHING;
        }
        let by_path = || self.overrides.get(&format!("{} {}", operation.method, operation.path));
        by_path().or_else(|| self.overrides.get(&operation.id)).unwrap_or(&NOTHING)
    }

    fn tool(&self, name: &str, operation: Operation, wanted: &Override, reserved: &Reserved) -> Tool {
        let inputs = Inputs::new(&operation, reserved, &wanted.arguments, self.max_schema_bytes);
        let mut notes = inputs.notes().to_vec();
        let output = self.output(&operation, wanted, &mut notes);
        let annotations = self.annotations(&operation, wanted);
        let definition = define(name, &operation, wanted, &annotations, inputs.schema(), output.as_ref());
        let presenter = Presenter {
            shape: self.shape.clone(),
            max_bytes: wanted.max_response_bytes.unwrap_or(self.max_response_bytes),
            fields: Fields::new(&wanted.fields),
            // The definition's own bytes, so that they are in memory once.
            output: definition.output_schema().map(Checker::new),
            uri: format!("api:{}", operation.id),
        };
        Tool::new(Parts {
            definition,
            inputs,
            notes,
            executor: Arc::clone(&self.executor),
            gate: Gate::new(
                wanted.rate_limit.unwrap_or(self.limit),
                wanted.max_concurrent.unwrap_or(self.max_concurrent),
            ),
            audit: self.audit.clone(),
            timeout: wanted.timeout.or(self.timeout).unwrap_or_else(|| self.executor.timeout()),
            presenter,
            operation,
        })
    }

    /// What is left of an answer with some fields is not what the API's schema says, a shape shows no value, and an
    /// answer to HEAD is empty.
    fn output(&self, operation: &Operation, wanted: &Override, notes: &mut Vec<String>) -> Option<RawJson> {
        let is_wanted = wanted.output_schema.unwrap_or(self.output_schemas);
        let is_whole = wanted.fields.is_empty() && self.shape.is_none() && operation.method != Method::Head;
        let schema = operation.output.as_ref().filter(|_| is_wanted && is_whole)?;
        if schema.kind() != JsonKind::Object {
            // `true` and `false` are schemas too, but not for MCP.
            notes.push(format!("no output schema: it is no object but `{schema}`"));
            return None;
        }
        let bundled = bundle(schema, &operation.definitions, self.max_schema_bytes);
        if bundled.is_none() {
            notes.push(format!("no output schema: it has more than {} bytes", self.max_schema_bytes));
        }
        bundled
    }

    fn annotations(&self, operation: &Operation, wanted: &Override) -> Annotations {
        let derived = Annotations::of(operation);
        let annotations = match &self.annotator {
            Some(annotator) => annotator(operation, derived),
            None => derived,
        };
        annotations.overridden(wanted.title.as_deref(), wanted.annotations)
    }
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
