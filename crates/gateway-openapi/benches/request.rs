//! What a call costs before anything is sent: checking the arguments and building the request. Reading the inputs of an
//! operation and compiling its schema, which happen once, stand beside it.

#![expect(clippy::expect_used, reason = "a bench has no input but its own")]

use std::{collections::BTreeMap, sync::Arc};

use divan::{Bencher, black_box};
use gateway_domain::{RawJson, RawObject};
use gateway_openapi::{
    engine::{BaseUrl, Extras, Inputs, MAX_SCHEMA_BYTES, Reserved, request},
    ir::{Body, Definitions, Location, Method, Operation, Param},
};
use http::{HeaderName, HeaderValue};

fn main() {
    divan::main();
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).expect("JSON")
}

fn param(name: &str, location: Location, schema: &str) -> Param {
    Param { schema: Some(raw(schema)), ..Param::new(name, location) }
}

/// As operations of everyday APIs are: five parameters, and a body whose schema is a definition.
fn operation() -> Operation {
    let pet = r##"{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":100},
        "status":{"enum":["available","pending","sold"]},"tags":{"type":"array","items":{"$ref":"#/$defs/Tag"}}}}"##;
    let tag = r#"{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^[a-z]+$"}}}"#;
    let definitions = [("Pet", pet), ("Tag", tag)].map(|(name, schema)| (Arc::from(name), raw(schema)));
    Operation {
        params: vec![
            param("shop", Location::Path, r#"{"type":"string"}"#),
            param("id", Location::Path, r#"{"type":"integer","minimum":1}"#),
            param("fields", Location::Query, r#"{"type":"array","items":{"type":"string"}}"#),
            param("dry_run", Location::Query, r#"{"type":"boolean"}"#),
            param("X-Request-Id", Location::Header, r#"{"type":"string"}"#),
        ],
        body: Some(Body { required: true, ..Body::json(Some(raw(r##"{"$ref":"#/$defs/Pet"}"##))) }),
        definitions: Definitions::new(definitions),
        ..Operation::new("update_pet", Method::Put, "/shops/{shop}/pets/{id}")
    }
}

fn arguments() -> RawObject {
    let text = r#"{"shop":"north side","id":9007199254740993,"fields":["name","status"],"dry_run":false,
        "X-Request-Id":"5f0c","body":{"name":"Rex","status":"available","tags":[{"id":1,"name":"dog"},{"id":2,"name":"big"}]}}"#;
    RawObject::parse(text).expect("JSON")
}

fn inputs(operation: &Operation) -> Inputs {
    Inputs::new(operation, &Reserved::default(), &BTreeMap::new(), MAX_SCHEMA_BYTES)
}

fn extras() -> Extras {
    let key = (HeaderName::from_static("x-api-key"), HeaderValue::from_static("0123456789abcdef"));
    Extras { headers: vec![key], ..Extras::default() }
}

/// Both of the two below.
#[divan::bench]
fn check_and_build(bencher: Bencher<'_, '_>) {
    let (operation, arguments, extras) = (operation(), arguments(), extras());
    let (inputs, base) = (inputs(&operation), BaseUrl::parse("https://api.test/v1").expect("a URL"));
    bencher.bench_local(|| {
        inputs.check(black_box(&arguments)).expect("they fit");
        request::build(&base, &operation, &inputs, black_box(&arguments), &extras, &[])
    });
}

#[divan::bench]
fn check(bencher: Bencher<'_, '_>) {
    let (operation, arguments) = (operation(), arguments());
    let inputs = inputs(&operation);
    bencher.bench_local(|| inputs.check(black_box(&arguments)));
}

#[divan::bench]
fn build(bencher: Bencher<'_, '_>) {
    let (operation, arguments, extras) = (operation(), arguments(), extras());
    let (inputs, base) = (inputs(&operation), BaseUrl::parse("https://api.test/v1").expect("a URL"));
    bencher.bench_local(|| request::build(&base, &operation, &inputs, black_box(&arguments), &extras, &[]));
}

/// Once for each tool. The definitions are shared, and looked into once.
#[divan::bench]
fn read_inputs(bencher: Bencher<'_, '_>) {
    let operation = operation();
    bencher.bench_local(|| inputs(black_box(&operation)));
}

/// Once for each tool that is ever called.
#[divan::bench]
fn first_check(bencher: Bencher<'_, '_>) {
    let (operation, arguments) = (operation(), arguments());
    bencher.with_inputs(|| inputs(&operation)).bench_local_refs(|inputs| inputs.check(black_box(&arguments)));
}
