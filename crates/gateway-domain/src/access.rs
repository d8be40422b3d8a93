use crate::{Caller, DownstreamName, Origin, Tool};

/// What somebody wants to do with one thing that is offered (security.md §5.1 no. 6). To be shown it on a list is
/// to be allowed what the list is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// `tools/call`, and the tasks that come of it.
    Call,
    /// `prompts/get`.
    Get,
    /// `resources/read`.
    Read,
    /// `resources/subscribe`, or a resource on a stream of change events.
    Subscribe,
    /// `completion/complete`.
    Complete,
    /// A method that the gateway does not know, on the path of one downstream.
    Other,
}

impl Act {
    /// The method, as rules and records name it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Call => "tools/call",
            Self::Get => "prompts/get",
            Self::Read => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::Complete => "completion/complete",
            Self::Other => "other",
        }
    }
}

/// One thing that is offered, as a rule sees it: the same on every path, whatever it is called there.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// What is to be done.
    pub act: Act,
    /// The name that it has on `/mcp`; of a resource its URI, of a method that is not known the method.
    pub name: &'a str,
    /// Who has it; `None`: it is a workflow.
    pub downstream: Option<&'a DownstreamName>,
    /// Its definition, if it is a tool.
    pub tool: Option<&'a Tool>,
    /// The step of a workflow that wants it, in the name of the caller.
    pub origin: Option<&'a Origin>,
}

/// Whether somebody may do something, and why (P-3). By default nobody may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Decision {
    /// A rule allows it.
    Allowed,
    /// No rule allows it.
    #[default]
    DeniedByDefault,
    /// A rule denies it.
    Denied,
}

impl Decision {
    /// Whether it may be done.
    pub fn is_allowed(self) -> bool {
        self == Self::Allowed
    }

    /// The reason code of records and metrics (P-3).
    pub fn code(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::DeniedByDefault => "denied_default",
            Self::Denied => "denied_explicit",
        }
    }
}

/// Decides who may do what: the one function behind lists, calls, reads, completions and subscriptions.
pub trait Decider: Send + Sync {
    /// Whether the caller may do it. Pure as long as [`Self::class`] stays the same; never blocks.
    fn decide(&self, caller: &Caller, access: &Access<'_>) -> Decision;

    /// A number that callers share for whom all decisions are the same, so that what they are shown is worked out
    /// once. It is another one after the rules have changed. `None`: the caller may do everything.
    fn class(&self, caller: &Caller) -> Option<u64>;

    /// Whether the caller could be allowed anything of a downstream, whatever that turns out to have. Where this is not
    /// certain it is true. Pure as long as [`Self::class`] stays the same; never blocks.
    fn may_use(&self, _caller: &Caller, _downstream: &DownstreamName) -> bool {
        true
    }
}

/// Which scopes something needs that is offered (RFC 6750 §3.1). Unlike what a [`Decider`] does not allow it is shown to
/// those who lack them.
pub trait ScopeRules: Send + Sync {
    /// All scopes that are needed, if the caller's token lacks one; `None`: it lacks none, or the caller did not prove
    /// itself with a token. The thing goes by all of these names, as [`Access::name`] has them, and each counts. Never
    /// blocks.
    fn missing(&self, caller: &Caller, act: Act, names: &[&str]) -> Option<Vec<String>>;
}

/// Nothing needs scopes.
impl ScopeRules for Unrestricted {
    fn missing(&self, _: &Caller, _: Act, _: &[&str]) -> Option<Vec<String>> {
        None
    }
}

/// Everybody may do everything: there are no rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unrestricted;

impl Decider for Unrestricted {
    fn decide(&self, _: &Caller, _: &Access<'_>) -> Decision {
        Decision::Allowed
    }

    fn class(&self, _: &Caller) -> Option<u64> {
        None
    }
}
