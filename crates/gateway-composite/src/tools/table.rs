use std::{fmt, sync::Arc};

use gateway_domain::{
    Caller, Catalog, CatalogEntry, Directory, DownstreamName, OfferedTool, Origin, SessionKey, View,
};

/// The tools that one session can use in a workflow.
pub trait RoutingTable: Send + Sync {
    /// The tool that clients call by this name, `downstream__tool`.
    fn exact(&self, name: &str) -> Option<Arc<OfferedTool>>;

    /// A downstream's tool by its own name; `None` as well if several could be meant (C-W22).
    fn of(&self, downstream: &str, tool: &str) -> Option<Arc<OfferedTool>>;
}

/// Everybody can use everything in the catalogue. Looking for a tool by its own name looks at all of them.
impl RoutingTable for Catalog {
    fn exact(&self, name: &str) -> Option<Arc<OfferedTool>> {
        offered(self.find(name)?)
    }

    fn of(&self, downstream: &str, tool: &str) -> Option<Arc<OfferedTool>> {
        let mut found = self.entries().iter().filter(|entry| {
            entry.reference().downstream() == downstream && **entry.tool().original() == *tool
        });
        let only = found.next()?;
        found.next().is_none().then(|| offered(only)).flatten()
    }
}

fn offered(entry: &CatalogEntry) -> Option<Arc<OfferedTool>> {
    let downstream = DownstreamName::parse(entry.reference().downstream()).ok()?;
    Some(Arc::new(OfferedTool { downstream, tool: entry.tool().clone(), headers: Arc::new([]) }))
}

/// What a directory shows to one caller's session, as it is at each look, and the tools besides that are kept for
/// workflows (C-79).
#[derive(Clone)]
pub struct SessionTools {
    directory: Arc<dyn Directory>,
    caller: Caller,
    session: SessionKey,
    origin: Origin,
}

impl SessionTools {
    /// The tools of this caller in this session, as far as a workflow whose name is not known may call them for it.
    pub fn new(directory: Arc<dyn Directory>, caller: Caller, session: SessionKey) -> Self {
        Self { directory, caller, session, origin: Origin::before(&Arc::default()) }
    }

    /// The same as far as the workflow of this name may.
    #[must_use]
    pub fn for_workflow(self, name: &Arc<str>) -> Self {
        Self { origin: Origin::before(name), ..self }
    }

    fn find(&self, view: &View, name: &str) -> Option<Arc<OfferedTool>> {
        self.directory.inner_tool(view, &self.caller, &self.session, &self.origin, name)
    }
}

impl RoutingTable for SessionTools {
    fn exact(&self, name: &str) -> Option<Arc<OfferedTool>> {
        self.find(&View::All, name)
    }

    fn of(&self, downstream: &str, tool: &str) -> Option<Arc<OfferedTool>> {
        let downstream = DownstreamName::parse(downstream).ok()?;
        self.find(&View::Downstream(downstream), tool)
    }
}

impl fmt::Debug for SessionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTools").field("caller", &self.caller).finish_non_exhaustive()
    }
}
