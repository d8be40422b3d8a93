//! Which scopes calls need (RFC 6750 §3.1, protocol.md §18.2).
//!
//! Patterns and names are as in [`crate::policy`], URIs in every spelling included: what one of them matches needs the
//! scopes. They are decided once it is known what a name is of, whatever it was called.

use std::sync::Arc;

use arc_swap::ArcSwap;
use gateway_domain::{Act, Caller, ScopeRules};
use wildmatch::WildMatch;

use crate::policy::uri::{Reading, canonical_pattern, spellings};

/// What needs scopes. An empty list of patterns matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Required {
    /// Patterns with `*` and `?` over methods, as [`Act::method`] names them.
    pub methods: Vec<String>,
    /// The same over names on `/mcp`: of tools, prompts and workflows, and URIs. `DOWNSTREAM__*` is about the resources
    /// and tasks of that downstream too.
    pub names: Vec<String>,
    /// What it needs.
    pub scopes: Vec<String>,
}

/// The rules about scopes in force. Clones share them.
///
/// Who has proved itself otherwise than with a token has no scopes and needs none.
#[derive(Debug, Clone, Default)]
pub struct RequiredScopes {
    rules: Arc<ArcSwap<Vec<Compiled>>>,
}

#[derive(Debug)]
struct Compiled {
    methods: Vec<WildMatch>,
    names: Option<Names>,
    scopes: Vec<String>,
}

#[derive(Debug)]
struct Names(Vec<WildMatch>);

impl RequiredScopes {
    /// All rules that are about something count.
    pub fn new(rules: &[Required]) -> Self {
        let required = Self::default();
        required.replace(rules);
        required
    }

    /// Puts other rules in force: what is asked from now on is decided by them alone.
    pub fn replace(&self, rules: &[Required]) {
        self.rules.store(Arc::new(rules.iter().map(Compiled::new).collect()));
    }
}

impl ScopeRules for RequiredScopes {
    fn missing(&self, caller: &Caller, act: Act, names: &[&str]) -> Option<Vec<String>> {
        caller.grants()?;
        let rules = self.rules.load();
        let mut needed = Vec::new();
        let fitting = rules.iter().filter(|rule| rule.is_about(act, names));
        for scope in fitting.flat_map(|rule| &rule.scopes) {
            if !needed.contains(scope) {
                needed.push(scope.clone());
            }
        }
        let lacks_one = needed.iter().any(|scope| !caller.has_scope(scope));
        lacks_one.then_some(needed)
    }
}

impl Compiled {
    fn new(required: &Required) -> Self {
        let methods = required.methods.iter().map(|pattern| WildMatch::new(pattern)).collect();
        let names = (!required.names.is_empty()).then(|| Names::new(&required.names));
        Self { methods, names, scopes: required.scopes.clone() }
    }

    fn is_about(&self, act: Act, names: &[&str]) -> bool {
        let is_method = self.methods.is_empty() || self.methods.iter().any(|it| it.matches(act.method()));
        is_method
            && self.names.as_ref().is_none_or(|patterns| names.iter().any(|name| patterns.match_one(name)))
    }
}

impl Names {
    fn new(patterns: &[String]) -> Self {
        let forms = patterns.iter().flat_map(|pattern| {
            let canonical = |reading| canonical_pattern(pattern, reading);
            [Some(pattern.clone()), canonical(Reading::Strict), canonical(Reading::Loose)]
        });
        Self(forms.flatten().map(|pattern| WildMatch::new(&pattern)).collect())
    }

    /// What has no simple spelling needs what anything needs.
    fn match_one(&self, name: &str) -> bool {
        let Some(spellings) = spellings(name) else { return true };
        spellings.iter().any(|name| self.0.iter().any(|pattern| pattern.matches(name)))
    }
}

#[cfg(test)]
mod tests;
