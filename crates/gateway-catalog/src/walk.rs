use std::collections::HashSet;

use gateway_domain::{DownstreamFault, DownstreamName, DownstreamSession, Error, Tool};

use crate::ToolFilter;

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
        self
    }
}

/// Reads all pages of a downstream's tools. A cursor that comes again, more pages or more tools
/// than allowed end the walk with what is there (P-W18).
pub(crate) async fn walk(
    name: &DownstreamName,
    session: &dyn DownstreamSession,
    filter: &ToolFilter,
    bounds: Bounds,
) -> Result<Walk, Error> {
    let mut walk = Walk::default();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..bounds.pages {
        let page = session.list_tools(cursor.as_deref()).await?;
        walk.any |= !page.tools.is_empty();
        walk.tools.extend(page.tools.into_iter().filter(|tool| filter.admits(tool.original())));
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
        return Err(DownstreamFault::Nonsense { reason }.before(name));
    }
    Ok(walk.cut(format!("the list is cut after {} pages", bounds.pages)))
}

/// So many different remarks on one list are kept; a list may be wrong in as many ways as it has entries.
const REMARK_LIMIT: usize = 8;
