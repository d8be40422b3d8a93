use std::{collections::HashMap, sync::Arc};

use super::{Found, RoutingTable, find};
use crate::plan::Workflow;

/// The tools of a workflow, each looked up once, by the names that are written in its steps. Of a run they are as they
/// were when it began: what happens to a catalogue meanwhile changes neither what a step calls nor how its arguments
/// are read.
#[derive(Debug)]
pub(crate) struct Pinned(HashMap<Arc<str>, Option<Found>>);

impl Pinned {
    /// Looks up every tool that the workflow names. Those that are not there now stay so.
    pub(crate) fn of(workflow: &Workflow, table: &dyn RoutingTable) -> Self {
        let mut pinned = HashMap::new();
        for (_, written) in workflow.tools() {
            if !pinned.contains_key(written) {
                pinned.insert(written.clone(), find(table, written));
            }
        }
        Self(pinned)
    }

    /// The tool of this name.
    pub(crate) fn find(&self, written: &str) -> Option<Found> {
        self.get(written).cloned()
    }

    /// The same to look at.
    pub(crate) fn get(&self, written: &str) -> Option<&Found> {
        self.0.get(written)?.as_ref()
    }
}
