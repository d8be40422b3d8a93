//! References to other documents, which lead where they are allowed to (E-W21).

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::engine::{ClientError, HttpClient, ResponseBody};
use crate::source::{Place, References, Source as _};

const INFO: &str = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn source(folder: &Path) -> OpenApi {
    OpenApi::new(Place::File(folder.join("api.yaml")))
}

fn allowing(folder: &Path) -> OpenApi {
    source(folder).with_references(References::none().with_files(folder.to_str().unwrap()).unwrap())
}

fn api(rest: &str) -> String {
    format!("{INFO}{rest}")
}

#[tokio::test]
async fn documents_are_read_where_they_are_allowed_each_once() {
    let api = api("paths:
  /a: {$ref: 'paths/a.yaml#/item'}
  /b:
    post:
      operationId: b
      requestBody: {content: {application/json: {schema: {$ref: 'schemas.json#/Pet'}}}}
");
    let a = "item:
  get:
    operationId: a
    parameters:
      - {name: p, in: query, schema: {$ref: '../schemas.json#/Pet/properties/owner'}}
      - {$ref: '../api.yaml#/components/parameters/none'}
";
    let a = &a.replace("      - {$ref: '../api.yaml#/components/parameters/none'}\n", "");
    let schemas = r##"{"Pet":{"properties":{"owner":{"type":"string"},"next":{"$ref":"#/Pet"},"api":{"$ref":"api.yaml#/info"}}}}"##;
    let folder = folder(&[("api.yaml", &api), ("paths/a.yaml", a), ("schemas.json", schemas)]);

    let listing = allowing(folder.path()).load().await.unwrap();
    assert_eq!(listing.skipped, []);
    assert_eq!(listing.operations.iter().map(|o| o.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let owner = listing.operations[0].params[0].schema.as_ref().unwrap().to_string();
    assert_eq!(owner, r##"{"$ref":"#/$defs/Pet_properties_owner"}"##);
    let definitions = &listing.operations[0].definitions;
    assert_eq!(definitions.get("Pet_properties_owner").unwrap().as_str(), r#"{"type":"string"}"#);
    let pet = definitions.get("Pet").unwrap().as_str();
    assert!(pet.contains(r##""next":{"$ref":"#/$defs/Pet"}"##), "{pet}");

    let listing = source(folder.path()).load().await.unwrap();
    assert_eq!(listing.operations, [], "without permission they lead nowhere");
    assert_eq!(listing.skipped.len(), 2);
}

#[tokio::test]
async fn a_reference_that_leads_outside_skips_the_operation_with_the_reason() {
    let api = api(
        "paths:\n  /a: {$ref: '../secret.yaml#/x'}\n  /b: {get: {}}\n  /c: {$ref: 'gone.yaml'}\n  /d: {$ref: 'bad.json'}\n",
    );
    let folder = folder(&[("in/api.yaml", &api), ("secret.yaml", "x: {get: {}}"), ("in/bad.json", "{")]);
    let listing = allowing(&folder.path().join("in")).load().await.unwrap();
    assert_eq!(listing.operations.len(), 1);
    let reasons: Vec<_> = listing.skipped.iter().map(|s| s.reason.as_str()).collect();
    assert!(reasons[0].contains("cannot be followed") && reasons[0].contains("may not lead"), "{reasons:?}");
    assert!(reasons[1].contains("cannot be followed"), "{reasons:?}");
    assert!(reasons[2].contains("not valid JSON"), "{reasons:?}");
}

#[tokio::test]
async fn the_number_of_documents_is_bounded() {
    let next = |n: usize| format!("x: {{$ref: 'd{}.yaml#/x'}}\n", n + 1);
    let files: Vec<_> = (0..20).map(|n| (format!("d{n}.yaml"), next(n))).collect();
    let mut files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let api = api("paths:\n  /a: {$ref: 'd0.yaml#/x'}\n  /b: {get: {}}\n");
    files.push(("api.yaml", &api));
    let folder = folder(&files);
    let limits = Limits { documents: 3, ..Limits::default() };
    let listing = allowing(folder.path()).with_limits(limits).load().await.unwrap();
    assert_eq!(listing.operations.len(), 1);
    assert!(listing.skipped[0].reason.contains("more than 3 other documents"), "{:?}", listing.skipped);
    let listing = allowing(folder.path()).load().await.unwrap();
    assert!(listing.skipped[0].reason.contains("not allowed"), "a chain has an end: {:?}", listing.skipped);
}

/// Answers nothing, after a long time.
#[derive(Debug, Default)]
struct Slow(AtomicUsize);

#[async_trait]
impl HttpClient for Slow {
    async fn send(&self, _: http::Request<Bytes>) -> Result<http::Response<ResponseBody>, ClientError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(25)).await;
        Ok(http::Response::builder()
            .status(404)
            .body(Empty::new().map_err(|e| match e {}).boxed_unsync())
            .unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn documents_that_cannot_be_read_cost_a_bounded_number_of_requests_and_time() {
    let paths: String = (0..9).map(|n| format!("  /{n}: {{$ref: 'https://x.test/{n}.yaml#/x'}}\n")).collect();
    let content = api(&format!("paths:\n{paths}")).into();
    let check = async |limits, requests, seconds| {
        let client = Arc::new(Slow::default());
        let place = Place::Bytes { name: "x".into(), content: Bytes::clone(&content) };
        let source = OpenApi::new(place).with_client(Arc::clone(&client) as _).with_limits(limits);
        let source = source.with_references(References::none().with_urls("https://x.test").unwrap());
        let begin = Instant::now();
        assert_eq!(source.load().await.unwrap().skipped.len(), 9);
        assert_eq!(client.0.load(Ordering::Relaxed), requests);
        assert_eq!(begin.elapsed().as_secs(), seconds);
    };
    check(Limits { documents: 2, ..Limits::default() }, 2, 50).await;
    check(Limits::default(), 3, 60).await;
}

#[tokio::test]
async fn the_stamp_changes_with_every_document_that_was_read() {
    let api = api("paths:\n  /a: {$ref: 'a.yaml#/x'}\n");
    let folder = folder(&[("api.yaml", &api), ("a.yaml", "x: {get: {}}")]);
    let source = allowing(folder.path());
    source.load().await.unwrap();
    let before = source.stamp().await;
    assert_eq!(source.stamp().await, before);
    fs::write(folder.path().join("a.yaml"), "x: {post: {}}").unwrap();
    assert_ne!(source.stamp().await, before);
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_an_error_with_its_name() {
    let folder = folder(&[]);
    let error = source(folder.path()).load().await.unwrap_err().to_string();
    assert!(error.contains("api.yaml"), "{error}");
}
