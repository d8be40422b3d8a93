use std::sync::Arc;

use gateway_domain::{Caller, Decision, Directory, OfferedTool, SessionKey, View};

use crate::{
    plan::Workflow,
    tools::{Floor, Pinned, SessionTools, contradiction},
};

/// A view of the catalogue as one caller's session sees it.
pub(super) struct Outlook<'a> {
    pub(super) directory: &'a Arc<dyn Directory>,
    pub(super) view: &'a View,
    pub(super) caller: &'a Caller,
    pub(super) session: &'a SessionKey,
}

/// Why a caller is not shown a workflow. What is not shown is not called either (C-23).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hidden {
    /// It is not on the view, or the rules do not let the caller call it.
    Withheld,
    /// Tools of its steps are not there for this caller (C-5): the ids of the steps and the tools as they are
    /// written. Never empty.
    Missing(Vec<(Arc<str>, Arc<str>)>),
    /// It says that it is safer than its tools are (C-22); the sentence says of which.
    Contradiction(String),
    /// A tool has its name, and keeps it (C-18, C-W10).
    Conflict,
}

impl Outlook<'_> {
    /// Whether the caller can use a workflow, and if so what its tools allow to be said of it.
    pub(super) fn of(&self, workflow: &Workflow) -> Result<Option<Floor>, Hidden> {
        let decision = self.directory.workflow(self.view, self.caller, &workflow.definition().name);
        if !decision.is_some_and(Decision::is_allowed) {
            return Err(Hidden::Withheld);
        }
        // Looked at before the tools: it is told of workflows too that contradict their tools (C-19).
        if self.is_taken(&workflow.definition().name) {
            return Err(Hidden::Conflict);
        }
        let tools = Pinned::of(workflow, &self.tools(workflow));
        let missing = workflow.tools().filter(|(_, tool)| tools.get(tool).is_none());
        let missing: Vec<_> = missing.map(|(step, tool)| (step.clone(), tool.clone())).collect();
        if !missing.is_empty() {
            return Err(Hidden::Missing(missing));
        }
        match contradiction(workflow, &tools) {
            Some(sentence) => Err(Hidden::Contradiction(sentence)),
            None => Ok(Floor::of(workflow, &tools)),
        }
    }

    /// The tools that the steps of a workflow can call: of all of `/mcp`, whatever the view.
    pub(super) fn tools(&self, workflow: &Workflow) -> SessionTools {
        let (directory, name) = (self.directory.clone(), &workflow.definition().name);
        SessionTools::new(directory, self.caller.clone(), self.session.clone()).for_workflow(name)
    }

    /// Whether clients are shown a tool of this name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.shown(name).is_some()
    }

    /// The tool that the caller is shown by this name.
    pub(super) fn shown(&self, name: &str) -> Option<Arc<OfferedTool>> {
        self.directory.tool(self.view, self.caller, self.session, name)
    }
}
