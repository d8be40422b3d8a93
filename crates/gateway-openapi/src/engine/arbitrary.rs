//! Operations and arguments of every kind, for laws that hold of all of them.

use std::sync::Arc;

use gateway_domain::RawJson;
use proptest::prelude::*;

use crate::ir::{
    Body, BodyFormat, Definitions, Field, Location, Method, Operation, Param, ParamFormat, Style,
};

/// Schemas, sound and not, with references to definitions that there are and that there are not.
pub(super) fn schema() -> impl Strategy<Value = RawJson> {
    let leaf = prop_oneof![
        Just("{}".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("1".to_owned()),
        Just(r#"{"type":"string","description":"one of its own"}"#.to_owned()),
        Just(r#"{"type":"integer","minimum":1e400}"#.to_owned()),
        Just(r#"{"type":"file"}"#.to_owned()),
        Just(r#"{"pattern":"(?=x)(a+)+$"}"#.to_owned()),
        Just(r#"{"pattern":"("}"#.to_owned()),
        Just(r#"{"$id":"http://localhost/"}"#.to_owned()),
        Just(r##"{"$ref":"#/components/schemas/a"}"##.to_owned()),
        Just(r##"{"example":{"$ref":"#/$defs/a"},"$anchor":"b"}"##.to_owned()),
        "[a-e]".prop_map(|name| format!(r##"{{"$ref":"#/$defs/{name}"}}"##)),
    ];
    let schema = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!(r#"{{"type":"object","properties":{{"a":{a},"$ref":{b}}}}}"#)),
            inner.clone().prop_map(|a| format!(r#"{{"type":"array","items":{a}}}"#)),
            (inner.clone(), inner).prop_map(|(a, b)| format!(r#"{{"anyOf":[{a},{b}]}}"#)),
        ]
    });
    schema.prop_map(|text| RawJson::parse(text).unwrap())
}

fn style() -> impl Strategy<Value = Style> {
    prop::sample::select(vec![
        Style::Simple,
        Style::Label,
        Style::Matrix,
        Style::Form,
        Style::SpaceDelimited,
        Style::PipeDelimited,
        Style::DeepObject,
        Style::Cookie,
    ])
}

pub(super) fn format() -> impl Strategy<Value = ParamFormat> {
    prop_oneof![
        (style(), any::<bool>(), any::<bool>()).prop_map(|(style, explode, allow_reserved)| {
            ParamFormat::Styled { style, explode, allow_reserved }
        }),
        prop::sample::select(vec![
            "application/json",
            "application/x-www-form-urlencoded",
            "text/plain",
            "x"
        ])
        .prop_map(|media_type| ParamFormat::Content { media_type: media_type.into() }),
    ]
}

fn location() -> impl Strategy<Value = Location> {
    prop::sample::select(vec![
        Location::Path,
        Location::Query,
        Location::QueryString,
        Location::Header,
        Location::Cookie,
    ])
}

pub(super) fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]", "body|id_in_query|Host|X-A|a\\[b\\]", "\\PC{0,4}", ".{0,4}"]
}

fn param() -> impl Strategy<Value = Param> {
    (name(), location(), any::<bool>(), prop::option::of(".{0,9}"), prop::option::of(schema()), format())
        .prop_map(|(name, location, required, description, schema, format)| Param {
            name,
            location,
            required,
            description,
            schema,
            format,
        })
}

fn field() -> impl Strategy<Value = Field> {
    (
        name(),
        prop::option::of("application/json|text/plain|image/png|\\PC{0,4}"),
        any::<bool>(),
        prop::option::of(format()),
    )
        .prop_map(|(name, media_type, is_file, format)| Field { name, media_type, is_file, format })
}

fn body() -> impl Strategy<Value = Body> {
    let fields = || prop::collection::vec(field(), 0..3);
    let format = prop_oneof![
        Just(BodyFormat::Json),
        fields().prop_map(BodyFormat::Form),
        fields().prop_map(BodyFormat::Multipart),
        Just(BodyFormat::Text),
        Just(BodyFormat::Binary),
    ];
    let media_type = "application/json|multipart/form-data|\\PC{0,4}";
    (any::<bool>(), prop::option::of(".{0,9}"), media_type, prop::option::of(schema()), format).prop_map(
        |(required, description, media_type, schema, format)| Body {
            required,
            description,
            media_type,
            schema,
            format,
        },
    )
}

/// Operations that no source would yield are among them.
pub(super) fn operation() -> impl Strategy<Value = Operation> {
    let definitions = prop::collection::btree_map("[a-d]", schema(), 0..4);
    let path = prop_oneof!["(/[a-c]{0,2}|/\\{[a-c]\\}(\\.x)?){0,4}", "\\PC{0,9}"];
    let method = prop::sample::select(Method::ALL.to_vec());
    (method, path, prop::collection::vec(param(), 0..6), prop::option::of(body()), definitions).prop_map(
        |(method, path, params, body, definitions)| Operation {
            params,
            body,
            definitions: Definitions::new(
                definitions.into_iter().map(|(name, schema)| (Arc::from(name), schema)),
            ),
            ..Operation::new("id", method, path)
        },
    )
}

/// JSON of every kind.
pub(super) fn json() -> impl Strategy<Value = RawJson> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-0".to_owned()),
        Just("1e400".to_owned()),
        Just(r#""aGVsbG8=""#.to_owned()),
        ".{0,6}".prop_map(|text| RawJson::string(&text).as_str().to_owned()),
        "[./\\\\%2ef\r\n,;=&]{0,5}".prop_map(|text| RawJson::string(&text).as_str().to_owned()),
    ];
    let json = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map(name(), inner, 0..3).prop_map(|members| object(&members)),
        ]
    });
    json.prop_map(|text| RawJson::parse(text).unwrap())
}

fn object(members: &std::collections::BTreeMap<String, String>) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, value)| format!("{}:{value}", RawJson::string(name))).collect();
    format!("{{{}}}", members.join(","))
}
