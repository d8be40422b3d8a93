use std::sync::Arc;

use async_trait::async_trait;
use gateway_aggregate::after;
use gateway_domain::{
    Caller, CallerError, Directory, DownstreamName, DownstreamStatus, Error, Exchange, Generations,
    InternalError, ListKind, Offer, OfferedTool, Page, RawObject, SessionKey, View,
};

use super::{LiveWorkflows, merged::Shown};

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
        match (list, view) {
            (ListKind::Tools, View::All) => self.with_workflows(page, caller, exchange, cursor),
            _ => Ok(page),
        }
    }

    async fn offer(&self, view: &View) -> Offer {
        let offer = self.shared.directory.offer(view).await;
        if *view != View::All || self.offered().definitions.is_empty() {
            return offer;
        }
        Offer { capabilities: with_tools(&offer.capabilities), ..offer }
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
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        self.shared.directory.inner_tool(view, caller, session, name)
    }

    fn flush(&self, downstream: Option<&DownstreamName>) -> usize {
        self.shared.directory.flush(downstream)
    }

    fn has_view(&self, view: &View) -> bool {
        self.shared.directory.has_view(view)
    }

    fn generation(&self, view: &View) -> u64 {
        self.shared.directory.generation(view).saturating_add(self.replaced(view))
    }

    fn generations(&self, view: &View) -> Generations {
        let inner = self.shared.directory.generations(view);
        Generations { tools: inner.tools.saturating_add(self.replaced(view)), ..inner }
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
        match view {
            View::All => self.offered.borrow().number,
            View::Downstream(_) => 0,
        }
    }

    /// A page of the catalogue with the workflows that belong on it: those between the name that it begins after and
    /// the one that the next page begins after.
    fn with_workflows(
        &self,
        page: Page,
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
        let mut shown = offered.visible(&self.shared.outlook(caller, &exchange.session));
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
