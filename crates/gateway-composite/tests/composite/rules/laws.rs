use std::collections::BTreeSet;

use gateway_composite::{DefinitionErrors, Workflow, WorkflowDefinition};
use gateway_domain::{RawJson, RawObject};
use proptest::prelude::*;

use super::{load, steps, valid::EVERYTHING};

proptest! {
    #[test]
    fn whatever_stands_anywhere_there_is_an_answer(
        picks in prop::collection::vec(0_usize..8, 0..8),
        value in prop::sample::select(VALUES),
    ) {
        let whole = RawJson::parse(EVERYTHING).expect("valid");
        let broken = replaced(&whole, &picks, value);
        if !broken.as_str().starts_with('{') {
            return Ok(());
        }
        let loaded = load(broken.as_str());
        let object = RawObject::try_from(broken).expect("an object");
        match WorkflowDefinition::read(&object, None) {
            // Form first, then the rules: together they say the same.
            Ok(read) => prop_assert_eq!(told(&Workflow::compile(read)), told(&loaded)),
            Err(form) => prop_assert!(form.iter().all(|error| told(&loaded).contains(&error.to_string()))),
        }
        if let Err(errors) = loaded {
            prop_assert!(errors.iter().count() > 0);
            for error in &errors {
                prop_assert!(!error.field.is_empty() && !error.message.is_empty(), "{error}");
            }
        }
    }

    #[test]
    fn steps_are_refused_if_and_only_if_they_wait_for_one_another(
        needs in prop::collection::vec(prop::collection::vec(0_usize..7, 0..3), 1..7),
    ) {
        let count = needs.len();
        let needs: Vec<Vec<usize>> =
            needs.into_iter().map(|needs| needs.into_iter().filter(|need| *need < count).collect()).collect();
        let told = load(&graph(&needs)).map_err(|errors| errors.to_string());
        prop_assert_eq!(told.is_ok(), can_all_be_done(&needs), "{:?}", told.err());
        for error in told.err().iter().flat_map(|told| told.split("; step")) {
            let Some((_, circle)) = error.split_once("goes in a circle, ") else { continue };
            let steps: Vec<usize> =
                circle.split('`').skip(1).step_by(2).map(|id| id[1..].parse().expect("an id")).collect();
            prop_assert!(steps.windows(2).all(|pair| needs[pair[0]].contains(&pair[1])), "{}", error);
        }
    }
}

/// What is said, in any order.
fn told(loaded: &Result<Workflow, DefinitionErrors>) -> BTreeSet<String> {
    loaded.as_ref().err().into_iter().flatten().map(ToString::to_string).collect()
}

/// A workflow whose step `s0` needs the first of these, and so on.
fn graph(needs: &[Vec<usize>]) -> String {
    let step = |(at, needs): (usize, &Vec<usize>)| {
        let needs: Vec<_> = needs.iter().map(|need| format!(r#""s{need}""#)).collect();
        format!(r#"{{"id": "s{at}", "tool": "t", "dependsOn": [{}]}}"#, needs.join(","))
    };
    steps(&needs.iter().enumerate().map(step).collect::<Vec<_>>().join(","))
}

/// Whether always some step that is left needs none that is left.
fn can_all_be_done(needs: &[Vec<usize>]) -> bool {
    let mut left: Vec<usize> = (0..needs.len()).collect();
    while !left.is_empty() {
        let before = left.clone();
        left.retain(|at| needs[*at].iter().any(|need| before.contains(need)));
        if left == before {
            return false;
        }
    }
    true
}

/// The same value with another in the place that the picks lead to.
fn replaced(whole: &RawJson, picks: &[usize], value: &str) -> RawJson {
    let Some((pick, picks)) = picks.split_first() else {
        return RawJson::parse(value.to_owned()).expect("JSON");
    };
    if let Ok(object) = RawObject::try_from(whole.clone()) {
        let Some((name, member)) = object.iter().nth(pick % object.len().max(1)) else {
            return whole.clone();
        };
        return object.edit().set(&name, replaced(&member, picks, value).as_bytes()).finish();
    }
    match whole.elements(usize::MAX) {
        Some(mut elements) if !elements.is_empty() => {
            let at = pick % elements.len();
            elements[at] = replaced(&elements[at], picks, value);
            RawJson::array(elements)
        }
        _ => RawJson::parse(value.to_owned()).expect("JSON"),
    }
}

const VALUES: &[&str] = &[
    "null",
    "true",
    "-1",
    "1e999",
    "99999999999999999999",
    "[]",
    "{}",
    r#""""#,
    r#""\u0000\ud83d\ude00""#,
    r#""{{""#,
    r#""{{ steps.stock.output.x }}""#,
    r#""{{ steps }}""#,
    r#"["stock", "stock", "order", "confirm"]"#,
    r#"{"": {"": ""}}"#,
    r#"{"type": "object", "properties": {"a": {"type": "array"}}}"#,
    r#"{"action": "retry", "retryCount": 4294967295}"#,
    "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
];
