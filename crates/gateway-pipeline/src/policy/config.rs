use std::collections::{BTreeMap, HashSet};

/// The rules, as the operator wrote them. [`Policy`](super::Policy) checks them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyConfig {
    /// What is decided where no rule speaks. Default [`Effect::Deny`] (P-49).
    pub default: Effect,
    /// The lists of configured clients, each client once.
    pub clients: Vec<ClientRules>,
    /// What is ruled for several, or with more conditions. At most 1,000.
    pub rules: Vec<Rule>,
    /// The exposed names of the tools that are pinned (P-50); `None`: tools are not pinned.
    pub pinned: Option<HashSet<Box<str>>>,
    /// For how many callers it is remembered which rules are about them, and how many sets of rules are kept. For
    /// more it is worked out again. Default 1,024.
    pub remembered: usize,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        let (clients, rules) = (Vec::new(), Vec::new());
        Self { default: Effect::Deny, clients, rules, pinned: None, remembered: 1_024 }
    }
}

/// What a rule does, or what is done without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// It may be done.
    Allow,
    /// It may not be done.
    #[default]
    Deny,
}

/// What one configured client may do: patterns over names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientRules {
    /// The client's name.
    pub name: String,
    /// What it may do. Without any, what rules allow.
    pub allow: Vec<String>,
    /// What it may not do, whatever allows it.
    pub deny: Vec<String>,
}

/// One rule. It is about an access if all its conditions hold; a condition that is not there holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// What it does.
    pub effect: Effect,
    /// Who it is about.
    pub who: Who,
    /// What it is about.
    pub what: What,
    /// By which way; `None`: by any.
    pub through: Option<Through>,
}

/// The callers a rule is about; without a condition all, anonymous ones included. A list that is there is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Who {
    /// Patterns over names of configured clients. Not together with the others: nobody is both.
    pub clients: Option<Vec<String>>,
    /// Patterns over issuers of tokens.
    pub issuers: Option<Vec<String>>,
    /// Patterns over subjects of tokens. To allow something, with `issuers`: a subject is somebody's name at one
    /// issuer only.
    pub subjects: Option<Vec<String>>,
    /// Scopes, all of which the token must have.
    pub scopes: Option<Vec<String>>,
    /// Claims, of each of which the token must have one of the values: as the claim's value, or as an element of it
    /// if it is an array. Numbers and truth values are written as in JSON. A name that begins with `/` is a JSON
    /// Pointer (RFC 6901) to a claim inside others.
    pub claims: Option<BTreeMap<String, Vec<String>>>,
}

/// What a rule is about; without a condition everything. A list that is there is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct What {
    /// Patterns over names.
    pub names: Option<Vec<String>>,
    /// Patterns over names of downstreams. Workflows are no downstream's.
    pub downstreams: Option<Vec<String>>,
    /// Patterns over methods, as [`Act::method`](gateway_domain::Act::method) names them.
    pub methods: Option<Vec<String>>,
    /// Whether the tool's annotations say that it only reads (`readOnlyHint`); without them it does not. Only tools
    /// of downstreams have any.
    pub read_only: Option<bool>,
    /// Whether the tool may destroy something: it does not only read, and its annotations do not say otherwise
    /// (`destructiveHint`). Only tools of downstreams have any.
    pub destructive: Option<bool>,
}

/// By which way something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Through {
    /// Only as a step of a workflow that the caller runs (requirements §7 item 10).
    Composites,
    /// Only what the caller asks for itself.
    Caller,
}
