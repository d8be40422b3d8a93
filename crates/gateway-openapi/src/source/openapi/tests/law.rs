//! What holds for every document, however odd.
#![expect(clippy::disallowed_types, reason = "schemas are judged by the validator, which takes values")]

use std::collections::BTreeSet;

use gateway_domain::RawJson;
use proptest::{prelude::*, sample::Index};
use serde_json::Value;

use super::*;
use crate::{ir::Definitions, source::SourceError};

/// A document in which about everything occurs once.
const SEED: &str = r##"{"openapi":"3.1.0","info":{"title":"T","version":"1"},"security":[{"k":[]}],
"paths":{"/a/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer","minimum":1}}],
"get":{"operationId":"get","tags":["t"],"parameters":[{"$ref":"#/components/parameters/Q"},{"name":"h","in":"header","style":"simple","explode":true,"schema":{"type":"array","items":{"$ref":"#/components/schemas/Node"}}}],
"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Pet"}}}},"default":{"$ref":"#/components/responses/E"}}},
"post":{"requestBody":{"$ref":"#/components/requestBodies/B"},"security":[],"responses":{"204":{}}}},
"/b":{"$ref":"#/paths/~1a~1{id}"}},
"components":{"parameters":{"Q":{"name":"q","in":"query","schema":{"type":["string","null"],"nullable":true,"enum":["a","b",null],"pattern":"^[a-z]+$","default":"a"}}},
"requestBodies":{"B":{"required":true,"content":{"multipart/form-data":{"schema":{"type":"object","required":["f"],"properties":{"f":{"type":"string","format":"binary"},"n":{"$ref":"#/components/schemas/Node"}}},"encoding":{"f":{"contentType":"image/png"}}}}}},
"responses":{"E":{"content":{"application/json":{"schema":{"oneOf":[{"$ref":"#/components/schemas/Cat"},{"type":"string","maxLength":3}]}}}}},
"schemas":{"Node":{"$anchor":"node","type":"object","properties":{"next":{"$ref":"#node"},"value":{"type":"number","exclusiveMinimum":0,"multipleOf":0.5}},"required":["value"],"additionalProperties":false},
"Pet":{"oneOf":[{"$ref":"#/components/schemas/Cat"}],"discriminator":{"propertyName":"k"}},
"Cat":{"allOf":[{"$ref":"#/components/schemas/Pet"},{"type":"object","properties":{"id":{"type":"integer","readOnly":true},"s":{"writeOnly":true}},"required":["id","s"],"patternProperties":{"^x":{"not":{}}},"dependentRequired":{"id":["s"]},"if":{"const":1},"then":{"minItems":1}}]}},
"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"X"}}}}"##;

fn schemas(listing: &Listing) -> Vec<(String, RawJson)> {
    let mut found = Vec::new();
    for operation in &listing.operations {
        let params = operation.params.iter().filter_map(|param| param.schema.clone());
        let body = operation.body.iter().filter_map(|body| body.schema.clone());
        let all = params.chain(body).chain(operation.output.clone());
        found.extend(all.map(|schema| (operation.id.clone(), schema)));
        found.extend(operation.definitions.iter().map(|(name, schema)| (name.to_string(), schema.clone())));
    }
    found
}

fn references<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or_default(),
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Every schema is one, refers to definitions that are there, and can be used by a validator to the end.
fn check(listing: &Listing) -> Result<(), TestCaseError> {
    for (name, schema) in schemas(listing) {
        let value: Value = serde_json::from_str(schema.as_str()).unwrap();
        prop_assert!(jsonschema::draft202012::meta::is_valid(&value), "{}: {}", name, schema);
        prop_assert!(levels(&value) <= 102, "{}", name);
        let mut targets = BTreeSet::new();
        references(&value, &mut targets);
        for target in targets {
            let name = target.strip_prefix(Definitions::PREFIX);
            let definitions = &listing.operations[0].definitions;
            prop_assert!(name.is_some_and(|name| definitions.get(name).is_some()), "{} dangles", target);
        }
    }
    for operation in &listing.operations {
        for schema in
            operation.params.iter().filter_map(|param| param.schema.clone()).chain(operation.output.clone())
        {
            let definitions = operation.definitions.iter();
            let definitions: serde_json::Map<_, _> = definitions
                .map(|(name, schema)| (name.to_string(), serde_json::from_str(schema.as_str()).unwrap()))
                .collect();
            let whole = serde_json::json!({"$defs": definitions, "allOf": [serde_json::from_str::<Value>(schema.as_str()).unwrap()]});
            let validator = jsonschema::draft202012::new(&whole);
            prop_assert!(validator.is_ok(), "{}", whole);
            // Comes to an end.
            let _ = validator.unwrap().is_valid(&serde_json::json!({"next": {"next": {}}, "id": 1}));
        }
    }
    Ok(())
}

#[test]
fn the_seed_is_read_whole() {
    let listing = listing(SEED);
    assert_eq!(listing.operations.len(), 4);
    assert_eq!(listing.skipped, []);
    check(&listing).unwrap();
}

/// Where the values of a document begin and end: everything that stands behind a colon, a comma or a bracket.
fn values(text: &str) -> Vec<std::ops::Range<usize>> {
    fn visit(value: &RawJson, base: usize, found: &mut Vec<std::ops::Range<usize>>) {
        let start = value.as_bytes().as_ptr().addr() - base;
        found.push(start..start + value.as_bytes().len());
        if let Some(members) = object::object(value) {
            members.iter().for_each(|(_, member)| visit(&member, base, found));
        }
        value.elements(usize::MAX).into_iter().flatten().for_each(|item| visit(&item, base, found));
    }
    let root = RawJson::parse(text.to_owned()).unwrap();
    let mut found = Vec::new();
    visit(&root, root.as_bytes().as_ptr().addr(), &mut found);
    found
}

fn seed() -> String {
    RawJson::parse(SEED).unwrap().to_string()
}

/// A value of a document put in the place of another, or something odd.
fn transplanted(text: &str, from: &Index, to: &Index, odd: Option<&str>) -> String {
    let all = values(text);
    let (from, to) = (from.get(&all).clone(), to.get(&all).clone());
    format!("{}{}{}", &text[..to.start], odd.unwrap_or_else(|| &text[from]), &text[to.end..])
}

fn odd() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![
        6 => Just(None),
        4 => prop::sample::select(vec![
            "null", "true", "-1", "1e999", "1.0", "\"\"", "\"\\ud800\"", "[]", "{}", "[null]", "[[]]", "{\"\":{}}",
            "{\"$ref\":\"#\"}", "{\"$ref\":\"#/components\"}", "{\"$ref\":\"#node\"}", "{\"$ref\":\"x.yaml\"}",
            "\"object\"", "\"binary\"", "[\"a\",\"a\"]", "{\"a\":1,\"a\":2}", "{\"$ref\":\"#/components/schemas/Cat\"}",
        ]).prop_map(Some),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn documents_with_values_in_the_wrong_places_are_read_or_refused(
        moves in prop::collection::vec((any::<Index>(), any::<Index>(), odd()), 1..6),
        version in prop::sample::select(vec!["3.0.3", "3.1.0", "3.2.0"]),
    ) {
        let mut text = seed().replacen("3.1.0", version, 1);
        for (from, to, odd) in &moves {
            text = transplanted(&text, from, to, *odd);
            prop_assume!(text.len() < 100_000);
        }
        match read(text.into(), "x", &Limits::default()) {
            Ok(listing) => check(&listing)?,
            Err(SourceError::Invalid { .. } | SourceError::TooLarge { .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn texts_with_holes_are_read_or_refused(
        cuts in prop::collection::vec((any::<Index>(), 0_usize..20, "[\\[\\]{}:,\"&*<#|>!?%@` \n\ta0.-]{0,4}"), 1..8),
    ) {
        let mut text = yaml(&seed());
        for (at, length, put) in &cuts {
            let start = text.floor_char_boundary(at.index(text.len()));
            let end = text.floor_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, put);
        }
        if let Ok(listing) = read(text.into(), "x", &Limits::default()) {
            check(&listing)?;
        }
    }
}

#[test]
fn the_same_document_in_yaml_is_the_same() {
    assert_eq!(listing(&seed()), listing(&yaml(&seed())));
}

/// The text as block YAML.
fn yaml(json: &str) -> String {
    fn write(value: &RawJson, indent: usize, out: &mut String) {
        let pad = "  ".repeat(indent);
        match (object::object(value), value.elements(usize::MAX)) {
            (Some(members), _) if !members.is_empty() => {
                for (name, member) in members.iter() {
                    out.push_str(&format!("\n{pad}{}:", RawJson::string(&name)));
                    write(&member, indent + 1, out);
                }
            }
            (_, Some(items)) if !items.is_empty() => {
                for item in items {
                    out.push_str(&format!("\n{pad}-"));
                    write(&item, indent + 1, out);
                }
            }
            _ => out.push_str(&format!(" {value}")),
        }
    }
    let mut out = String::new();
    write(&RawJson::parse(json.to_owned()).unwrap(), 0, &mut out);
    out.trim_start().to_owned() + "\n"
}
