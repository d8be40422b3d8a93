//! From what the operator wrote to what is decided by. Every fault is found, not only the first (P-10).

use std::collections::{BTreeSet, HashMap};

use super::{
    caller::{Callers, Claim},
    config::{ClientRules, Effect, PolicyConfig, Rule, What, Who},
    fault::{PolicyError, PolicyFault, PolicyFaults},
    pattern::{Globs, LONGEST, Names},
    thing::{Methods, Thing},
};

/// The most rules, clients, and entries of one list.
const MANY: usize = 1_000;

/// A rule that has been checked.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) effect: Effect,
    pub(super) who: Callers,
    pub(super) what: Thing,
}

/// The lists of one client, or of several that have the same.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) allow: Names,
    pub(super) deny: Names,
}

/// All rules, checked.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) default: Effect,
    pub(super) lists: Vec<Lists>,
    /// Which of `lists` are a client's.
    pub(super) clients: HashMap<Box<str>, usize>,
    pub(super) rules: Vec<Compiled>,
}

impl Rules {
    pub(super) fn compile(config: &PolicyConfig) -> Result<Self, PolicyFaults> {
        let mut check = Check::default();
        check.count("clients", config.clients.len());
        check.count("policy.rules", config.rules.len());
        let (lists, clients) = check.clients(&config.clients);
        let rules = { config.rules.iter().enumerate() }
            .map(|(at, rule)| check.rule(&format!("policy.rules[{at}]"), rule))
            .collect();
        match check.errors {
            errors if errors.is_empty() => Ok(Self { default: config.default, lists, clients, rules }),
            errors => Err(PolicyFaults { errors }),
        }
    }
}

#[derive(Default)]
struct Check {
    errors: Vec<PolicyError>,
}

impl Check {
    fn fault(&mut self, place: &str, fault: PolicyFault) {
        self.errors.push(PolicyError { place: place.to_owned(), fault });
    }

    fn count(&mut self, place: &str, count: usize) {
        if count > MANY {
            self.fault(place, PolicyFault::TooMany { limit: MANY });
        }
    }

    fn clients(&mut self, clients: &[ClientRules]) -> (Vec<Lists>, HashMap<Box<str>, usize>) {
        let (mut lists, mut known, mut names) = (Vec::new(), HashMap::new(), HashMap::new());
        for client in clients {
            let place = format!("clients.{}", client.name);
            if client.name.is_empty() {
                self.fault(&place, PolicyFault::Empty);
            }
            self.patterns(&format!("{place}.allow"), &client.allow);
            self.patterns(&format!("{place}.deny"), &client.deny);
            let at = *known.entry(same(client)).or_insert_with(|| {
                lists.push(Lists { allow: names_of(&client.allow), deny: names_of(&client.deny) });
                lists.len() - 1
            });
            if names.insert((*client.name).into(), at).is_some() {
                self.fault(&place, PolicyFault::DuplicateClient);
            }
        }
        (lists, names)
    }

    fn rule(&mut self, place: &str, rule: &Rule) -> Compiled {
        let who = self.who(place, &rule.who);
        if rule.effect == Effect::Allow && rule.who.subjects.is_some() && rule.who.issuers.is_none() {
            self.fault(&format!("{place}.subjects"), PolicyFault::SubjectOfAnyIssuer);
        }
        let what = Thing { through: rule.through, ..self.what(place, &rule.what) };
        Compiled { effect: rule.effect, who, what }
    }

    fn who(&mut self, place: &str, who: &Who) -> Callers {
        let has_token =
            who.issuers.is_some() || who.subjects.is_some() || who.scopes.is_some() || who.claims.is_some();
        if who.clients.is_some() && has_token {
            self.fault(place, PolicyFault::ClientAndToken);
        }
        Callers {
            clients: self.globs(&format!("{place}.clients"), &who.clients),
            issuers: self.globs(&format!("{place}.issuers"), &who.issuers),
            subjects: self.globs(&format!("{place}.subjects"), &who.subjects),
            scopes: self
                .texts(&format!("{place}.scopes"), &who.scopes)
                .map(|scope| (**scope).into())
                .collect(),
            claims: self.claims(&format!("{place}.claims"), who),
        }
    }

