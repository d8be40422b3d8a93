use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use gateway_domain::{RawJson, RawObject};
use proptest::prelude::*;

use super::{Inputs, Origin, bundle, input_schema};
use crate::{
    engine::{Argument, CallError, Reserved, arbitrary},
    ir::{Body, BodyFormat, Definitions, Location, Method, Operation, Param, references},
};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn operation(params: Vec<Param>, body: Option<Body>) -> Operation {
    Operation { params, body, ..Operation::new("id", Method::Get, "/") }
}

fn param(name: &str, location: Location, schema: &str) -> Param {
    Param { schema: Some(raw(schema)), ..Param::new(name, location) }
}

fn inputs(operation: &Operation) -> Inputs {
    Inputs::new(operation, &Reserved::default(), &BTreeMap::new(), 32 * 1024)
}

fn definitions(members: &[(&str, &str)]) -> Definitions {
    Definitions::new(members.iter().map(|(name, schema)| (Arc::from(*name), raw(schema))))
}

#[test]
fn parameters_are_properties_in_their_order_and_the_body_is_the_last() {
    let mut with_text = param("b", Location::Query, r#"{"type":"integer"}"#);
    with_text.description = Some("how \"many\"".into());
    let mut with_own = param("c", Location::Header, r#"{"description":"its own"}"#);
    with_own.description = Some("another".into());
    let mut boolean = param("d", Location::Cookie, "true");
    boolean.description = Some("nowhere to stand".into());
    let body = Body { required: true, ..Body::json(None) };
    let operation =
        operation(vec![Param::new("a", Location::Path), with_text, with_own, boolean], Some(body));
    assert_eq!(
        input_schema(&operation).as_str(),
        concat!(
            r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","description":"how \"many\""},"#,
            r#""c":{"description":"its own"},"d":true,"body":{"type":"object"}},"required":["a","body"]}"#
        )
    );
}

#[test]
fn an_operation_without_inputs_takes_an_object_and_requires_nothing() {
    assert_eq!(input_schema(&operation(vec![], None)).as_str(), r#"{"type":"object","properties":{}}"#);
}

#[test]
fn bodies_that_are_text_are_strings_if_nothing_is_known_of_them() {
    for format in [BodyFormat::Text, BodyFormat::Binary] {
        let body = Body { format, ..Body::json(Some(raw("{}"))) };
        let schema = input_schema(&operation(vec![], Some(body)));
        assert_eq!(schema.as_str(), r#"{"type":"object","properties":{"body":{"type":"string"}}}"#);
    }
}

#[test]
fn a_name_that_is_taken_gives_way_by_a_stable_rule() {
    let params = vec![
        Param::new("id", Location::Cookie),
        Param::new("id", Location::Header),
        Param::new("id", Location::Query),
        Param::new("id", Location::Path),
        Param::new("body", Location::Query),
        Param::new("id_in_query", Location::Cookie),
    ];
    let inputs = inputs(&operation(params, Some(Body::json(None))));
    let names: Vec<_> = inputs
        .params()
        .iter()
        .chain(inputs.body())
        .map(|origin| match origin {
            Origin::Argument(name) => name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        names,
        ["id_in_cookie", "id_in_header", "id_in_query_2", "id", "body", "id_in_query", "request_body"]
    );
    assert_eq!(inputs.notes().len(), 4);
}

#[test]
fn reserved_parameters_are_no_inputs() {
    let reserved = Reserved {
        headers: [http::HeaderName::from_static("x-api-key")].into(),
        query: BTreeSet::from(["api_key".to_owned()]),
        cookies: BTreeSet::from(["session".to_owned()]),
        ..Reserved::default()
    };
    let rows = [
        ("X-Client-IP", Location::Header),
        ("CF-Connecting-IP", Location::Header),
        ("X-Envoy-Original-Path", Location::Header),
        ("X-Host", Location::Header),
        ("X-Api-Key", Location::Header),
        ("Authorization", Location::Header),
        ("host", Location::Header),
        ("Content-Length", Location::Header),
        ("Transfer-Encoding", Location::Header),
        ("X-Forwarded-For", Location::Header),
        ("Mcp-Session-Id", Location::Header),
        ("X-HTTP-Method-Override", Location::Header),
        ("no header", Location::Header),
        ("X\r\nA", Location::Header),
        ("api_key", Location::Query),
        ("API_KEY[]", Location::Query),
        ("session", Location::Cookie),
    ];
    for (name, location) in rows {
        let operation = operation(vec![Param::new(name, location)], None);
        let inputs = Inputs::new(&operation, &reserved, &BTreeMap::new(), 1024);
        assert_eq!(inputs.params(), [Origin::Nowhere], "{name}");
        assert!(!inputs.schema().as_str().contains(name), "{name}");
        assert_eq!(inputs.notes().len(), 1, "{name}");
    }
}

#[test]
fn the_reason_why_a_parameter_is_no_input_is_the_right_one() {
    const SET: &str = "it is set by the configuration";
    const UNSET: &str = "it is for credentials, of which none are configured here";
    let name = http::HeaderName::from_static;
    let reserved = Reserved {
        headers: [name("x-set"), name("x-unset")].into(),
        query: ["set", "unset", "both", "BOTH"].map(str::to_owned).into(),
        cookies: ["set", "unset"].map(str::to_owned).into(),
        unset: [
            (Location::Header, "x-unset"),
            (Location::Query, "unset"),
            (Location::Query, "both"),
            (Location::Cookie, "unset"),
        ]
        .map(|(location, name)| (location, name.to_owned()))
        .into(),
    };
    for (name, location, expected) in [
        ("X-Set", Location::Header, SET),
        ("X-Unset", Location::Header, UNSET),
        ("Host", Location::Header, "the header is not the caller's to set"),
        ("set", Location::Query, SET),
        ("Unset[]", Location::Query, UNSET),
        ("both", Location::Query, SET),
        ("set", Location::Cookie, SET),
        ("unset", Location::Cookie, UNSET),
    ] {
        let operation = operation(vec![Param::new(name, location)], None);
        let notes = Inputs::new(&operation, &reserved, &BTreeMap::new(), 1024).notes().to_vec();
        assert!(matches!(&notes[..], [note] if note.ends_with(expected)), "{name}: {notes:?}");
    }
}

#[test]
fn what_the_operator_gives_is_not_asked_for() {
    let params = vec![
        Param::new("a", Location::Path),
        Param::new("b", Location::Query),
        Param::new("c", Location::Query),
        Param::new("Host", Location::Header),
    ];
    let arguments = BTreeMap::from([
        ("Host".to_owned(), Argument::Hidden),
        ("a".to_owned(), Argument::Fixed(raw("7"))),
        ("b".to_owned(), Argument::Hidden),
        ("z".to_owned(), Argument::Hidden),
    ]);
    let inputs = Inputs::new(&operation(params, None), &Reserved::default(), &arguments, 1024);
    assert_eq!(
        inputs.params(),
        [Origin::Fixed(raw("7")), Origin::Nowhere, Origin::Argument("c".into()), Origin::Nowhere]
    );
    assert_eq!(inputs.schema().as_str(), r#"{"type":"object","properties":{"c":{"type":"string"}}}"#);
    assert_eq!(inputs.strangers(), ["z"]);
    assert!(!format!("{inputs:?}{arguments:?}").contains('7'), "{inputs:?}{arguments:?}");
    assert_eq!(inputs.notes().last().unwrap(), "there is no input `z`, for which something is configured");
}

#[test]
fn definitions_are_bundled_with_their_cycles() {
    let operation = Operation {
        definitions: definitions(&[
            ("a", r##"{"properties":{"b":{"$ref":"#/$defs/b"}}}"##),
            ("b", r##"{"items":{"$ref":"#/$defs/a"}}"##),
            ("unused", "{}"),
        ]),
        ..operation(vec![param("p", Location::Query, r##"{"$ref":"#/$defs/a"}"##)], None)
    };
    assert_eq!(
        input_schema(&operation).as_str(),
        concat!(
            r##"{"type":"object","properties":{"p":{"$ref":"#/$defs/a"}},"$defs":{"##,
            r##""a":{"properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"items":{"$ref":"#/$defs/a"}}}}"##
        )
    );
}

#[test]
fn what_does_not_fit_accepts_everything_and_the_near_goes_first() {
    let far = format!(r#"{{"type":"object","description":"far","enum":["{}"]}}"#, "x".repeat(500));
    let near = r##"{"type":"object","properties":{"far":{"$ref":"#/$defs/far"}}}"##;
    let definitions = definitions(&[("near", near), ("far", &far)]);
    let schema = raw(r##"{"$ref":"#/$defs/near"}"##);
    let rows = [
        (1000, Some(format!(r##"{{"$ref":"#/$defs/near","$defs":{{"far":{far},"near":{near}}}}}"##))),
        (
            200,
            Some(format!(
                r##"{{"$ref":"#/$defs/near","$defs":{{"far":{{"type":"object","description":"far"}},"near":{near}}}}}"##
            )),
        ),
        (70, Some(r##"{"$ref":"#/$defs/near","$defs":{"near":{"type":"object"}}}"##.to_owned())),
        (52, Some(r##"{"$ref":"#/$defs/near","$defs":{"near":{}}}"##.to_owned())),
        (30, None),
    ];
    for (max_bytes, expected) in rows {
        let bundled = bundle(&schema, &definitions, max_bytes);
        assert_eq!(bundled.as_ref().map(RawJson::as_str), expected.as_deref(), "{max_bytes}");
    }
}

#[test]
fn a_long_schema_of_a_property_is_widened_before_short_ones() {
    let long = format!(r#"{{"type":"string","description":"which","enum":["{}"]}}"#, "x".repeat(900));
    let params =
        vec![param("long", Location::Query, &long), param("short", Location::Query, r#"{"enum":["a"]}"#)];
    let inputs = Inputs::new(&operation(params, None), &Reserved::default(), &BTreeMap::new(), 200);
    assert_eq!(
        inputs.schema().as_str(),
        r#"{"type":"object","properties":{"long":{"type":"string","description":"which"},"short":{"enum":["a"]}}}"#
    );
    assert_eq!(inputs.notes(), ["the schema of `long` is too long and accepts everything"]);
}

#[test]
fn what_is_no_schema_accepts_everything() {
    let operation = Operation {
        definitions: definitions(&[("bad", r#"{"type":"file","description":"a file"}"#)]),
        ..operation(
            vec![
                param("a", Location::Query, r##"{"$ref":"#/components/schemas/x","description":"it"}"##),
                param("b", Location::Query, r##"{"$ref":"#/$defs/bad"}"##),
                param("c", Location::Query, r##"{"$ref":"#/$defs/gone"}"##),
            ],
            None,
        )
    };
    assert_eq!(
        input_schema(&operation).as_str(),
        concat!(
            r##"{"type":"object","properties":{"a":{"description":"it"},"b":{"$ref":"#/$defs/bad"},"c":{"$ref":"#/$defs/gone"}},"##,
            r##""$defs":{"bad":{"description":"a file"},"gone":{}}}"##
        )
    );
}

#[test]
fn required_arguments_and_the_schema_are_checked() {
    let mut limit = param("limit", Location::Query, r#"{"type":"integer","maximum":100}"#);
    limit.required = true;
    let inputs = inputs(&operation(vec![Param::new("id", Location::Path), limit], None));
    let rows = [
        (r#"{"id":"a","limit":5,"unknown":1}"#, None),
        (r#"{"limit":5}"#, Some("missing: id")),
        ("{}", Some("missing: id, limit")),
        (r#"{"id":"a","limit":500}"#, Some("`limit` must be at most 100")),
        (r#"{"id":1,"limit":1e400}"#, Some("`id` must be string; `limit` must be at most 100")),
    ];
    for (arguments, expected) in rows {
        let expected = expected.map(|reason| CallError::Arguments { reason: reason.into() });
        assert_eq!(inputs.check(&object(arguments)).err(), expected, "{arguments}");
    }
}

/// The length of the schema that says no more than the names of inputs.
fn least(inputs: &Inputs) -> usize {
    let names = inputs.params().iter().chain(inputs.body()).filter_map(|origin| match origin {
        Origin::Argument(name) => Some(2 * RawJson::string(name).as_str().len() + ":{},,".len()),
        _ => None,
    });
    names.sum::<usize>() + r#"{"type":"object","properties":{},"required":[]}"#.len()
}

#[test]
fn many_descriptions_give_way_to_the_bound() {
    let params = (0..256)
        .map(|n| Param { description: Some("d".repeat(290)), ..Param::new(format!("p{n}"), Location::Query) })
        .collect();
    assert!(inputs(&operation(params, None)).schema().as_str().len() <= 32 * 1024);
}

#[test]
fn what_is_required_and_hidden_or_not_checked_is_told() {
    let mut query = Param::new("q", Location::Query);
    query.required = true;
    let arguments = BTreeMap::from([("a".to_owned(), Argument::Hidden), ("q".to_owned(), Argument::Hidden)]);
    let pattern = param("look", Location::Query, r#"{"pattern":"^(?!x)"}"#);
    let operation = operation(vec![Param::new("a", Location::Path), query, pattern], None);
    let inputs = Inputs::new(&operation, &Reserved::default(), &arguments, 1024);
    assert_eq!(inputs.strangers(), ["a"]);
    assert_eq!(inputs.notes().len(), 3, "{:?}", inputs.notes());
}

proptest! {
    #[test]
    fn every_input_schema_compiles_and_is_complete(operation in arbitrary::operation(), max_bytes in 0_usize..600) {
        for max_bytes in [max_bytes, 32 * 1024] {
            let inputs = Inputs::new(&operation, &Reserved::default(), &BTreeMap::new(), max_bytes);
            let schema = inputs.schema();
            prop_assert!(schema.as_str().len() <= max_bytes.max(least(&inputs)), "{}", schema.as_str());
            prop_assert!(crate::engine::arguments::is_sound(schema.raw()), "{}", schema.as_str());
            prop_assert!(inputs.checker.compiles(), "{}", schema.as_str());
            let known = schema.get_object("$defs").unwrap_or_default();
            for name in references(schema.raw()) {
                prop_assert!(known.contains(&name), "{} in {}", name, schema.as_str());
            }
            for origin in inputs.params().iter().chain(inputs.body()) {
                if let Origin::Argument(name) = origin {
                    prop_assert!(schema.get_object("properties").unwrap().contains(name));
                }
            }
        }
    }

    #[test]
    fn a_bundle_is_no_longer_than_allowed(schema in arbitrary::schema(), operation in arbitrary::operation(), max_bytes in 0_usize..300) {
        if let Some(bundled) = bundle(&schema, &operation.definitions, max_bytes) {
            prop_assert!(bundled.as_bytes().len() <= max_bytes);
            prop_assert!(crate::engine::arguments::is_sound(&bundled));
        }
    }
}
