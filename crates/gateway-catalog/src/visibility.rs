//! What a caller may know of: the rules, asked about everything that is shown or found (security.md §5.1 no. 6).

use std::sync::Arc;

use gateway_aggregate::Ownership;
use gateway_domain::{
    Access, Act, Caller, Decider, Decision, DownstreamName, ListKind, NAMESPACE_SEPARATOR, OfferedTool,
    Origin, ScopeRules, ToolRef,
};

use crate::{
    item::{Item, prefixed},
    offer::Seeker,
};

/// Who wants something: a caller, or the step of a workflow in its name.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) origin: Option<&'a Origin>,
}

impl<'a> Who<'a> {
    pub(crate) fn client(caller: &'a Caller) -> Self {
        Self { caller, origin: None }
    }

    /// No client says that it comes from a workflow (C-79).
    pub(crate) fn seeker(self) -> Seeker {
        match self.origin {
            Some(_) => Seeker::Step,
            None => Seeker::Client,
        }
    }
}

/// The rules, asked in the names of `/mcp`.
pub(crate) struct Rules {
    decider: Arc<dyn Decider>,
    scopes: Arc<dyn ScopeRules>,
}

impl Rules {
    pub(crate) fn new(decider: Arc<dyn Decider>, scopes: Arc<dyn ScopeRules>) -> Self {
        Self { decider, scopes }
    }

    /// As [`ScopeRules::missing`].
    pub(crate) fn missing_scopes(&self, caller: &Caller, act: Act, names: &[&str]) -> Option<Vec<String>> {
        self.scopes.missing(caller, act, names)
    }

    /// Whether they could allow anything of a downstream, as far as they know themselves.
    pub(crate) fn may_use(&self, caller: &Caller, downstream: &DownstreamName) -> bool {
        self.class(caller).is_none() || self.decider.may_use(caller, downstream)
    }

    /// As [`Decider::class`].
    pub(crate) fn class(&self, caller: &Caller) -> Option<u64> {
        self.decider.class(caller)
    }

    pub(crate) fn of_tool(&self, who: Who<'_>, offered: &OfferedTool) -> Decision {
        self.restricted(who, || self.judge_tool(who, offered))
    }

    /// Getting or completing the prompt that `/mcp` shows by this name.
    pub(crate) fn of_prompt(
        &self,
        who: Who<'_>,
        act: Act,
        downstream: &DownstreamName,
        name: &str,
    ) -> Decision {
        self.restricted(who, || {
            acts(act, Act::Get).map(|act| self.ask(who, act, name, downstream)).fold(Decision::Allowed, both)
        })
    }

    /// What is done with a resource, or a template if it is completed, of this own URI.
    pub(crate) fn of_uri(
        &self,
        who: Who<'_>,
        act: Act,
        ownership: &Ownership,
        downstream: &DownstreamName,
        own: &str,
    ) -> Decision {
        self.restricted(who, || {
            let shown = match act {
                Act::Complete => ownership.shown_template(downstream.as_str(), own),
                _ => ownership.shown_uri(downstream.as_str(), own),
            };
            let each =
                acts(act, Act::Read).map(|act| self.judge_uri(who, act, downstream, own, shown.as_deref()));
            each.fold(Decision::Allowed, both)
        })
    }

    /// A method that the gateway does not know, of one downstream.
    pub(crate) fn of_other(&self, who: Who<'_>, downstream: &DownstreamName, method: &str) -> Decision {
        self.restricted(who, || self.ask(who, Act::Other, method, downstream))
    }

    /// A workflow, whatever its steps need.
    pub(crate) fn of_workflow(&self, caller: &Caller, name: &str) -> Decision {
        let access = Access { act: Act::Call, name, downstream: None, tool: None, origin: None };
        let who = Who::client(caller);
        self.restricted(who, || self.decider.decide(caller, &access))
    }

    /// Something of which no more is known than its name.
    pub(crate) fn of_name(
        &self,
        who: Who<'_>,
        act: Act,
        downstream: &DownstreamName,
        name: &str,
    ) -> Decision {
        self.restricted(who, || self.ask(who, act, name, downstream))
    }

