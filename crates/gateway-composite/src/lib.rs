//! Workflows as tools: declarative steps over the tools of any [`Dispatcher`](gateway_domain::Dispatcher).
//!
//! **For**: what the author of a workflow writes, and every rule it has to keep, checked when it is loaded; the
//! template language, whose expressions keep types; the composer that runs workflows, each step as soon as its own
//! dependencies are done; the tools that clients are shown for them; and the stage that puts both in front of a
//! catalogue (requirements C-1 to C-79, C-W1 to C-W24).
//!
//! **Must not know**: transports, HTTP, how a session is made, MCP framing. A step's call goes to a dispatcher as the
//! caller's own call would, with the run named as its origin.

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
pub use error::{StepError, TemplateError, WorkflowError};
pub use live::{LiveWorkflows, Remark, WorkflowStatus};
pub use observe::{LogObserver, Observer, RunEvent, RunEventKind};
pub use plan::Workflow;
pub use run::{Composer, ComposerConfig, Run, RunContext, Turn, WorkflowResult};
pub use state::{MemoryStore, RunRecord, RunStatus, StateError, StateStore, StepRecord, StepStatus};
pub use tools::{
    Definitions, DuplicateWorkflow, RoutingTable, SessionTools, ToolNameConflict,
    convert_workflow_defs_to_tools, filter_workflow_defs_for_session, validate_no_tool_conflicts,
};
