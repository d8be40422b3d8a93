use std::collections::HashMap;

use super::{Effort, UriTemplate, mark_uri, unmark_uri};

/// Whose the URIs and templates are that downstreams have listed, and how they are shown side by side.
#[derive(Debug, Clone, Default)]
pub struct Ownership {
    /// In the order they were given.
    names: Vec<String>,
    /// Who has a URI, by index of its name; most have one.
    uris: HashMap<String, Vec<usize>>,
    /// Who has a template of this skeleton.
    skeletons: HashMap<String, Vec<usize>>,
    templates: Vec<(usize, UriTemplate)>,
}

/// What one downstream has.
#[derive(Debug, Clone, Default)]
pub struct Owned<'a> {
    /// Its name.
    pub downstream: &'a str,
    /// Its URIs: those it lists, and those that its tools refer to.
    pub uris: Vec<&'a str>,
    /// Its templates.
    pub templates: Vec<&'a str>,
}

/// Who may have a URI that a client names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owners<'a> {
    /// It is a marked form: this downstream, by this own URI.
    Marked(&'a str, String),
    /// Those that list it or have a template for it, by the same URI.
    Known(Vec<&'a str>),
    /// Nothing is known of it.
    Unknown,
}

impl Owners<'_> {
    /// How the URI is shown that is this downstream's too; `None`: as it is.
    pub fn shown_uri(&self, downstream: &str, uri: &str) -> Option<String> {
        let is_its_own = match self {
            Self::Marked(..) => false,
            Self::Known(owners) => *owners == [downstream],
            Self::Unknown => true,
        };
        if is_its_own { None } else { mark_uri(downstream, uri) }
    }
}

impl Ownership {
    /// Notes who has what. Downstreams without anything count too: a URI that looks marked with their name is
    /// theirs.
    pub fn new<'a>(all: impl IntoIterator<Item = Owned<'a>>) -> Self {
        let mut ownership = Self::default();
        for owned in all {
            let index = ownership.names.len();
            ownership.names.push(owned.downstream.to_owned());
            for uri in owned.uris {
                note(&mut ownership.uris, uri.to_owned(), index);
            }
            for template in owned.templates {
                note(&mut ownership.skeletons, UriTemplate::skeleton(template), index);
                ownership.templates.extend(UriTemplate::parse(template).map(|compiled| (index, compiled)));
            }
        }
        ownership
    }

    /// How a URI of this downstream is shown; `None`: as it is. It is, if that leads back to this downstream and no
    /// other, or if nobody knows it.
    pub fn shown_uri(&self, downstream: &str, uri: &str) -> Option<String> {
        self.owners(uri).shown_uri(downstream, uri)
    }

    /// How a template of this downstream is shown; `None`: as it is.
    pub fn shown_template(&self, downstream: &str, template: &str) -> Option<String> {
        let looks_marked = unmark_uri(template).is_some_and(|(name, _)| self.name(name).is_some());
        let owners = self.skeletons.get(&UriTemplate::skeleton(template));
        let is_shared = owners.is_some_and(|owners| owners.iter().any(|&at| self.names[at] != downstream));
        if looks_marked || is_shared { mark_uri(downstream, template) } else { None }
    }

    /// Who may have a URI, in the order of certainty: a mark, lists, templates. What takes too much effort to tell
    /// is unknown.
    pub fn owners(&self, uri: &str) -> Owners<'_> {
        self.owners_within(uri, &mut Effort::default()).unwrap_or(Owners::Unknown)
    }

    /// The same as far as the effort goes; beyond it `None`.
    pub fn owners_within(&self, uri: &str, effort: &mut Effort) -> Option<Owners<'_>> {
        effort.spend(self.names.len() + uri.len() + 100)?;
        if let Some((name, own)) = unmark_uri(uri)
            && let Some(name) = self.name(name)
        {
            return Some(Owners::Marked(name, own));
        }
        if let Some(owners) = self.uris.get(uri) {
            return Some(Owners::Known(owners.iter().map(|&at| self.names[at].as_str()).collect()));
        }
        let mut matching: Vec<_> = Vec::new();
        for (at, template) in &self.templates {
            let name = self.names[*at].as_str();
            if matching.last() != Some(&name) && template.matches_within(uri, effort)? {
                matching.push(name);
            }
        }
        Some(if matching.is_empty() { Owners::Unknown } else { Owners::Known(matching) })
    }

    /// Who may have a template that a client names as it was shown, or a URI.
    pub fn owners_of_template(&self, template: &str) -> Owners<'_> {
        match self.owners(template) {
            marked @ Owners::Marked(..) => marked,
            other => match self.skeletons.get(&UriTemplate::skeleton(template)) {
                Some(owners) => Owners::Known(owners.iter().map(|&at| self.names[at].as_str()).collect()),
                None => other,
            },
        }
    }

    /// The downstream of this name. URI parsers write hosts in lower case, so case is only looked at where it
    /// tells two apart.
    fn name(&self, name: &str) -> Option<&str> {
        let names = || self.names.iter().map(String::as_str);
        names().find(|known| *known == name).or_else(|| {
            let mut similar = names().filter(|known| known.eq_ignore_ascii_case(name));
            similar.next().filter(|_| similar.next().is_none())
        })
    }
}

