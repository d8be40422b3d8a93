//! Conditions on what is to be done.

use gateway_domain::{Access, Act, DownstreamName, RawObject, Tool};

use super::{
    config::{Effect, Through},
    pattern::{Fit, Globs, Names, Spelling},
};

/// The conditions of one rule on what is to be done. Those on who does it have been looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Thing {
    pub(super) names: Option<Names>,
    pub(super) downstreams: Option<Globs>,
    pub(super) methods: Option<Methods>,
    pub(super) read_only: Option<bool>,
    pub(super) destructive: Option<bool>,
    pub(super) through: Option<Through>,
}

/// A set of acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Methods(u8);

impl Methods {
    const ALL: [Act; 6] = [Act::Call, Act::Get, Act::Read, Act::Subscribe, Act::Complete, Act::Other];

    /// Those whose method a pattern matches.
    pub(super) fn of(patterns: &Globs) -> Self {
        let matching = Self::ALL.into_iter().filter(|act| patterns.matches(act.method()));
        Self(matching.map(|act| 1 << act as u8).sum())
    }

    pub(super) fn known() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Act::method)
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }

    fn contains(self, act: Act) -> bool {
        self.0 & 1 << act as u8 != 0
    }
}

impl Thing {
    /// How the rule is about an access; without names, as a wildcard for all of them.
    pub(super) fn fit(&self, effect: Effect, access: &Access<'_>, spelling: Spelling) -> Fit {
        let fit = self.names.as_ref().map_or(Fit::Wild, |names| names.fit(effect, access, spelling));
        if fit != Fit::No && self.is_about(effect, access) { fit } else { Fit::No }
    }

    /// Whether the rule could be about something that a caller itself does with a downstream.
    pub(super) fn could_be_of(&self, downstream: &DownstreamName) -> bool {
        self.through != Some(Through::Composites)
            && self.downstreams.as_ref().is_none_or(|globs| globs.matches(downstream.as_str()))
            && self.names.as_ref().is_none_or(|names| names.could_be_of(downstream))
    }

    /// Whether the rule is about everything that a caller itself does with a downstream.
    pub(super) fn covers(&self, downstream: &DownstreamName) -> bool {
        self.through != Some(Through::Composites)
            && self.methods.is_none()
            && self.read_only.is_none()
            && self.destructive.is_none()
            && self.downstreams.as_ref().is_none_or(|globs| globs.matches(downstream.as_str()))
            && self.names.as_ref().is_none_or(|names| names.cover(downstream))
    }

    fn is_about(&self, effect: Effect, access: &Access<'_>) -> bool {
        let of_downstream = |globs: &Globs| access.downstream.is_some_and(|it| globs.matches(it.as_str()));
        self.through.is_none_or(|through| (through == Through::Composites) == access.origin.is_some())
            && self.methods.is_none_or(|methods| methods.contains(access.act))
            && self.downstreams.as_ref().is_none_or(of_downstream)
            && self.is_annotated(effect, access)
    }

    fn is_annotated(&self, effect: Effect, access: &Access<'_>) -> bool {
        if self.read_only.is_none() && self.destructive.is_none() {
            return true;
        }
        if access.act != Act::Call || access.downstream.is_none() {
            return false;
        }
        // Of a tool that is not known the worst is taken to be true.
        let Some(tool) = access.tool else { return effect == Effect::Deny };
        let hints = Hints::of(tool);
        self.read_only.is_none_or(|wanted| wanted == hints.reads_only)
            && self.destructive.is_none_or(|wanted| wanted == hints.destroys)
    }
}

/// What a tool's annotations say (protocol.md §11.2).
struct Hints {
    reads_only: bool,
    destroys: bool,
}

impl Hints {
    fn of(tool: &Tool) -> Self {
        let annotations = tool.annotations().and_then(|annotations| RawObject::try_from(annotations).ok());
        let hint = |name| annotations.as_ref().and_then(|annotations| annotations.get(name)?.to_bool());
        let reads_only = hint("readOnlyHint") == Some(true);
        Self { reads_only, destroys: !reads_only && hint("destructiveHint") != Some(false) }
    }
}
