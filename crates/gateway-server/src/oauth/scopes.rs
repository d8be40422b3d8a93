use gateway_domain::View;
use wildmatch::WildMatch;

use super::ScopeRule;

/// Which requests need which scopes.
#[derive(Debug)]
pub(super) struct Scopes(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    views: Vec<View>,
    methods: Vec<WildMatch>,
    names: Vec<WildMatch>,
    scopes: Vec<String>,
}

impl Scopes {
    pub(super) fn new(rules: &[ScopeRule]) -> Self {
        let globs = |globs: &[String]| globs.iter().map(|glob| WildMatch::new(glob)).collect();
        let rule = |rule: &ScopeRule| Rule {
            views: rule.views.clone(),
            methods: globs(&rule.methods),
            names: globs(&rule.names),
            scopes: rule.scopes.clone(),
        };
        Self(rules.iter().map(rule).collect())
    }

    pub(super) fn looks_at_names(&self) -> bool {
        self.0.iter().any(|rule| !rule.names.is_empty())
    }

    /// All that is needed of what is known of a request so far. One thing may go by several names; each counts.
    pub(super) fn needed(&self, view: &View, method: Option<&str>, names: &[&str]) -> Vec<String> {
        let mut needed = Vec::new();
        for scope in self.0.iter().filter(|rule| rule.fits(view, method, names)).flat_map(|rule| &rule.scopes)
        {
            if !needed.contains(scope) {
                needed.push(scope.clone());
            }
        }
        needed
    }
}

impl Rule {
    fn fits(&self, view: &View, method: Option<&str>, names: &[&str]) -> bool {
        let any = |globs: &[WildMatch], text: &str| globs.iter().any(|glob| glob.matches(text));
        (self.views.is_empty() || self.views.contains(view))
            && (self.methods.is_empty() || method.is_some_and(|method| any(&self.methods, method)))
            && (self.names.is_empty() || names.iter().any(|name| any(&self.names, name)))
    }
}
