use std::sync::Arc;

use async_trait::async_trait;
use gateway_aggregate::after;
use gateway_domain::{
    Act, Caller, CallerError, Decision, Directory, DownstreamName, DownstreamStatus, Error, Exchange,
    Generations, InternalError, ListKind, Offer, OfferedTool, Origin, Page, RawObject, SessionKey, View,
};

use super::{LiveWorkflows, merged::Shown};
use crate::plan::Workflow;

/// Workflows stand among the tools of `/mcp`, in the order of names over everything. They are tools of no downstream:
/// whoever looks for an [`OfferedTool`] is given none.
#[async_trait]
impl Directory for LiveWorkflows {
    async fn list(
        &self,
        list: ListKind,
        view: &View,
        caller: &Caller,
        exchange: &Exchange,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        let page = self.shared.directory.list(list, view, caller, exchange, cursor).await?;
        match (list, view.downstream()) {
            (ListKind::Tools, None) => self.with_workflows(page, view, caller, exchange, cursor),
            _ => Ok(page),
        }
    }

    async fn offer(&self, view: &View) -> Offer {
        self.offering(view, self.shared.directory.offer(view).await)
    }

    async fn offer_to(&self, view: &View, caller: &Caller) -> Offer {
        self.offering(view, self.shared.directory.offer_to(view, caller).await)
    }

    fn tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        self.shared.directory.tool(view, caller, session, name)
    }

    fn inner_tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        origin: &Origin,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        self.shared.directory.inner_tool(view, caller, session, origin, name)
    }

    fn workflow(&self, view: &View, caller: &Caller, name: &str) -> Option<Decision> {
        self.shared.directory.workflow(view, caller, name)
    }

    fn also_called(&self, view: &View, act: Act, name: &str) -> Vec<String> {
        self.shared.directory.also_called(view, act, name)
    }

    fn flush(&self, downstream: Option<&DownstreamName>) -> usize {
        self.shared.directory.flush(downstream)
    }

    fn has_view(&self, view: &View) -> bool {
        self.shared.directory.has_view(view)
    }

    /// On a profile of which nothing else is left there may be workflows.
    fn may_visit(&self, view: &View, caller: &Caller) -> bool {
        let may_call = |workflow: &Arc<Workflow>| {
            let decision = self.shared.directory.workflow(view, caller, &workflow.definition().name);
            decision.is_some_and(Decision::is_allowed)
        };
        self.shared.directory.may_visit(view, caller)
            || self.has_view(view) && self.offered().definitions.iter().any(may_call)
    }

    fn missing_scopes(&self, caller: &Caller, act: Act, names: &[&str]) -> Option<Vec<String>> {
        self.shared.directory.missing_scopes(caller, act, names)
    }

    fn generation(&self, view: &View) -> u64 {
        self.shared.directory.generation(view).saturating_add(self.replaced(view))
    }

    fn generations(&self, view: &View) -> Generations {
        let inner = self.shared.directory.generations(view);
        Generations { tools: inner.tools.saturating_add(self.replaced(view)), ..inner }
    }

    /// Whose workflows are others depends on tools that are on no list: where there are any, all are told.
    fn generations_to(&self, view: &View, caller: &Caller) -> Generations {
        let inner = self.shared.directory.generations_to(view, caller);
        let has_workflows = view.downstream().is_none() && !self.offered().definitions.is_empty();
        let tools = if has_workflows { self.shared.directory.generations(view).tools } else { inner.tools };
        Generations { tools: tools.wrapping_add(self.replaced(view)), ..inner }
    }

    async fn changed(&self, view: &View, seen: u64) -> u64 {
        let mut offered = self.offered.subscribe();
        loop {
            offered.mark_unchanged();
            let inner = self.shared.directory.generation(view);
            let generation = inner.saturating_add(self.replaced(view));
            if generation != seen {
                return generation;
            }
            tokio::select! {
                _ = self.shared.directory.changed(view, inner) => {}
                // The sender is here, so it is not gone.
                _ = offered.changed() => {}
            }
        }
    }

    fn downstreams(&self) -> Vec<DownstreamStatus> {
        self.shared.directory.downstreams()
    }
}

impl LiveWorkflows {
    /// How often the workflows that a view shows have been replaced.
    fn replaced(&self, view: &View) -> u64 {
        match view.downstream() {
            None => self.offered.borrow().number,
            Some(_) => 0,
        }
    }

    /// What a view offers, with workflows if any can be on it.
    fn offering(&self, view: &View, offer: Offer) -> Offer {
        let is_on = |workflow: &Arc<Workflow>| {
            let name = &workflow.definition().name;
            self.shared.directory.workflow(view, &Caller::anonymous(), name).is_some()
        };
        match self.offered().definitions.iter().any(is_on) {
            true => Offer { capabilities: with_tools(&offer.capabilities), ..offer },
            false => offer,
        }
    }

    /// A page of the catalogue with the workflows that belong on it: those between the name that it begins after and
    /// the one that the next page begins after.
    fn with_workflows(
        &self,
        page: Page,
        view: &View,
        caller: &Caller,
        exchange: &Exchange,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        let begin = after(cursor.unwrap_or_default()).map_err(|_| CallerError::InvalidCursor)?;
        let end = match &page.next_cursor {
            Some(cursor) => after(cursor).map_err(|_| InternalError { what: "a cursor names nothing" })?,
            None => None,
        };
        let is_here = |(workflow, _): &Shown| {
            let name = &*workflow.definition().name;
            begin.as_deref().is_none_or(|begin| begin < name) && end.as_deref().is_none_or(|end| name < end)
        };
        let offered = self.offered();
        let mut shown = offered.visible(&self.shared.outlook(view, caller, &exchange.session));
        shown.retain(is_here);
        let items = offered.merged.items(&page, exchange.era, shown);
        Ok(Page { items, ..page })
    }
}

/// The capabilities of a server with tools, whose list may change.
fn with_tools(capabilities: &RawObject) -> RawObject {
    let tools = capabilities.get_object("tools").unwrap_or_default();
    let tools = tools.edit().set("listChanged", "true").finish();
    let edited = capabilities.edit().set("tools", tools.as_bytes()).finish();
    RawObject::try_from(edited).unwrap_or_else(|_| capabilities.clone())
}
