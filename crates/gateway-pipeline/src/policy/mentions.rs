//! What rules name that only others know.

use gateway_domain::{DownstreamName, NAMESPACE_SEPARATOR};

use super::{
    config::{PolicyConfig, Rule},
    pattern::is_wild,
};

/// A name in the rules that should be somebody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Where it stands, as in a [`PolicyError`](super::PolicyError).
    pub place: String,
    /// Whose name it is.
    pub what: Mentioned,
}

/// Who is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mentioned {
    /// A configured client, by its full name.
    Client(String),
    /// A downstream, by its full name: in a list of downstreams, or in front of `__`.
    Downstream(String),
}

/// All full names of clients and downstreams. Patterns that could be about several are none.
pub(super) fn mentions(config: &PolicyConfig) -> Vec<Mention> {
    let mut found = Vec::new();
    for client in &config.clients {
        for (list, patterns) in [("allow", &client.allow), ("deny", &client.deny)] {
            add(&mut found, &format!("clients.{}.{list}", client.name), patterns, downstream_in);
        }
    }
    for (at, rule) in config.rules.iter().enumerate() {
        of_rule(&mut found, &format!("policy.rules[{at}]"), rule);
    }
    found
}

fn of_rule(found: &mut Vec<Mention>, place: &str, rule: &Rule) {
    let lists = [
        ("clients", &rule.who.clients, (|text| full(text).map(Mentioned::Client)) as Reading),
        ("names", &rule.what.names, downstream_in),
        ("downstreams", &rule.what.downstreams, |text| full(text).map(Mentioned::Downstream)),
    ];
    for (list, patterns, reading) in lists {
        add(found, &format!("{place}.{list}"), patterns.as_deref().unwrap_or_default(), reading);
    }
}

/// Who is named in a pattern.
type Reading = fn(&str) -> Option<Mentioned>;

fn add(found: &mut Vec<Mention>, place: &str, patterns: &[String], reading: Reading) {
    let all = patterns.iter().enumerate();
    found.extend(all.filter_map(|(at, pattern)| {
        Some(Mention { place: format!("{place}[{at}]"), what: reading(pattern)? })
    }));
}

fn full(text: &str) -> Option<String> {
    (!is_wild(text)).then(|| text.to_owned())
}

/// The downstream in front of the separator. What cannot be one's name is the beginning of something else, as of a
/// URI.
fn downstream_in(pattern: &str) -> Option<Mentioned> {
    let (downstream, _) = pattern.split_once(NAMESPACE_SEPARATOR)?;
    DownstreamName::parse(downstream).ok().map(|name| Mentioned::Downstream(name.to_string()))
}
