use std::sync::Arc;

use gateway_domain::{
    Act, Call, CallerError, Decision, DownstreamName, Error, ListKind, OfferedTool, Reference, Subject,
    Target, View,
};

use super::{
    Resolve,
    owner::{Whose, resource_unknown},
    scopes::act_of,
};
use crate::{
    item::{Item, prefixed},
    private::For,
    visibility::both,
};

/// Asks the rules about everything that is found. What they do not allow is not found, by whoever looks for it; that it
/// is there and denied stands in the notes of the call alone.
impl<D> Resolve<D> {
    /// What was found, if the caller may call it.
    pub(super) fn admit_tool(
        &self,
        whose: For<'_>,
        found: Option<Arc<OfferedTool>>,
    ) -> Option<Arc<OfferedTool>> {
        found.filter(|offered| {
            let decision = self.catalog.shared.rules.of_tool(whose.who(), offered);
            admitted(whose, &offered.downstream, decision)
        })
    }

    /// The same of a prompt; gives its own name and the one on `/mcp`.
    pub(super) fn admit_prompt(
        &self,
        whose: For<'_>,
        act: Act,
        found: Option<(DownstreamName, Arc<Item>)>,
    ) -> Option<(DownstreamName, Arc<str>, String)> {
        let (downstream, item) = found?;
        let exposed = prefixed(&downstream, &item.name);
        let decision = self.catalog.shared.rules.of_prompt(whose.who(), act, &downstream, &exposed);
        admitted(whose, &downstream, decision).then(|| (downstream, item.own.clone(), exposed))
    }

    /// Whether the caller may ask for what no list tells of on the path of one downstream.
    pub(super) async fn admit_own(
        &self,
        whose: For<'_>,
        downstream: &DownstreamName,
        subject: &Subject,
    ) -> Result<(), Error> {
        let rules = &self.catalog.shared.rules;
        let (decision, unknown): (_, Error) = match subject {
            Subject::Resource { uri } => {
                (self.decide_uri(whose, Act::Read, downstream, uri), resource_unknown(uri))
            }
            Subject::Completion(Reference::Resource(uri)) => {
                (self.decide_uri(whose, Act::Complete, downstream, uri), resource_unknown(uri))
            }
            Subject::Other { method } => {
                let unknown = CallerError::UnknownMethod { method: method.to_string() };
                (rules.of_other(whose.who(), downstream, method), unknown.into())
            }
            Subject::Task { tool, .. } => {
                let decision = self.decide_task(whose, downstream, tool.as_deref()).await;
                (decision, CallerError::UnknownTask.into())
            }
            // By their names.
            Subject::Tool { .. } | Subject::Prompt { .. } | Subject::Completion(Reference::Prompt(_)) => {
                return Ok(());
            }
        };
        if admitted(whose, downstream, decision) { Ok(()) } else { Err(unknown) }
    }

    /// Whether the caller may go on with what it was given in the words of a downstream: a task.
    pub(super) async fn admit_known(&self, call: &Call) -> Result<(), Error> {
        let Target::Downstream { downstream, subject } = &call.target else { return Ok(()) };
        call.exchange.notes.resolved(downstream);
        let view = View::Downstream(downstream.clone());
        let (caller, exchange, origin) = (&call.caller, &call.exchange, call.origin.as_ref());
        let whose = For { view: &view, caller, exchange, origin };
        if matches!(subject, Subject::Task { .. }) {
            self.admit_own(whose, downstream, subject).await?;
        }
        self.check_scopes(whose, act_of(subject), (std::slice::from_ref(downstream), subject), None)
    }

    /// A task is its caller's as long as that may call the tool that began it. If nobody knows which that was, it is
    /// theirs alone who may do everything.
    async fn decide_task(&self, whose: For<'_>, downstream: &DownstreamName, tool: Option<&str>) -> Decision {
        let shared = &self.catalog.shared;
        match tool {
            Some(tool) => shared.decide_begun(whose, downstream, tool).await,
            None if shared.rules.class(whose.caller).is_none() => Decision::Allowed,
            None => Decision::DeniedByDefault,
        }
    }

    pub(super) fn decide_uri(
        &self,
        whose: For<'_>,
        act: Act,
        downstream: &DownstreamName,
        own: &str,
    ) -> Decision {
        let shared = &self.catalog.shared;
        shared.rules.of_uri(whose.who(), act, &shared.ownership(), downstream, own)
    }

    /// Those of the owners of a resource with whom the caller may do this.
    pub(super) fn allowed(&self, whose: For<'_>, act: Act, uri: &Arc<str>, found: Whose) -> Whose {
        let may = |downstream: &DownstreamName, own: &str| {
            self.decide_uri(whose, act, downstream, own).is_allowed()
        };
        match found {
            Whose::Of(downstream, own) if may(&downstream, &own) => Whose::Of(downstream, own),
            Whose::Of(..) | Whose::Nobodys => Whose::Nobodys,
            Whose::OneOf(names) => Whose::of(names.into_iter().filter(|name| may(name, uri)).collect(), uri),
        }
    }

    /// Notes why nobody is asked for a resource, if the rules are why.
    pub(super) fn note_hidden(&self, whose: For<'_>, act: Act, uri: &Arc<str>) {
        let hidden = match self.owner(whose, act, uri) {
            Whose::Of(downstream, own) => vec![(downstream, own)],
            Whose::OneOf(names) => names.into_iter().map(|name| (name, uri.clone())).collect(),
            Whose::Nobodys => self.able(whose, act).into_iter().map(|name| (name, uri.clone())).collect(),
        };
        let decisions = hidden.iter().map(|(name, own)| self.decide_uri(whose, act, name, own));
        let notes = &whose.exchange.notes;
        if let Some(decision) = decisions.reduce(both).filter(|decision| !decision.is_allowed()) {
            notes.decided(decision);
        }
        if let [(only, _)] = &hidden[..] {
            notes.resolved(only);
        }
    }

    /// A failure to look for something is told to whom the rules allow what is looked for, by its name; for others there
    /// is nothing that could be looked for.
    pub(super) fn or_unknown<T>(
        &self,
        found: Result<Option<T>, Error>,
        whose: For<'_>,
        (act, name): (Act, &str),
    ) -> Result<Option<T>, Error> {
        found.or_else(|error| {
            let shared = &self.catalog.shared;
            let exposed = shared.exposed(whose.view, list_of(act), name);
            let owner = shared.possible_owner(whose.view, list_of(act), name);
            let (Some(exposed), Some((owner, _))) = (exposed, owner) else { return Err(error) };
            match shared.rules.allow_name(whose.who(), act, &owner.source.name, &exposed) {
                true => Err(error),
                false => Ok(None),
            }
        })
    }
}

/// Notes whose something is and what the rules say of it; whether they allow it.
pub(super) fn admitted(whose: For<'_>, downstream: &DownstreamName, decision: Decision) -> bool {
    whose.exchange.notes.resolved(downstream);
    whose.exchange.notes.decided(decision);
    decision.is_allowed()
}

/// The list that tells of what an act is done with by its name.
pub(super) fn list_of(act: Act) -> ListKind {
    match act {
        Act::Call | Act::Other => ListKind::Tools,
        Act::Get | Act::Complete => ListKind::Prompts,
        Act::Read | Act::Subscribe => ListKind::Resources,
    }
}
