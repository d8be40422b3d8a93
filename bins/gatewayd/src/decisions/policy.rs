use gateway_pipeline::policy::{ClientRules, Effect, PolicyConfig, Rule, Through, What, Who};

use crate::{
    config::{self, Config, PinMode},
    edge,
};

/// The rules. What no rule is about nobody may do, unless nobody has to say who it is.
pub(crate) fn config(config: &Config) -> PolicyConfig {
    let security = &config.security;
    let is_closed = edge::is_closed(config);
    let allows = security.policy.allows_by_default.unwrap_or(!is_closed);
    let pins = &security.pins;
    PolicyConfig {
        default: effect(allows),
        clients: config.clients.iter().map(client).collect(),
        rules: security.policy.rules.iter().map(rule).collect(),
        pinned: (pins.mode != PinMode::Off).then(|| pins.accepted.names()),
        ..PolicyConfig::default()
    }
}

fn effect(allows: bool) -> Effect {
    if allows { Effect::Allow } else { Effect::Deny }
}

fn client(client: &config::Client) -> ClientRules {
    let config::Client { name, allow, deny, .. } = client;
    ClientRules { name: name.clone(), allow: allow.clone(), deny: deny.clone() }
}

fn rule(rule: &config::Rule) -> Rule {
    let some = |list: &Vec<String>| Some(list.clone()).filter(|list| !list.is_empty());
    Rule {
        effect: effect(rule.allows),
        who: Who {
            clients: some(&rule.clients),
            issuers: some(&rule.issuers),
            subjects: some(&rule.subjects),
            scopes: some(&rule.scopes),
            claims: Some(rule.claims.clone()).filter(|claims| !claims.is_empty()),
        },
        what: What {
            names: some(&rule.names),
            downstreams: some(&rule.downstreams),
            methods: some(&rule.methods),
            read_only: rule.read_only,
            destructive: rule.destructive,
        },
        through: rule.through.map(|through| match through {
            config::Through::Workflows => Through::Composites,
            config::Through::Client => Through::Caller,
        }),
    }
}
