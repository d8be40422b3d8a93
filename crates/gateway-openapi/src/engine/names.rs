use std::collections::{BTreeMap, BTreeSet};

use super::Naming;
use crate::ir::Operation;

/// No limit is taken that leaves no room for a suffix.
const SHORTEST_LIMIT: usize = 16;

/// `_` and eight hexadecimal digits.
const SUFFIX: usize = 9;

/// Why a tool cannot have the name that the operator gave it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not 1 to `max_length` letters, digits and `_`, or with underscores that would be collapsed.
    #[error(
        "{name:?} is no name for a tool: it must be 1 to {max_length} letters, digits and single '_' inside"
    )]
    Illegal {
        /// As it was given.
        name: String,
        /// The limit in force.
        max_length: usize,
    },
    /// Two operations were given the same one.
    #[error("two operations are to be called {name:?}")]
    Repeated {
        /// As it was given.
        name: String,
    },
}

/// The names of the tools made of operations, in the same order: legal, and no two equal (E-42, E-W8, E-W9).
///
/// `given` is what the operator calls the operation; it is taken as it is, unless another operation that is not given
/// one has that name by itself: that one keeps it, as clients may know it. Otherwise the id is made to fit. Ids that are
/// then equal, or equal to a given name, or longer than [`Naming::max_length`] (at least 16) are cut and end in eight
/// digits that follow from method and path alone, so that they stay what they are when the API grows.
///
/// # Errors
/// [`NameError`] for names that were given.
pub fn names<'a>(
    operations: impl IntoIterator<Item = (&'a Operation, Option<&'a str>)>,
    naming: &Naming,
) -> Result<Vec<String>, NameError> {
    let mut operations: Vec<_> = operations.into_iter().collect();
    given(operations.iter().filter_map(|(_, given)| *given), naming)?;
    yield_to_owners(&mut operations, naming);
    let mut taken: BTreeSet<_> =
        operations.iter().filter_map(|(_, given)| given.map(str::to_owned)).collect();
    let fitted: Vec<_> = operations
        .iter()
        .map(|(operation, given)| given.map_or_else(|| fit(&operation.id, naming), str::to_owned))
        .collect();
    let mut counts = BTreeMap::<_, usize>::new();
    fitted.iter().for_each(|name| *counts.entry(name.as_str()).or_default() += 1);
    let is_final = |at: usize| {
        let name = fitted[at].as_str();
        operations[at].1.is_some() || (name.len() <= limit(naming) && counts.get(name) == Some(&1))
    };
    taken.extend((0..fitted.len()).filter(|at| is_final(*at)).map(|at| fitted[at].clone()));
    let name = |at: usize| match is_final(at) {
        true => fitted[at].clone(),
        false => suffixed(operations[at].0, &fitted[at], naming, &mut taken),
    };
    Ok((0..fitted.len()).map(name).collect())
}

/// Takes back the names given that other operations have by themselves. An operation without its given name has its own
/// again, so this is done until none is left; each round takes one back at least.
fn yield_to_owners(operations: &mut [(&Operation, Option<&str>)], naming: &Naming) {
    let own: Vec<_> = operations.iter().map(|(operation, _)| fit(&operation.id, naming)).collect();
    let mut counts = BTreeMap::<_, usize>::new();
    own.iter().for_each(|name| *counts.entry(name.as_str()).or_default() += 1);
    loop {
        let pairs = std::iter::zip(&own, operations.iter());
        let owned: BTreeSet<_> = pairs
            .filter(|(name, (_, given))| given.is_none() && counts.get(name.as_str()) == Some(&1))
            .map(|(name, _)| name.as_str())
            .collect();
        let mut is_done = true;
        for (_, given) in operations.iter_mut() {
            if given.take_if(|given| owned.contains(*given)).is_some() {
                is_done = false;
            }
        }
        if is_done {
            return;
        }
    }
}

/// Whether the operator may give these names.
fn given<'a>(names: impl Iterator<Item = &'a str>, naming: &Naming) -> Result<(), NameError> {
    let mut taken = BTreeSet::new();
    for name in names {
        if name.len() > limit(naming) || fit(name, naming) != name {
            return Err(NameError::Illegal { name: name.to_owned(), max_length: limit(naming) });
        }
        if !taken.insert(name.to_owned()) {
            return Err(NameError::Repeated { name: name.to_owned() });
        }
    }
    Ok(())
}

fn limit(naming: &Naming) -> usize {
    naming.max_length.max(SHORTEST_LIMIT)
}

/// The id in letters, digits and `_`, of any length but none.
fn fit(id: &str, naming: &Naming) -> String {
    let legal = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let mut name: String = legal.collect();
    if naming.collapse_underscores {
        let parts: Vec<_> = name.split('_').filter(|part| !part.is_empty()).collect();
        name = parts.join("_");
    }
    if name.is_empty() { "operation".to_owned() } else { name }
}

