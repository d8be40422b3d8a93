//! Workflows as tools: declarative steps over the tools of any [`Dispatcher`](gateway_domain::Dispatcher).
//!
//! **For**: what the author of a workflow writes, and every rule it has to keep, checked when it is loaded; the
//! template language, whose expressions keep types; the composer that runs workflows, each step as soon as its own
//! dependencies are done; the tools that clients are shown for them; and the stage that puts both in front of a
//! catalogue (requirements C-1 to C-79, C-W1 to C-W24).
//!
//! **Must not know**: transports, HTTP, how a session is made, MCP framing. A step's call goes to a dispatcher as the
//! caller's own call would, with the run named as its origin.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use gateway_composite::{
//!     Composer, ComposerConfig, ComposerExecutor, Decorator, Definitions, Workflow, WorkflowDefinition,
//!     WorkflowExecutor, convert_workflow_defs_to_tools,
//! };
//! use gateway_domain::{
//!     Call, Caller, Catalog, CatalogEntry, ClientCapabilities, Dispatcher, Era, Error, Exchange, Outcome, Params,
//!     RawObject, SessionKey, Subject, Target, Tool, View,
//! };
//!
//! /// Answers every call of a tool with the same.
//! struct Clock;
//!
//! #[async_trait::async_trait]
//! impl Dispatcher for Clock {
//!     async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
//!         let result = r#"{"content":[],"structuredContent":{"hour":9}}"#;
//!         Ok(Outcome::Complete(RawObject::parse(result).unwrap_or_default()))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let written = r#"{
//!     "name": "hour", "description": "Tells the hour.",
//!     "steps": [{"id": "now", "tool": "clock__now"}],
//!     "output": {"properties": {
//!         "hour": {"type": "integer", "description": "It.", "value": "{{ steps.now.output.hour }}"}
//!     }}
//! }"#;
//! let definition = WorkflowDefinition::read(&RawObject::parse(written)?, None)?;
//! let workflow = Arc::new(Workflow::compile(definition)?);
//! let tools = convert_workflow_defs_to_tools(&Definitions::of([workflow.clone()])?);
//!
//! let (clock, config) = (Arc::new(Clock), ComposerConfig::default());
//! let composer = Composer::new(config, clock.clone());
//! let catalog = Arc::new(Catalog::new(vec![CatalogEntry::new("clock", Tool::new("now"))])?);
//! let executor = ComposerExecutor::new(composer, workflow, catalog, Duration::from_secs(60));
//! let executor: Arc<dyn WorkflowExecutor> = Arc::new(executor);
//! let session = Decorator::new(clock, tools, [("hour".into(), executor)]);
//!
//! let (caller, can) = (Caller::anonymous(), ClientCapabilities::none());
//! let key = SessionKey::Modern { caller: caller.clone(), capabilities: can.clone() };
//! let call = Call {
//!     target: Target::Exposed { view: View::All, subject: Subject::tool("hour") },
//!     params: Params { object: RawObject::parse(r#"{"name":"hour","arguments":{}}"#)?, meta: None },
//!     follow_up: None,
//!     caller,
//!     exchange: Exchange::quiet(Era::Modern, key, can),
//!     origin: None,
//! };
//! let Outcome::Complete(result) = session.dispatch(call).await? else { panic!("it asks nothing") };
//! assert_eq!(result.get_object("structuredContent").unwrap_or_default().as_str(), r#"{"hour":9}"#);
//! # Ok(())
//! # }
//! ```

mod decorator;
mod definition;
mod error;
mod live;
mod observe;
mod plan;
mod run;
mod schema;
mod state;
mod template;
mod tools;

pub use decorator::{ComposerExecutor, Decorator, Executed, ToolSession, WorkflowExecutor};
pub use definition::{
    Annotations, DefinitionError, DefinitionErrors, ElicitationStep, ErrorAction, ForEachStep, Handler,
    InnerStep, OnError, Output, OutputProperty, OutputType, OutputValue, Step, StepKind, ToolStep,
    WorkflowDefinition,
};
pub use error::{Quota, StepError, TemplateError, WorkflowError};
pub use live::{LiveWorkflows, Remark, WorkflowStatus};
pub use observe::{LogObserver, Observer, RunEvent, RunEventKind, StepEventKind};
pub use plan::Workflow;
pub use run::{Composer, ComposerConfig, Run, RunContext, Turn, WorkflowResult};
pub use state::{MemoryStore, RunRecord, RunStatus, StateError, StateStore, StepRecord, StepStatus};
pub use tools::{
    Definitions, DuplicateWorkflow, RoutingTable, SessionTools, ToolNameConflict,
    convert_workflow_defs_to_tools, filter_workflow_defs_for_session, validate_no_tool_conflicts,
};
