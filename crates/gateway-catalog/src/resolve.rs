use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Call, CallerError, Directory, Dispatcher, Error, OfferedTool, Outcome, Subject, Target, TaskSupport, View,
};

use crate::LiveCatalog;

/// The *resolve* stage: finds the downstream and its own name for a name that clients are shown, by
/// looking it up, never by splitting it (design §4).
#[derive(Debug)]
pub struct Resolve<D> {
    catalog: LiveCatalog,
    inner: D,
}

impl<D: Dispatcher> Resolve<D> {
    /// Resolves by `catalog` what `inner` then dispatches.
    pub fn new(catalog: LiveCatalog, inner: D) -> Self {
        Self { catalog, inner }
    }

    async fn find(&self, view: &View, call: &Call, name: &str) -> Result<Option<Arc<OfferedTool>>, Error> {
        let Call { caller, exchange, .. } = call;
        if let Some(found) = self.catalog.tool(view, caller, &exchange.session, name) {
            return Ok(Some(found));
        }
        if let Some(found) = self.catalog.resolve_private(view, caller, exchange, name).await {
            return found;
        }
        // A client that remembers a list from before may call before the downstream is there.
        if !self.catalog.listed(view, name).await? {
            self.catalog.patience(view).await;
        }
        Ok(self.catalog.tool(view, caller, &exchange.session, name))
    }
}

#[async_trait]
impl<D: Dispatcher> Dispatcher for Resolve<D> {
    async fn dispatch(&self, mut call: Call) -> Result<Outcome, Error> {
        if let Target::Exposed { view, subject: Subject::Tool { name, .. } } = &call.target {
            let Some(offered) = self.find(view, &call, name).await? else {
                return Err(CallerError::UnknownTool { name: name.to_string() }.into());
            };
            let (name, headers) = (offered.tool.original().clone(), offered.headers.clone());
            let subject = Subject::Tool { name, headers, task: TaskSupport::Forbidden };
            call.target = Target::Downstream { downstream: offered.downstream.clone(), subject };
        }
        self.inner.dispatch(call).await
    }
}
