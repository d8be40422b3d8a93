use gateway_domain::{RawJson, RawObject};
use proptest::prelude::*;

use super::{load, valid::EVERYTHING};

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
        if let Err(errors) = load(broken.as_str()) {
            prop_assert!(!errors.0.is_empty());
            for error in &errors.0 {
                prop_assert!(!error.field.is_empty() && !error.message.is_empty(), "{error}");
            }
        }
    }
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
