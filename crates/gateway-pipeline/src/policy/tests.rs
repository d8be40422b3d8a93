mod classes;
mod decisions;
mod faults;
mod laws;
mod stage;
mod uris;
mod use_of;

use std::collections::BTreeMap;

use gateway_domain::{
    Access, Act, Caller, Decider, Decision, DownstreamName, Grants, Origin, RawJson, RawObject, Tool,
};

use super::*;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn client(name: &str, allow: &[&str], deny: &[&str]) -> ClientRules {
    ClientRules { name: name.to_owned(), allow: texts(allow), deny: texts(deny) }
}

fn rule(effect: Effect, who: Who, what: What) -> Rule {
    Rule { effect, who, what, through: None }
}

fn config(clients: Vec<ClientRules>, rules: Vec<Rule>) -> PolicyConfig {
    PolicyConfig { clients, rules, ..PolicyConfig::default() }
}

fn names(names: &[&str]) -> What {
    What { names: Some(texts(names)), ..What::default() }
}

fn user(issuer: &str, subject: &str, scopes: &[&str], claims: &str) -> Caller {
    let scopes = scopes.iter().map(|scope| (*scope).into()).collect();
    Caller::user(issuer, subject, Grants { scopes, claims: RawObject::parse(claims.to_owned()).unwrap() })
}

fn claims(wanted: &[(&str, &[&str])]) -> Who {
    let wanted = wanted.iter().map(|(name, values)| ((*name).to_owned(), texts(values)));
    Who { claims: Some(wanted.collect::<BTreeMap<_, _>>()), ..Who::default() }
}

/// An access that owns what it is about.
#[derive(Debug, Clone)]
struct Wish {
    act: Act,
    name: String,
    downstream: Option<DownstreamName>,
    tool: Option<Tool>,
    origin: Option<Origin>,
}

impl Wish {
    fn new(act: Act, name: &str, downstream: Option<&str>) -> Self {
        let downstream = downstream.map(|name| DownstreamName::parse(name).unwrap());
        Self { act, name: name.to_owned(), downstream, tool: None, origin: None }
    }

    /// Of a tool by its exposed name.
    fn tool(name: &str) -> Self {
        let (downstream, own) = name.split_once("__").unwrap();
        Self { tool: Some(Tool::new(own)), ..Self::new(Act::Call, name, Some(downstream)) }
    }

    fn annotated(name: &str, annotations: &str) -> Self {
        let wish = Self::tool(name);
        let annotations = RawJson::parse(annotations.to_owned()).unwrap();
        Self { tool: wish.tool.map(|tool| tool.with("annotations", &annotations)), ..wish }
    }

    fn in_workflow(self) -> Self {
        let origin = Origin { workflow: "w".into(), run: "r".into(), step: "s".into() };
        Self { origin: Some(origin), ..self }
    }

    fn access(&self) -> Access<'_> {
        Access {
            act: self.act,
            name: &self.name,
            downstream: self.downstream.as_ref(),
            tool: self.tool.as_ref(),
            origin: self.origin.as_ref(),
        }
    }

    fn decided(&self, policy: &Policy, caller: &Caller) -> Decision {
        policy.decide(caller, &self.access())
    }
}
