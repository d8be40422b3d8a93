//! What is read when, and what is told of it.

use std::{collections::BTreeMap, sync::Arc, sync::atomic::Ordering::Relaxed};

use gateway_domain::{DownstreamFault, Error};
use gateway_openapi::{
    curation::{Curation, Matcher},
    downstream::Report,
    engine::{BuildConfig, Credential, Override, Secret},
    ir::{Listing, Method, Operation, Requirement, SchemeUse, SecurityScheme, Skipped},
};

use crate::support::{Scene, get, invalid, listed, some_looks};

fn fault(error: Error) -> DownstreamFault {
    match error {
        Error::Downstream(error) => error.fault,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_source_is_read_once_for_all_sessions() {
    let scene = Scene::new(vec![get("a")], |_| {});
    assert_eq!(scene.source.loads.load(Relaxed), 0, "nothing is read before it is needed");
    let (one, other) = tokio::join!(scene.open(), scene.open());
    assert_eq!(listed(&one.unwrap()).await, listed(&other.unwrap()).await);
    assert_eq!(scene.source.loads.load(Relaxed), 1);
}

#[tokio::test]
async fn a_source_that_cannot_be_read_is_tried_again_with_the_next_session() {
    let scene = Scene::new(vec![], |_| {});
    scene.source.set(Err(invalid()));
    let refused = fault(scene.open().await.err().unwrap());
    let text = "did not open a session: shop.yaml is not a description of an API that can be used: at /paths: it is a number";
    assert_eq!(refused.to_string(), text);
    assert!(scene.factory.reports().last().is_none());
    scene.source.set(Ok(vec![get("a")].into()));
    assert_eq!(listed(&scene.open().await.unwrap()).await.0, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_source_is_taken_on_and_told_and_a_bad_one_changes_nothing() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let session = scene.open().await.unwrap();
    some_looks().await;
    assert_eq!((scene.observer.changes(), scene.source.loads.load(Relaxed)), (0, 1));
    scene.source.set(Ok(vec![get("a"), get("b")].into()));
    some_looks().await;
    assert_eq!(scene.observer.changes(), 1);
    assert_eq!(listed(&session).await.0, ["a", "b"], "in the session that is there");
    scene.source.set(Err(invalid()));
    some_looks().await;
    assert_eq!((scene.observer.changes(), scene.source.loads.load(Relaxed)), (0, 3), "tried once");
    assert_eq!(listed(&session).await.0, ["a", "b"]);
    scene.source.set(Ok(vec![].into()));
    some_looks().await;
    assert_eq!(scene.observer.changes(), 1);
    assert!(listed(&session).await.0.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_not_watched_is_read_once() {
    let scene = Scene::new(vec![get("a")], |config| config.watch = None);
    let session = scene.open().await.unwrap();
    scene.source.set(Ok(vec![].into()));
    some_looks().await;
    assert_eq!((listed(&session).await.0.len(), scene.source.loads.load(Relaxed)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_looked_at_any_more_when_all_is_gone() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let (session, reports) = (scene.open().await.unwrap(), scene.factory.reports());
    let Scene { source, factory, .. } = scene;
    drop(factory);
    some_looks().await;
    assert!(reports.last().is_some(), "the session is there");
    drop(session);
    some_looks().await;
    assert!(reports.last().is_none());
    assert_eq!(Arc::strong_count(&source), 1);
}

fn report(
    content: impl Into<Listing>,
    change: impl FnOnce(&mut gateway_openapi::downstream::ApiConfig),
) -> Arc<Report> {
    let scene = Scene::new(content, change);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(scene.open()).unwrap();
    scene.factory.reports().last().unwrap()
}

#[test]
fn each_operation_is_reported() {
    let mut listing: Listing = vec![
        Operation::new("list", Method::Get, "/pets"),
        Operation::new("add", Method::Post, "/pets"),
        Operation::new("users", Method::Get, "/admin/users"),
    ]
    .into();
    let unclear = Skipped {
        method: "GET".into(),
        path: "/x".into(),
        id: None,
        reason: "parameters[0] has no name".into(),
    };
    listing.skipped.push(unclear.clone());
    let report = report(listing, |config| {
        config.curation = Curation { exclude: vec![Matcher::path("/admin/*")], ..Curation::default() };
    });
    let taken: Vec<_> =
        report.taken.iter().map(|taken| (&*taken.id, &*taken.tool, taken.method, &*taken.path)).collect();
    assert_eq!(taken, [("list", "list", Method::Get, "/pets")]);
    let skipped: Vec<_> =
        report.skipped.iter().map(|skipped| (skipped.id.as_deref(), &*skipped.reason)).collect();
    assert_eq!(
        skipped,
        [
            (None, &*unclear.reason),
            (Some("add"), "not read-only: POST"),
            (Some("users"), "excluded by path `/admin/*`")
        ]
    );
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn what_concerns_no_operation_is_noted() {
    let report = report(vec![get("a"), Operation::new("b", Method::Post, "/b")], |config| {
        config.curation.include = vec![Matcher::tag("pets"), Matcher::path("/*")];
        config.curation.exclude = vec![Matcher::operation("c")];
        config.build = Arc::new(|build| {
            let names = ["a", "b", "c", "GET /a", "GET /b"];
            let overrides = names.map(|name| (name.to_owned(), Override::default()));
            BuildConfig { overrides: BTreeMap::from(overrides), ..build }
        });
    });
    assert_eq!(
        report.notes,
        [
            "the override `GET /b` is for no operation",
            "the override `c` is for no operation",
            "include[0], tag `pets`, fits no operation",
            "exclude[0], operation `c`, fits no operation",
        ]
    );
}

#[test]
fn that_nothing_is_offered_is_noted() {
    let post = |id: &str| Operation::new(id, Method::Post, "/x");
    for (operations, expected) in [
        (vec![], "nothing is offered: there are no operations"),
        (vec![post("a")], "nothing is offered: the only operation is left out"),
        (vec![post("a"), post("b")], "nothing is offered: all 2 operations are left out"),
    ] {
        assert_eq!(report(operations, |_| {}).notes, [expected]);
    }
}

/// An operation that needs credentials of this name.
fn secured(id: &str, scheme: &str) -> Operation {
    let needed = SchemeUse { name: scheme.into(), scopes: Vec::new() };
    Operation { security: vec![Requirement(vec![needed])], ..get(id) }
}

fn with_schemes(operations: Vec<Operation>) -> Listing {
    let schemes = [("token".to_owned(), SecurityScheme::Bearer), ("login".to_owned(), SecurityScheme::Basic)];
    Listing { schemes: BTreeMap::from(schemes), ..Listing::from(operations) }
}

#[test]
fn operations_without_the_credentials_that_they_need_are_noted() {
    let listing = with_schemes(vec![secured("a", "token"), secured("b", "login"), get("c")]);
    let report = report(listing, |config| {
        config.credentials = BTreeMap::from([("token".to_owned(), Credential::ApiKey(Secret::new("t0ken")))]);
    });
    let notes: Vec<_> = report.taken.iter().map(|taken| taken.notes.join("; ")).collect();
    assert_eq!(notes, ["", "goes without credentials: none are configured for login", ""]);
}

#[tokio::test]
async fn credentials_for_a_scheme_that_is_not_there_keep_the_api_from_being_offered() {
    let scene = Scene::new(with_schemes(vec![get("a")]), |config| {
        config.credentials = BTreeMap::from([("tokn".to_owned(), Credential::ApiKey(Secret::new("t0ken")))]);
    });
    let refused = fault(scene.open().await.err().unwrap()).to_string();
    assert_eq!(
        refused,
        "did not open a session: the API has no security scheme \"tokn\"; it has login, token"
    );
}