fn note(owners: &mut HashMap<String, Vec<usize>>, key: String, index: usize) {
    let owners = owners.entry(key).or_default();
    if owners.last() != Some(&index) {
        owners.push(index);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn two() -> Ownership {
        Ownership::new([
            Owned { downstream: "a", uris: vec!["ui://v", "x:1"], templates: vec!["n://{id}", "q:{+p}"] },
            Owned { downstream: "B", uris: vec!["ui://v", "x:2"], templates: vec!["n://{name}", "x:{n}"] },
            Owned { downstream: "c", ..Owned::default() },
        ])
    }

    #[test]
    fn uris_are_marked_only_where_they_would_lead_elsewhere() {
        #[track_caller]
        fn check(downstream: &str, uri: &str, shown: Option<&str>) {
            assert_eq!(two().shown_uri(downstream, uri).as_deref(), shown, "{uri} of {downstream}");
        }
        check("a", "x:1", None);
        check("B", "x:2", None);
        check("a", "ui://v", Some("ui://a__v"));
        check("B", "ui://v", Some("ui://B__v"));
        // Listed by another, or of another's template.
        check("c", "x:1", Some("x:c__1"));
        check("a", "x:3", Some("x:a__3"));
        check("B", "x:3", None);
        check("a", "n://1", Some("n://a__1"));
        check("a", "free://x", None);
        check("a", "free://c__x", Some("free://a__c__x"));
        check("a", "free://d__x", None);
        check("a", "https://h", None);
    }

    #[test]
    fn templates_are_marked_where_another_expands_to_the_same() {
        #[track_caller]
        fn check(downstream: &str, template: &str, shown: Option<&str>) {
            assert_eq!(two().shown_template(downstream, template).as_deref(), shown);
        }
        check("a", "n://{id}", Some("n://a__{id}"));
        check("B", "n://{name}", Some("n://B__{name}"));
        check("a", "q:{+p}", None);
        check("B", "x:{n}", None);
        check("a", "z://c__{n}", Some("z://a__c__{n}"));
    }

    #[test]
    fn owners_are_found_by_mark_list_and_template() {
        let ownership = two();
        let known = |names: &[&'static str]| Owners::Known(names.to_vec());
        for (uri, expected) in [
            ("x:1", known(&["a"])),
            ("ui://v", known(&["a", "B"])),
            ("ui://a__v", Owners::Marked("a", "ui://v".into())),
            ("ui://b__v", Owners::Marked("B", "ui://v".into())),
            ("ui://d__v", Owners::Unknown),
            ("x:3", known(&["B"])),
            ("n://7", known(&["a", "B"])),
            ("q:/any/thing", known(&["a"])),
            ("free:1", Owners::Unknown),
        ] {
            assert_eq!(ownership.owners(uri), expected, "{uri}");
        }
        assert_eq!(ownership.owners_of_template("n://B__{name}"), Owners::Marked("B", "n://{name}".into()));
        assert_eq!(ownership.owners_of_template("q:{+p}"), known(&["a"]));
        assert_eq!(ownership.owners_of_template("x:1"), known(&["a"]));
    }

    #[test]
    fn a_hostile_list_costs_no_more_than_the_effort() {
        // Each template could match, and costs all there is to look at.
        let template = format!("x:{}", "{+a}a".repeat(30));
        let templates = vec![template.as_str(); 1_000];
        let ownership = Ownership::new([Owned { downstream: "a", templates, ..Owned::default() }, b()]);
        let uri = format!("x:{}b", "a".repeat(8_000));
        let mut effort = Effort::new(1_000_000);
        for _ in 0..10_000 {
            assert_eq!(ownership.owners_within(&uri, &mut effort), None);
        }
        assert_eq!(ownership.owners(&uri), Owners::Unknown);
        assert_eq!(ownership.owners_within("y:1", &mut effort), None, "nothing is left");
        assert_eq!(ownership.owners("y:1"), Owners::Known(vec!["b"]), "another request has its own");
    }

    fn b() -> Owned<'static> {
        Owned { downstream: "b", uris: vec!["y:1", "y:2"], ..Owned::default() }
    }

    proptest! {
        /// What is shown is shown once, and leads back to whose it is.
        #[test]
        fn what_is_shown_leads_back(
            lists in prop::collection::vec(prop::collection::btree_set("x:(//)?(a__|b__)?[ab_]{0,2}", 0..5), 1..4),
        ) {
            let names = ["a", "b", "a_b"];
            let owned = names.iter().zip(&lists).map(|(downstream, uris)| Owned {
                downstream,
                uris: uris.iter().map(String::as_str).collect(),
                templates: Vec::new(),
            });
            let ownership = Ownership::new(owned);
            let mut shown = HashMap::new();
            for (name, uris) in names.iter().zip(&lists) {
                for uri in uris {
                    let exposed = ownership.shown_uri(name, uri).unwrap_or_else(|| uri.clone());
                    let expected = if exposed == *uri {
                        Owners::Known(vec![*name])
                    } else {
                        Owners::Marked(name, uri.clone())
                    };
                    prop_assert_eq!(ownership.owners(&exposed), expected);
                    prop_assert!(shown.insert(exposed, (name, uri)).is_none(), "shown twice");
                }
            }
        }
    }
}