    /// Whether the rules allow, by its name alone, what may not be there: whoever they do not is told nothing of it,
    /// not even why it cannot be found.
    pub(crate) fn allow_name(&self, who: Who<'_>, act: Act, downstream: &DownstreamName, name: &str) -> bool {
        self.of_name(who, act, downstream, name).is_allowed()
    }

    /// Whether they allow everything of a downstream, as a pattern after its prefix does.
    pub(crate) fn allow_prefix(&self, caller: &Caller, downstream: &DownstreamName) -> bool {
        let name = format!("{downstream}{NAMESPACE_SEPARATOR}");
        self.allow_name(Who::client(caller), Act::Call, downstream, &name)
    }

    /// As [`Self::of_tool`], of a caller that is known to be restricted.
    pub(crate) fn judge_tool(&self, who: Who<'_>, offered: &OfferedTool) -> Decision {
        let (downstream, tool) = (&offered.downstream, &offered.tool);
        let name = ToolRef::new(downstream.as_str(), tool.name()).to_string();
        let (act, downstream, tool) = (Act::Call, Some(downstream), Some(tool));
        self.decider.decide(who.caller, &Access { act, name: &name, downstream, tool, origin: who.origin })
    }

    /// Whether an entry of a list is shown to a caller that is known to be restricted.
    pub(crate) fn judge_item(
        &self,
        list: ListKind,
        caller: &Caller,
        ownership: &Ownership,
        downstream: &DownstreamName,
        item: &Item,
    ) -> bool {
        let (who, own) = (Who::client(caller), &*item.own);
        let decision = match list {
            ListKind::Tools | ListKind::Prompts => {
                self.ask(who, Act::Get, &prefixed(downstream, &item.name), downstream)
            }
            ListKind::Resources => {
                let marked = ownership.shown_uri(downstream.as_str(), own);
                self.judge_uri(who, Act::Read, downstream, own, marked.as_deref())
            }
            ListKind::ResourceTemplates => {
                let marked = ownership.shown_template(downstream.as_str(), own);
                self.judge_uri(who, Act::Read, downstream, own, marked.as_deref())
            }
        };
        decision.is_allowed()
    }

    /// A mark hides nothing from a rule: each is asked about the URI without one too, of this downstream. What is allowed
    /// stays so when another one comes to have the same.
    fn judge_uri(
        &self,
        who: Who<'_>,
        act: Act,
        downstream: &DownstreamName,
        own: &str,
        marked: Option<&str>,
    ) -> Decision {
        let decision = self.ask(who, act, marked.unwrap_or(own), downstream);
        match marked.map(|_| self.ask(who, act, own, downstream)) {
            Some(unmarked) => either(decision, unmarked),
            None => decision,
        }
    }

    fn ask(&self, who: Who<'_>, act: Act, name: &str, downstream: &DownstreamName) -> Decision {
        let (downstream, origin) = (Some(downstream), who.origin);
        self.decider.decide(who.caller, &Access { act, name, downstream, tool: None, origin })
    }

    /// Nothing is asked about those who may do everything.
    fn restricted(&self, who: Who<'_>, judge: impl FnOnce() -> Decision) -> Decision {
        match self.class(who.caller) {
            None => Decision::Allowed,
            Some(_) => judge(),
        }
    }
}

/// What has to be allowed: to do something with what is not shown would be to learn of it.
fn acts(act: Act, shown_for: Act) -> impl Iterator<Item = Act> {
    [shown_for, act].into_iter().take(if act == shown_for { 1 } else { 2 })
}

/// Of one thing under two names: a rule that denies by either of them, then one that allows by either.
fn either(one: Decision, other: Decision) -> Decision {
    match (one, other) {
        (Decision::Denied, _) | (_, Decision::Denied) => Decision::Denied,
        (Decision::Allowed, _) | (_, Decision::Allowed) => Decision::Allowed,
        (Decision::DeniedByDefault, Decision::DeniedByDefault) => Decision::DeniedByDefault,
    }
}

/// The first that is no permission, and of those a rule that denies.
pub(crate) fn both(one: Decision, other: Decision) -> Decision {
    match (one, other) {
        (Decision::Denied, _) | (_, Decision::Denied) => Decision::Denied,
        (Decision::DeniedByDefault, _) | (_, Decision::DeniedByDefault) => Decision::DeniedByDefault,
        (Decision::Allowed, Decision::Allowed) => Decision::Allowed,
    }
}
