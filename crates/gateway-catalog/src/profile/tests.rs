use proptest::prelude::*;

use super::*;

fn profile(renames: &[(&str, &str)]) -> Profile {
    let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    Profile {
        name: DownstreamName::parse("desk").unwrap(),
        downstreams: Vec::new(),
        tools: ToolFilter::new(&[], &["d__no*".into()]),
        renames: renames.iter().map(own).collect(),
        workflows: Vec::new(),
        instructions: None,
    }
}

#[test]
fn new_names_are_unique_and_fit_and_are_no_other_tools() {
    let long = "n".repeat(FitRules::default().max_length + 1);
    for (renames, reason) in [
        (vec![("d__a", "a"), ("d__b", "b")], None),
        (vec![("d__a", "d__a")], None),
        (vec![("d__a", "a"), ("d__b", "a")], Some("another tool is renamed to it")),
        (vec![("d__a", "")], Some("a name is not empty")),
        (vec![("d__a", "d__b")], Some("it has `__` in it, which separates downstream and tool")),
        (vec![("d__a", "a b")], Some("it has characters that names may not have")),
        (vec![("d__a", &*long)], Some("it is longer than names may be")),
        (vec![("d__a", &long[1..])], None),
    ] {
        let made = Profiles::new(vec![profile(&renames)], &FitRules::default());
        let wrong = made.err().map(|error| match error {
            ProfileError::Rename { reason, .. } => reason,
            ProfileError::Twice { .. } => panic!("there is one"),
        });
        assert_eq!(wrong, reason, "{renames:?}");
    }
    let twice = Profiles::new(vec![profile(&[]), profile(&[])], &FitRules::default());
    assert_eq!(twice.err().map(|error| error.to_string()).as_deref(), Some("there are two profiles `desk`"));
}

proptest! {
    #[test]
    fn a_name_leads_back_to_the_tool_that_has_it(
        names in prop::collection::vec("d__(no)?[ab]{1,2}", 1..6), new in prop::collection::vec("[abc]{1,2}", 0..4)
    ) {
        let mut pairs: BTreeMap<&str, &str> = BTreeMap::new();
        for (exposed, name) in names.iter().zip(&new) {
            if !pairs.values().any(|taken| *taken == name) {
                pairs.insert(exposed, name);
            }
        }
        let pairs: Vec<_> = pairs.into_iter().collect();
        let compiled = Compiled::new(profile(&pairs), &FitRules::default()).unwrap();
        for exposed in &names {
            match compiled.name_of(exposed) {
                Some(name) => prop_assert_eq!(compiled.exposed(name), Some(&**exposed)),
                None => prop_assert!(exposed.starts_with("d__no")),
            }
            if pairs.iter().any(|(renamed, _)| renamed == exposed) {
                prop_assert_eq!(compiled.exposed(exposed), None, "it has another name here");
            }
        }
    }
}
