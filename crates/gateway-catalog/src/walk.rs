use std::collections::HashSet;

use gateway_domain::{DownstreamFault, DownstreamName, DownstreamSession, Error, Tool};

/// A downstream's whole list, as far as it could be read.
pub(crate) struct Walk {
    pub(crate) tools: Vec<Tool>,
    /// Why the list is not whole or not as reported, for the operator.
    pub(crate) remarks: Vec<String>,
}

/// Reads all pages of a downstream's tools. A cursor that comes again, more pages or more tools
/// than allowed end the walk with what is there (P-W18).
pub(crate) async fn walk(
    name: &DownstreamName,
    session: &dyn DownstreamSession,
    max_pages: usize,
    max_tools: usize,
) -> Result<Walk, Error> {
    let mut walk = Walk { tools: Vec::new(), remarks: Vec::new() };
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..max_pages {
        let page = session.list_tools(cursor.as_deref()).await?;
        walk.tools.extend(page.tools);
        walk.remarks.extend(page.skipped);
        if walk.tools.len() > max_tools {
            walk.remarks.push(format!("the list is cut after {max_tools} tools"));
            return Ok(walk);
        }
        let Some(next) = page.next_cursor else { return Ok(walk) };
        if !seen.insert(next.clone()) {
            walk.remarks.push("the list is cut: the downstream gave the same cursor twice".into());
            return Ok(walk);
        }
        cursor = Some(next);
    }
    if walk.tools.is_empty() {
        let reason = format!("{max_pages} pages of tools without a tool");
        return Err(DownstreamFault::Nonsense { reason }.before(name));
    }
    walk.remarks.push(format!("the list is cut after {max_pages} pages"));
    Ok(walk)
}