    fn claims(&mut self, place: &str, who: &Who) -> Vec<Claim> {
        let Some(claims) = &who.claims else { return Vec::new() };
        if claims.is_empty() {
            self.fault(place, PolicyFault::EmptyList);
        }
        let mut compiled = Vec::with_capacity(claims.len());
        for (name, values) in claims {
            let place = format!("{place}.{name:?}");
            if values.is_empty() {
                self.fault(&place, PolicyFault::EmptyList);
            }
            self.count(&place, values.len());
            match Claim::new(name, values) {
                Some(claim) => compiled.push(claim),
                None => self.fault(&place, PolicyFault::Pointer),
            }
        }
        compiled
    }

    fn what(&mut self, place: &str, what: &What) -> Thing {
        let names = format!("{place}.names");
        Thing {
            names: what.names.as_ref().map(|list| names_of(self.list(&names, list))),
            downstreams: self.globs(&format!("{place}.downstreams"), &what.downstreams),
            methods: self.methods(&format!("{place}.methods"), what),
            read_only: what.read_only,
            destructive: what.destructive,
            through: None,
        }
    }

    fn methods(&mut self, place: &str, what: &What) -> Option<Methods> {
        let patterns = what.methods.as_ref()?;
        for (at, pattern) in self.list(place, patterns).iter().enumerate() {
            if Methods::of(&globs_of(std::slice::from_ref(pattern))).is_empty() {
                let known = Methods::known().collect::<Vec<_>>().join(", ");
                let fault = PolicyFault::UnknownMethod { pattern: pattern.clone(), known };
                self.fault(&format!("{place}[{at}]"), fault);
            }
        }
        Some(Methods::of(&globs_of(patterns)))
    }

    fn globs(&mut self, place: &str, list: &Option<Vec<String>>) -> Option<Globs> {
        list.as_ref().map(|list| globs_of(self.list(place, list)))
    }

    fn texts<'a>(
        &mut self,
        place: &str,
        list: &'a Option<Vec<String>>,
    ) -> impl Iterator<Item = &'a String> + use<'a> {
        if let Some(list) = list {
            self.list(place, list);
        }
        list.iter().flatten()
    }

    /// A list that must have something in it.
    fn list<'a>(&mut self, place: &str, list: &'a [String]) -> &'a [String] {
        if list.is_empty() {
            self.fault(place, PolicyFault::EmptyList);
        }
        self.patterns(place, list);
        list
    }

    fn patterns(&mut self, place: &str, patterns: &[String]) {
        self.count(place, patterns.len());
        for (at, pattern) in patterns.iter().enumerate() {
            if let Some(fault) = fault_of(pattern) {
                self.fault(&format!("{place}[{at}]"), fault);
            }
        }
    }
}

fn fault_of(pattern: &str) -> Option<PolicyFault> {
    let control = pattern.chars().find(|c| c.is_control());
    match control {
        _ if pattern.is_empty() => Some(PolicyFault::Empty),
        _ if pattern.len() > LONGEST => Some(PolicyFault::TooLong { limit: LONGEST }),
        Some(character) => Some(PolicyFault::Control { character: u32::from(character) }),
        None => None,
    }
}

/// What is equal for clients with the same lists, whatever their order.
fn same(client: &ClientRules) -> [BTreeSet<&String>; 2] {
    [&client.allow, &client.deny].map(|list| list.iter().collect())
}

fn names_of(patterns: &[String]) -> Names {
    Names::new(patterns.iter().map(String::as_str))
}

fn globs_of(patterns: &[String]) -> Globs {
    Globs::new(patterns.iter().map(String::as_str))
}
