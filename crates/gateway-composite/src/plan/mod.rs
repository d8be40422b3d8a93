//! A workflow that is ready to run: its definition kept every rule, and everything in it that can be compiled is.

mod check;

use std::{sync::Arc, time::Duration};

use gateway_domain::{RawJson, RawObject};

use crate::{
    definition::{DefinitionErrors, Handler, OnError, OutputType, WorkflowDefinition},
    schema::Schema,
    template::{Template, Tree},
};

/// A workflow that can run.
#[derive(Debug)]
pub struct Workflow {
    pub(crate) definition: Arc<WorkflowDefinition>,
    pub(crate) parameters: Option<Schema>,
    /// In the order of the file.
    pub(crate) vars: Vec<(Arc<str>, Tree)>,
    /// In the order of the file.
    pub(crate) steps: Vec<Arc<PlannedStep>>,
    pub(crate) output: Option<PlannedOutput>,
    pub(crate) timeout: Duration,
}

/// One step.
#[derive(Debug)]
pub(crate) struct PlannedStep {
    pub(crate) id: Arc<str>,
    /// The places of the steps that it waits for.
    pub(crate) needs: Vec<usize>,
    pub(crate) condition: Option<Template>,
    pub(crate) act: Act,
    pub(crate) on_error: OnError,
    pub(crate) timeout: Duration,
    pub(crate) default_results: Option<RawObject>,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Act {
    Call(PlannedCall),
    Ask(PlannedQuestion),
    ForEach(Arc<PlannedLoop>),
}

#[derive(Debug)]
pub(crate) struct PlannedCall {
    /// As it is written.
    pub(crate) tool: Arc<str>,
    pub(crate) arguments: Tree,
}

#[derive(Debug)]
pub(crate) struct PlannedQuestion {
    pub(crate) message: Template,
    /// As the client is shown it.
    pub(crate) requested: RawObject,
    pub(crate) schema: Schema,
    pub(crate) on_decline: Handler,
    pub(crate) on_cancel: Handler,
}

#[derive(Debug)]
pub(crate) struct PlannedLoop {
    pub(crate) collection: Tree,
    pub(crate) item_var: Arc<str>,
    pub(crate) max_parallel: usize,
    pub(crate) max_iterations: u32,
    pub(crate) call: PlannedCall,
    pub(crate) condition: Option<Template>,
    pub(crate) on_error: OnError,
    pub(crate) timeout: Option<Duration>,
    pub(crate) default_results: Option<RawObject>,
}

#[derive(Debug)]
pub(crate) struct PlannedOutput {
    pub(crate) properties: Vec<PlannedProperty>,
    pub(crate) required: Vec<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct PlannedProperty {
    pub(crate) name: Arc<str>,
    pub(crate) kind: OutputType,
    pub(crate) value: PlannedValue,
    pub(crate) default: Option<RawJson>,
}

#[derive(Debug)]
pub(crate) enum PlannedValue {
    Template(Template),
    Properties(Vec<PlannedProperty>),
}

impl Workflow {
    /// Checks a definition by every rule (C-29 to C-41) and compiles it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn compile(definition: WorkflowDefinition) -> Result<Self, DefinitionErrors> {
        check::compile(definition)
    }

    /// What its author wrote.
    pub fn definition(&self) -> &Arc<WorkflowDefinition> {
        &self.definition
    }

    /// Whether it may ask the user something itself (C-40).
    pub fn asks(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.act, Act::Ask(_)))
    }

    /// The tools it calls, as they are written, inner steps of loops included, each with the id of its step (C-6).
    pub fn tools(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.steps.iter().filter_map(|step| match &step.act {
            Act::Call(call) => Some((&step.id, &call.tool)),
            Act::ForEach(each) => Some((&step.id, &each.call.tool)),
            Act::Ask(_) => None,
        })
    }
}
