use std::sync::Arc;

use gateway_domain::{DownstreamName, ListKind, OfferedTool, RawObject, Tool, ToolRef};

use crate::{
    Source,
    item::{Item, Items, Others},
    offer::OfferedTools,
};

/// Looks at everything that a downstream lists before anybody is shown it: keeps tools back that are not what was
/// agreed on, and takes out of definitions what clients should not be shown (security.md §2.4, §2.5).
///
/// Asked once for each list that was read, and again when it says that its verdicts are others now
/// ([`crate::LiveCatalog::rescreen`]). Must not block.
pub trait Screen: Send + Sync {
    /// The tool as it may be shown and called; `None`: it is as good as not there. `exposed` is its name on `/mcp`.
    /// What it is called must stay the same.
    fn tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Option<Tool>;

    /// The same of a tool on a list that only its caller has a session for: the operator cannot have seen it.
    fn own_tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Option<Tool> {
        self.tool(downstream, exposed, tool)
    }

    /// The tool as a lock file may have it, which others read: what [`Self::tool`] compares with it.
    fn pinned(&self, tool: Tool) -> Tool {
        tool
    }

    /// What is shown of an entry of another list. What it is known by, name, URI or template, must stay the same.
    fn entry(&self, _downstream: &DownstreamName, _list: ListKind, entry: RawObject) -> Option<RawObject> {
        Some(entry)
    }

    /// What the downstream says about its use, as clients may read it. Asked whenever a client begins.
    fn instructions(&self, _downstream: &DownstreamName, instructions: String) -> String {
        instructions
    }
}

/// Nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unscreened;

impl Screen for Unscreened {
    fn tool(&self, _: &DownstreamName, _: &str, tool: Tool) -> Option<Tool> {
        Some(tool)
    }
}

/// What is left of tools.
pub(crate) fn tools(screen: &dyn Screen, source: &Source, offered: &OfferedTools) -> OfferedTools {
    let is_own = !source.is_public && source.is_per_caller;
    let left =
        |tools: &[Arc<OfferedTool>]| tools.iter().filter_map(|tool| screened(screen, is_own, tool)).collect();
    OfferedTools { shown: left(&offered.shown), hidden: left(&offered.hidden) }
}

fn screened(screen: &dyn Screen, is_own: bool, offered: &Arc<OfferedTool>) -> Option<Arc<OfferedTool>> {
    let downstream = &offered.downstream;
    let exposed = ToolRef::new(downstream.as_str(), offered.tool.name()).to_string();
    let tool = match is_own {
        true => screen.own_tool(downstream, &exposed, offered.tool.clone())?,
        false => screen.tool(downstream, &exposed, offered.tool.clone())?,
    };
    if tool == offered.tool {
        return Some(offered.clone());
    }
    Some(Arc::new(OfferedTool { tool, ..(**offered).clone() }))
}

/// What is left of the other lists.
pub(crate) fn others(screen: &dyn Screen, downstream: &DownstreamName, others: &Others) -> Others {
    let mut left = Others::default();
    for list in Others::KINDS {
        left.set(list, items(screen, downstream, list, others.of(list)));
    }
    left
}

/// What is left of one of them.
pub(crate) fn items(
    screen: &dyn Screen,
    downstream: &DownstreamName,
    list: ListKind,
    items: &[Arc<Item>],
) -> Items {
    let screened = |item: &Arc<Item>| {
        let definition = screen.entry(downstream, list, item.definition.clone())?;
        if definition == item.definition {
            return Some(item.clone());
        }
        let (own, name) = (item.own.clone(), item.name.clone());
        Some(Arc::new(Item { own, name, definition }))
    };
    items.iter().filter_map(screened).collect()
}
