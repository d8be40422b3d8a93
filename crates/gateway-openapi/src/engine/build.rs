use std::{
    borrow::Cow,
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
    gate::Gates,
    names,
    response::{Fields, Presenter},
    tool::{Parts, define},
};
use crate::ir::{Method, Operation, Skipped};

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
    /// By method and path, `GET /pets`, or by the id of an operation. Where there are both, what the former says of
    /// something goes before what the latter says of it.
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
    /// What is configured for an operation cannot be done, so that it cannot be offered.
    #[error("{operation} cannot be offered: {reason}")]
    Operation {
        /// Its method and path.
        operation: String,
        /// Why not.
        reason: String,
    },
}

/// Makes one tool of each operation, in their order (E-35).
///
/// # Errors
/// Names that are configured cannot be had, or arguments are configured that an operation does not have.
pub fn build(
    operations: impl IntoIterator<Item = Operation>,
    config: &BuildConfig,
) -> Result<Vec<Tool>, BuildError> {
    let built = build_some(operations.into_iter().collect(), config, &Gates::default())?;
    match built.refused.into_iter().next() {
        None => Ok(built.tools),
        Some(Skipped { method, path, reason, .. }) => {
            Err(BuildError::Operation { operation: format!("{method} {path}"), reason })
        }
    }
}

/// Tools, and the operations that cannot be offered as they are configured.
pub(crate) struct Built {
    pub(crate) tools: Vec<Tool>,
    pub(crate) refused: Vec<Skipped>,
}

/// [`build`] for operations that change: one that is not as configured does not take the others with it. Tools that
/// were there before keep their gates.
pub(crate) fn build_some(
    operations: Vec<Operation>,
    config: &BuildConfig,
    gates: &Gates,
) -> Result<Built, BuildError> {
    let wanted: Vec<_> = operations.iter().map(|operation| config.wanted(operation)).collect();
    let given = operations.iter().zip(&wanted).map(|(operation, wanted)| (operation, wanted.name.as_deref()));
    let names = names(given, &config.naming)?;
    let around = Around { reserved: config.executor.reserved(), gates };
    let mut built = Built { tools: Vec::with_capacity(names.len()), refused: Vec::new() };
    for ((operation, wanted), name) in operations.into_iter().zip(&wanted).zip(names) {
        match config.tool(&name, operation, wanted, &around) {
            Ok(tool) => built.tools.push(tool),
            Err(refused) => built.refused.push(refused),
        }
    }
    Ok(built)
}

/// What all tools have in common besides their configuration.
struct Around<'a> {
    reserved: Reserved,
    gates: &'a Gates,
}

impl BuildConfig {
    fn wanted(&self, operation: &Operation) -> Cow<'_, Override> {
        static NOTHING: LazyLock<Override> = LazyLock::new(Override::default);
        if self.overrides.is_empty() {
            return Cow::Borrowed(&NOTHING);
        }
        let by_path = self.overrides.get(&format!("{} {}", operation.method, operation.path));
        match (by_path, self.overrides.get(&operation.id)) {
            (Some(by_path), Some(by_id)) => Cow::Owned(by_path.or(by_id)),
            (one, other) => Cow::Borrowed(one.or(other).unwrap_or(&NOTHING)),
        }
    }

    fn tool(
        &self,
        name: &str,
        operation: Operation,
        wanted: &Override,
        around: &Around<'_>,
    ) -> Result<Tool, Skipped> {
        let inputs = Inputs::new(&operation, &around.reserved, &wanted.arguments, self.max_schema_bytes);
        refuse_strangers(inputs.strangers(), &operation)?;
        let mut notes = [&operation.notes[..], inputs.notes()].concat();
        if let Some(given) = wanted.name.as_deref().filter(|given| *given != name) {
            notes.push(format!("it is not called `{given}`: another operation is"));
        }
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
        let rate = wanted.rate_limit.unwrap_or(self.limit);
        let gate = around.gates.gate(&operation, rate, wanted.max_concurrent.unwrap_or(self.max_concurrent));
        Ok(Tool::new(Parts {
            definition,
            inputs,
            notes,
            executor: Arc::clone(&self.executor),
            gate,
            audit: self.audit.clone(),
            timeout: wanted.timeout.or(self.timeout).unwrap_or_else(|| self.executor.timeout()),
            presenter,
            operation,
        }))
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

/// What was to be hidden or fixed may have another name by now, and would then be in the hands of the model.
fn refuse_strangers(strangers: &[String], operation: &Operation) -> Result<(), Skipped> {
    if strangers.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = strangers.iter().map(|name| format!("`{name}`")).collect();
    Err(Skipped {
        method: operation.method.to_string(),
        path: operation.path.clone(),
        id: Some(operation.id.clone()),
        reason: format!("arguments are configured that it does not have: {}", names.join(", ")),
    })
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
