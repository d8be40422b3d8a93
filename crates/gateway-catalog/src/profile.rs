use std::collections::{BTreeMap, BTreeSet, HashMap};

use gateway_aggregate::FitRules;
use gateway_domain::{DownstreamName, NAMESPACE_SEPARATOR};
use wildmatch::WildMatch;

use crate::ToolFilter;

/// A part of `/mcp` under `/mcp/NAME`, with some tools under other names. A downstream of the same name has the path.
///
/// What stands on it is called as on `/mcp`, but for the tools that are renamed; rules about who may do what see the
/// names of `/mcp` on every path. Its prompts, resources and templates are those of its downstreams.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its name.
    pub name: DownstreamName,
    /// Whose tools, prompts and resources are on it; empty: those of all.
    pub downstreams: Vec<DownstreamName>,
    /// Which tools of theirs are on it, by their names on `/mcp`. What is kept for workflows there is not on it.
    pub tools: ToolFilter,
    /// Other names of tools, by their names on `/mcp`. Under that name a renamed tool is not on the profile.
    pub renames: BTreeMap<String, String>,
    /// Patterns with `*` and `?` over the names of the workflows that are on it; empty: none. What their steps call
    /// need not be on it: they use all of `/mcp`, as far as the caller may.
    pub workflows: Vec<String>,
    /// What is said of it to clients; `None`: what its downstreams say of themselves.
    pub instructions: Option<String>,
}

impl Profile {
    /// Whether it can be as it is, where names keep to these rules.
    ///
    /// # Errors
    /// What is wrong with it, as [`CatalogBuilder::start`](crate::CatalogBuilder::start) would say.
    pub fn check(&self, rules: &FitRules) -> Result<(), ProfileError> {
        Compiled::new(self.clone(), rules).map(drop)
    }
}

/// Why profiles cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Two have one name.
    #[error("there are two profiles `{profile}`")]
    Twice {
        /// Their name.
        profile: DownstreamName,
    },
    /// A new name is none that clients could be shown, or could be another tool's.
    #[error("profile `{profile}`: `{exposed}` cannot be renamed to `{name}`: {reason}")]
    Rename {
        /// The profile.
        profile: DownstreamName,
        /// The tool's name on `/mcp`.
        exposed: String,
        /// The name that it was to have.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// All profiles, ready for use.
#[derive(Debug, Default)]
pub(crate) struct Profiles(BTreeMap<DownstreamName, Compiled>);

#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) profile: Profile,
    /// Names on `/mcp` by those here.
    originals: HashMap<String, String>,
    workflows: Vec<WildMatch>,
}

impl Profiles {
    pub(crate) fn new(profiles: Vec<Profile>, rules: &FitRules) -> Result<Self, ProfileError> {
        let mut all = BTreeMap::new();
        for profile in profiles {
            let name = profile.name.clone();
            if all.insert(name.clone(), Compiled::new(profile, rules)?).is_some() {
                return Err(ProfileError::Twice { profile: name });
            }
        }
        Ok(Self(all))
    }

    pub(crate) fn get(&self, name: &DownstreamName) -> Option<&Compiled> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&DownstreamName, &Compiled)> {
        self.0.iter()
    }
}

impl Compiled {
    fn new(profile: Profile, rules: &FitRules) -> Result<Self, ProfileError> {
        let mut taken = BTreeSet::new();
        for (exposed, name) in &profile.renames {
            let reason = match misfit(exposed, name, rules) {
                None if !taken.insert(name) => "another tool is renamed to it",
                None => continue,
                Some(reason) => reason,
            };
            let (exposed, name) = (exposed.clone(), name.clone());
            return Err(ProfileError::Rename { profile: profile.name, exposed, name, reason });
        }
        let originals = profile.renames.iter().map(|(exposed, name)| (name.clone(), exposed.clone()));
        let originals = originals.collect();
        let workflows = profile.workflows.iter().map(|pattern| WildMatch::new(pattern)).collect();
        Ok(Self { profile, originals, workflows })
    }

    pub(crate) fn has(&self, downstream: &DownstreamName) -> bool {
        self.profile.downstreams.is_empty() || self.profile.downstreams.contains(downstream)
    }

    /// The name here of the tool that has this one on `/mcp`; `None`: it is not here.
    pub(crate) fn name_of<'a>(&'a self, exposed: &'a str) -> Option<&'a str> {
        let name = || self.profile.renames.get(exposed).map_or(exposed, String::as_str);
        self.profile.tools.is_shown(exposed).then(name)
    }

    /// The name on `/mcp` of the tool that has this one here.
    pub(crate) fn exposed<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let exposed = self.originals.get(name).map_or(name, String::as_str);
        (self.name_of(exposed)? == name).then_some(exposed)
    }

    pub(crate) fn shows_workflow(&self, name: &str) -> bool {
        self.workflows.iter().any(|pattern| pattern.matches(name))
    }

    pub(crate) fn has_workflows(&self) -> bool {
        !self.workflows.is_empty()
    }
}

/// With the separator in it a name could be another tool's; without it, it is on no `/mcp`.
fn misfit(exposed: &str, name: &str, rules: &FitRules) -> Option<&'static str> {
    match () {
        () if name == exposed => None,
        () if name.is_empty() => Some("a name is not empty"),
        () if name.chars().count() > rules.max_length => Some("it is longer than names may be"),
        () if !name.chars().all(|character| rules.characters.contains(character)) => {
            Some("it has characters that names may not have")
        }
        () if name.contains(NAMESPACE_SEPARATOR) => {
            Some("it has `__` in it, which separates downstream and tool")
        }
        () => None,
    }
}

#[cfg(test)]
mod tests;
