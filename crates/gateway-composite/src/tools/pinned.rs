use std::{collections::HashMap, sync::Arc};

use crate::{
    plan::Workflow,
    tools::{Found, RoutingTable, find},
};

/// The tools of a workflow as they were when its run began, by the names that are written in its steps. What happens
/// to a catalogue meanwhile changes neither what a step calls nor how its arguments are read.
#[derive(Debug)]
pub(super) struct Pinned(HashMap<Arc<str>, Option<Found>>);

impl Pinned {
    /// Looks up every tool that the workflow names. Those that are not there now are not there for this run.
    pub(super) fn of(workflow: &Workflow, table: &dyn RoutingTable) -> Self {
        let mut pinned = HashMap::new();
        for (_, written) in workflow.tools() {
            if !pinned.contains_key(written) {
                pinned.insert(written.clone(), find(table, written));
            }
        }
        Self(pinned)
    }

    pub(super) fn find(&self, written: &str) -> Option<Found> {
        self.0.get(written).cloned().flatten()
    }
}