/// Ends after a few rounds: another is only needed where 32 bits are equal, or method and path are.
fn suffixed(operation: &Operation, name: &str, naming: &Naming, taken: &mut BTreeSet<String>) -> String {
    let mut stem = &name[..name.len().min(limit(naming) - SUFFIX)];
    if naming.collapse_underscores {
        stem = stem.trim_end_matches('_');
    }
    let mut place = format!("{} {}", operation.method, operation.path);
    loop {
        let name = format!("{stem}_{:08x}", hash(&place));
        if taken.insert(name.clone()) {
            return name;
        }
        place.push('+');
    }
}

/// FNV-1a over 64 bits, folded to 32: the same in every build, unlike the hasher of the standard library.
fn hash(text: &str) -> u32 {
    let wide = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    u32::try_from((wide >> 32) ^ (wide & 0xffff_ffff)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{NameError, hash, names};
    use crate::{
        engine::Naming,
        ir::{Method, Operation},
    };

    fn operation(id: &str, path: &str) -> Operation {
        Operation::new(id, Method::Get, path)
    }

    fn named(ids: &[(&str, &str, Option<&str>)], naming: &Naming) -> Result<Vec<String>, NameError> {
        let operations: Vec<_> = ids.iter().map(|(id, path, given)| (operation(id, path), *given)).collect();
        names(operations.iter().map(|(operation, given)| (operation, *given)), naming)
    }

    #[test]
    fn ids_are_names_unless_they_clash_or_are_too_long() {
        let long = "x".repeat(70);
        let ids = [
            ("get_pet", "/a", None),
            ("same", "/b", None),
            ("same", "/c", None),
            (long.as_str(), "/d", None),
            ("a.b-c", "/e", None),
            ("", "/f", None),
        ];
        let names = named(&ids, &Naming::default()).unwrap();
        assert_eq!(names[0], "get_pet");
        assert_eq!(names[1], format!("same_{:08x}", hash("GET /b")));
        assert_eq!(names[2], format!("same_{:08x}", hash("GET /c")));
        assert_eq!(names[3], format!("{}_{:08x}", "x".repeat(55), hash("GET /d")));
        assert_eq!(names[4..], ["a_b_c", "operation"]);
    }

    #[test]
    fn a_suffix_is_the_same_in_every_build() {
        assert_eq!(format!("{:08x}", hash("GET /pets/{id}")), "533c9326");
    }

    #[test]
    fn names_that_were_given_are_taken_unless_another_has_them_already() {
        let suffixed = |path: &str| format!("list_{:08x}", hash(path));
        let rows: [(&[_], &[&str]); 5] = [
            (&[("list", "/a", None), ("other", "/b", Some("list"))], &["list", "other"]),
            (&[("a", "/a", Some("b")), ("b", "/b", Some("a"))], &["b", "a"]),
            (&[("a", "/a", Some("b")), ("b", "/b", Some("c")), ("c", "/c", None)], &["a", "b", "c"]),
            (&[("list", "/a", Some("list")), ("list", "/b", None)], &["list", &suffixed("GET /b")]),
            (
                &[("list", "/a", Some("x")), ("list", "/b", None), ("y", "/c", Some("list"))],
                &["x", &suffixed("GET /b"), "list"],
            ),
        ];
        for (ids, expected) in rows {
            assert_eq!(named(ids, &Naming::default()).unwrap(), expected, "{ids:?}");
        }
        for given in ["", "a b", "ü", &"x".repeat(65)] {
            let error = named(&[("a", "/a", Some(given))], &Naming::default()).unwrap_err();
            assert!(matches!(error, NameError::Illegal { .. }), "{given}");
        }
        let twice = named(&[("a", "/a", Some("n")), ("b", "/b", Some("n"))], &Naming::default());
        assert_eq!(twice, Err(NameError::Repeated { name: "n".into() }));
    }

    #[test]
    fn runs_of_underscores_are_collapsed_where_that_is_asked_for() {
        let naming = Naming { collapse_underscores: true, ..Naming::default() };
        let names = named(&[("_a__b_", "/a", None), ("___", "/b", None)], &naming).unwrap();
        assert_eq!(names, ["a_b", "operation"]);
        assert!(named(&[("a", "/a", Some("a__b"))], &naming).is_err());
        assert!(named(&[("a", "/a", Some("a__b"))], &Naming::default()).is_ok());
    }

    proptest! {
        #[test]
        fn names_are_legal_and_unique(
            ids in prop::collection::vec(("\\PC{0,3}|[a_]{0,4}|[a-b_]{60,70}", "/[ab]?", any::<bool>()), 0..40),
            max_length in 0_usize..80,
            collapse_underscores: bool,
        ) {
            let naming = Naming { max_length, collapse_underscores };
            let operations: Vec<_> = ids.iter().map(|(id, path, _)| operation(id, path)).collect();
            let given: Vec<_> = (0..ids.len()).map(|n| ids[n].2.then(|| format!("given_{n}"))).collect();
            let pairs = operations.iter().zip(given.iter().map(Option::as_deref));
            let names = names(pairs, &naming).unwrap();
            prop_assert_eq!(names.len(), ids.len());
            prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), ids.len());
            for name in &names {
                prop_assert!((1..=max_length.max(16)).contains(&name.len()), "{}", name);
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{}", name);
                let collapsed = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
                prop_assert!(collapsed || !collapse_underscores, "{}", name);
            }
        }
    }
}
