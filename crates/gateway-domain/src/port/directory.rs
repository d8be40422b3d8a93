use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    Act, Caller, Decision, DownstreamName, DownstreamStatus, Error, Exchange, ListRemark, Origin,
    ParamHeader, RawJson, RawObject, SessionKey, Tool, View,
};

/// The lists that servers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`; changes of it are told as changes of the resources.
    ResourceTemplates,
}

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::ResourceTemplates];

    /// The member of the result that holds the entries.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }
}

/// What is offered to clients, as the edge sees it.
#[async_trait]
pub trait Directory: Send + Sync {
    /// One page of a list, as clients of the exchange's era can read it: what the caller may use. Waits, bounded, for
    /// downstreams that are still starting. A downstream whose lists are not for everybody is asked in that exchange's
    /// session (G-10).
    ///
    /// # Errors
    /// [`crate::CallerError::InvalidCursor`], [`crate::CallerError::UnknownDownstream`]; in strict mode
    /// [`crate::UnlistedError`] (G-W6).
    async fn list(
        &self,
        list: ListKind,
        view: &View,
        caller: &Caller,
        exchange: &Exchange,
        cursor: Option<&str>,
    ) -> Result<Page, Error>;

    /// What the view offers as one server, which depends on what its downstreams offer. Waits, bounded, for those
    /// that are still starting; of one that is not known yet everything is hoped for.
    async fn offer(&self, view: &View) -> Offer;

    /// The same without what is said of, and what is offered by, downstreams of which the caller may use nothing.
    async fn offer_to(&self, view: &View, _caller: &Caller) -> Offer {
        self.offer(view).await
    }

    /// A tool by the name clients are shown; `None` if there is none, or the caller may not call it. Of downstreams
    /// whose list is not for everybody, only what this session was shown lately is known.
    fn tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        name: &str,
    ) -> Option<Arc<OfferedTool>>;

    /// As [`Self::tool`], for a step of the workflow that is the origin: of `/mcp` or of a view of one downstream, and
    /// those tools too that clients are not shown and the configuration keeps for workflows (requirements §7 item 10).
    fn inner_tool(
        &self,
        view: &View,
        caller: &Caller,
        session: &SessionKey,
        _origin: &Origin,
        name: &str,
    ) -> Option<Arc<OfferedTool>> {
        self.tool(view, caller, session, name)
    }

    /// Whether the caller may call the workflow of this name on a view, whatever its steps need; `None`: the view shows
    /// no such workflow to anybody.
    fn workflow(&self, view: &View, _caller: &Caller, _name: &str) -> Option<Decision> {
        (*view == View::All).then_some(Decision::Allowed)
    }

    /// Under which other names rules know what a client of this path calls `name`: a renamed tool by its name on `/mcp`,
    /// a resource by the URI that it has there and by its own. Says nothing of whether it is there.
    fn also_called(&self, _view: &View, _act: Act, _name: &str) -> Vec<String> {
        Vec::new()
    }

    /// Forgets the cached lists of one downstream, or of all, and reads them again (G-11). Gives how many were
    /// forgotten; never blocks.
    fn flush(&self, _downstream: Option<&DownstreamName>) -> usize {
        0
    }

    /// Whether the view exists.
    fn has_view(&self, view: &View) -> bool;

    /// Whether the view exists for a caller: one of which the rules leave the caller nothing is as good as not there.
    /// Where that is not certain, as of a downstream that is not known yet, it does. Never blocks.
    fn may_visit(&self, view: &View, _caller: &Caller) -> bool {
        self.has_view(view)
    }

    /// The scopes that the caller's token lacks for something by any of its names on `/mcp`, as
    /// [`crate::ScopeRules::missing`] has them.
    fn missing_scopes(&self, _caller: &Caller, _act: Act, _names: &[&str]) -> Option<Vec<String>> {
        None
    }

    /// The view of a path: where no downstream has its name, the profile of that name, if there is one.
    fn profiled(&self, view: View) -> View {
        match view {
            View::Downstream(name) if !self.has_view(&View::Downstream(name.clone())) => {
                let profile = View::Profile(name.clone());
                if self.has_view(&profile) { profile } else { View::Downstream(name) }
            }
            view => view,
        }
    }

    /// The number of what the view shows; it grows with every visible change of any of its lists.
    fn generation(&self, view: &View) -> u64;

    /// The same for each list: what has changed is told by comparing.
    fn generations(&self, view: &View) -> Generations;

    /// The same as numbers that are others where the caller is shown other lists than before. They do not grow, and may be
    /// others though the lists are not. Never blocks.
    fn generations_to(&self, view: &View, _caller: &Caller) -> Generations {
        self.generations(view)
    }

    /// Waits until the view shows something else than generation `seen`, and returns its number.
    async fn changed(&self, view: &View, seen: u64) -> u64;

    /// The state of every downstream, in the order of their names.
    fn downstreams(&self) -> Vec<DownstreamStatus>;
}

/// The numbers of a view's lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Generations {
    /// Of its tools.
    pub tools: u64,
    /// Of its prompts.
    pub prompts: u64,
    /// Of its resources and their templates.
    pub resources: u64,
}

/// What a view offers as one server (protocol.md §20.10).
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// The union of its downstreams' `capabilities`, as a server of the modern era writes them.
    pub capabilities: RawObject,
    /// Their `instructions` under headings, bounded in size; `None` if none gave any.
    pub instructions: Option<String>,
}

/// A page of a list, rendered.
#[derive(Debug, Clone)]
pub struct Page {
    /// The array of entries; shared by all answers of one generation.
    pub items: RawJson,
    /// Where the next page begins; `None` on the last.
    pub next_cursor: Option<String>,
    /// Whether others may be shown another list, so that nobody may share this one.
    pub is_private: bool,
    /// For how long the list stays fresh, as far as its downstreams say; zero if one of them does not.
    pub ttl: Duration,
    /// The downstreams whose entries are not all there or not as they are now; empty when all is well.
    pub remarks: Vec<ListRemark>,
}

impl Page {
    /// A page on which all is well, the same for everybody, fresh for no time that anybody knows.
    pub fn new(items: RawJson, next_cursor: Option<String>) -> Self {
        Self { items, next_cursor, is_private: false, ttl: Duration::ZERO, remarks: Vec::new() }
    }
}

/// What *resolve* knows about a tool that clients are shown.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    /// The downstream that has it.
    pub downstream: DownstreamName,
    /// The tool itself.
    pub tool: Tool,
    /// Its arguments that are mirrored in headers.
    pub headers: Arc<[ParamHeader]>,
}
