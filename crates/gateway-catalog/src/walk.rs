use std::{collections::HashSet, time::Duration};

use gateway_domain::{DownstreamFault, DownstreamSession, Era, Error, RawJson, Tool};

use crate::{CatalogConfig, Source};

/// How far a downstream's list is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Pages that are asked for.
    pub(crate) pages: usize,
    /// Tools that are kept; those the filter does not admit are none of them.
    pub(crate) tools: usize,
}

/// A downstream's whole list, as far as it could be read.
#[derive(Default)]
pub(crate) struct Walk {
    /// The tools that the filter admits, in the downstream's order.
    pub(crate) tools: Vec<Tool>,
    /// Why the list is not whole or not as reported, for the operator. At most [`REMARK_LIMIT`].
    remarks: Vec<String>,
    /// How many remarks came after those.
    unsaid: usize,
    /// Whether anything on any page was a tool.
    any: bool,
    /// All definitions, also those the filter does not admit, unless that is too many or not the whole list.
    definitions: Option<Vec<RawJson>>,
    /// The shortest time that any of the pages holds.
    ttl: Option<Duration>,
}

impl Walk {
    /// Why the list is not whole or not as reported; `None` if it is.
    pub(crate) fn reason(&self) -> Option<String> {
        let mut reason = self.remarks.join("; ");
        if self.unsaid > 0 {
            reason.push_str(&format!("; and {} more", self.unsaid));
        }
        Some(reason).filter(|reason| !reason.is_empty())
    }

    fn remark(&mut self, remark: String) {
        if self.remarks.contains(&remark) {
            return;
        }
        match self.remarks.len() < REMARK_LIMIT {
            true => self.remarks.push(remark),
            false => self.unsaid += 1,
        }
    }

    /// Ends the walk early. Why it did is said first, whatever else there is to say.
    fn cut(mut self, why: String) -> Self {
        self.remarks.insert(0, why);
        self.definitions = None;
        self
    }

    /// Whether the downstream gave no tools at all.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// What can be kept for later: the whole list, if it could be read to its end.
    pub(crate) fn take_definitions(&mut self) -> Vec<RawJson> {
        self.definitions.take().unwrap_or_default()
    }

    /// How long the list is fresh: what the downstream says of it, within our own bounds (protocol.md §12).
    pub(crate) fn ttl(&self, config: &CatalogConfig) -> Duration {
        self.ttl.map_or(config.ttl, |ttl| ttl.max(SHORTEST_TTL).min(config.ttl))
    }

    fn take_page(&mut self, tools: Vec<Tool>, source: &Source, limit: usize) {
        self.any |= !tools.is_empty();
        let definitions = self.definitions.take();
        self.definitions = definitions.filter(|known| known.len() + tools.len() <= limit).map(|mut known| {
            known.extend(tools.iter().map(|tool| tool.definition().raw().clone()));
            known
        });
        self.tools.extend(tools.into_iter().filter(|tool| source.filter.admits(tool.original())));
    }
}

/// Reads all pages of a downstream's tools. A cursor that comes again, more pages or more tools
/// than allowed end the walk with what is there (P-W18, G-W1). One that says it has no tools is not asked.
pub(crate) async fn walk(
    source: &Source,
    session: &dyn DownstreamSession,
    bounds: Bounds,
) -> Result<Walk, Error> {
    let mut walk = Walk { definitions: Some(Vec::new()), ..Walk::default() };
    if !session.peer().capabilities.contains("tools") {
        return Ok(walk);
    }
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..bounds.pages {
        let page = session.list_tools(cursor.as_deref()).await?;
        // Legacy revisions have no such member; whatever stands there is something else.
        let ttl = page.ttl.filter(|_| session.peer().era == Era::Modern);
        walk.ttl = [walk.ttl, ttl].into_iter().flatten().min();
        walk.take_page(page.tools, source, bounds.tools);
        page.skipped.into_iter().for_each(|reason| walk.remark(reason));
        if walk.tools.len() > bounds.tools {
            return Ok(walk.cut(format!("the list is cut after {} tools", bounds.tools)));
        }
        let Some(next) = page.next_cursor else { return Ok(walk) };
        if !seen.insert(next.clone()) {
            return Ok(walk.cut("the list is cut: the downstream gave the same cursor twice".into()));
        }
        cursor = Some(next);
    }
    if !walk.any {
        let reason = format!("{} pages of tools without a tool", bounds.pages);
        return Err(DownstreamFault::Nonsense { reason }.before(&source.name));
    }
    Ok(walk.cut(format!("the list is cut after {} pages", bounds.pages)))
}

/// A downstream whose lists hold for less is not asked more often than this.
const SHORTEST_TTL: Duration = Duration::from_secs(1);

/// So many different remarks on one list are kept; a list may be wrong in as many ways as it has entries.
const REMARK_LIMIT: usize = 8;
