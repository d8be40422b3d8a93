//! What it takes to read a document of 1,000 operations, and to make tools of them.
//! `cargo bench -p gateway-openapi --bench document`

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has to stop")]

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use divan::{Bencher, counter::BytesCount};
use gateway_openapi::{
    engine::{BaseUrl, BuildConfig, ClientError, Executor, ExecutorConfig, HttpClient, ResponseBody, build},
    source::openapi::{Limits, read},
};
use http::{Request, Response};

fn main() {
    divan::main();
}

/// Operations of 250 resources: five parameters each, a body in half of them, and schemas that refer to each other.
fn json() -> String {
    let paths: Vec<_> = (0..250).map(paths).collect();
    let schemas: Vec<_> = (0..250).map(schema).collect();
    format!(
        r#"{{"openapi":"3.0.3","info":{{"title":"Bench","version":"1"}},
        "paths":{{{}}},"components":{{"schemas":{{{}}}}}}}"#,
        paths.join(","),
        schemas.join(",")
    )
}

fn paths(n: usize) -> String {
    let param = |name: &str, place: &str| {
        format!(
            r#"{{"name":"{name}","in":"{place}","description":"What it is, in a sentence or two.","schema":{{"type":"string","maxLength":64}}}}"#
        )
    };
    let shared = [
        param("limit", "query"),
        param("after", "query"),
        param("fields", "query"),
        param("X-Trace", "header"),
    ];
    let schema = format!(r##"{{"$ref":"#/components/schemas/Resource{n}"}}"##);
    let content = format!(r#""content":{{"application/json":{{"schema":{schema}}}}}"#);
    let responses = format!(r#""responses":{{"200":{{"description":"Done",{content}}}}}"#);
    let body = format!(r#""requestBody":{{"required":true,{content}}}"#);
    let texts = r#""summary":"Does a thing","description":"Does a thing to a resource, and says more about it than is needed.","tags":["bench"]"#;
    let collection = format!(
        r#""/resources{n}":{{"parameters":[{}],"get":{{"operationId":"list{n}",{texts},{responses}}},"post":{{"operationId":"create{n}",{texts},{body},{responses}}}}}"#,
        shared.join(",")
    );
    let one = format!(
        r#""/resources{n}/{{id}}":{{"parameters":[{},{}],"put":{{"operationId":"update{n}",{texts},{body},{responses}}},"delete":{{"operationId":"delete{n}",{texts},{responses}}}}}"#,
        param("id", "path").replace("\"schema\"", "\"required\":true,\"schema\""),
        shared.join(",")
    );
    format!("{collection},{one}")
}

fn schema(n: usize) -> String {
    let properties: Vec<_> = (0..12)
        .map(|p| format!(r#""property{p}":{{"type":"string","description":"One of twelve.","nullable":true,"example":"x"}}"#))
        .collect();
    let other = (n * 7 + 1) % 250;
    format!(
        r##""Resource{n}":{{"type":"object","required":["property1"],"properties":{{{},"other":{{"$ref":"#/components/schemas/Resource{other}"}}}}}}"##,
        properties.join(",")
    )
}

/// The same in YAML, in flow style.
fn yaml() -> String {
    format!("---\n{}", json().replace("},", "},\n"))
}

#[divan::bench]
fn read_json(bencher: Bencher<'_, '_>) {
    reading(bencher, json());
}

#[divan::bench]
fn read_yaml(bencher: Bencher<'_, '_>) {
    reading(bencher, yaml());
}

fn reading(bencher: Bencher<'_, '_>, document: String) {
    let document = Bytes::from(document);
    bencher.counter(BytesCount::new(document.len())).bench_local(|| {
        let listing = read(document.clone(), "bench", &Limits::default()).unwrap();
        assert_eq!(listing.operations.len(), 1_000);
        listing
    });
}

#[divan::bench]
fn build_tools(bencher: Bencher<'_, '_>) {
    let listing = read(json().into(), "bench", &Limits::default()).unwrap();
    let client = Arc::new(Nowhere);
    let base = BaseUrl::parse("http://api.test").unwrap();
    let config = BuildConfig::new(Arc::new(Executor::new(ExecutorConfig::new(base, client))));
    bencher.bench_local(|| build(listing.operations.clone(), &config).unwrap());
}

/// Nothing is called here.
#[derive(Debug)]
struct Nowhere;

#[async_trait]
impl HttpClient for Nowhere {
    async fn send(&self, _: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        Err(ClientError { reason: "nowhere".into(), is_unsent: true })
    }
}
