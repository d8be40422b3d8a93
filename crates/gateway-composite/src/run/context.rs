use std::sync::Arc;

use gateway_domain::{Caller, Exchange, RawObject};

use crate::tools::RoutingTable;

/// For whom a run is, and with what.
#[derive(Clone)]
pub struct RunContext {
    /// Who calls the workflow; its steps call as the same.
    pub caller: Caller,
    /// The circumstances of the call.
    pub exchange: Exchange,
    /// The `_meta` of the call, as the client wrote it.
    pub meta: Option<RawObject>,
    /// What the caller's steps can call. Each tool is looked up once, when the run begins.
    pub tools: Arc<dyn RoutingTable>,
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext").field("caller", &self.caller).finish_non_exhaustive()
    }
}
