//! What is read when, and what is told of it.

use std::{collections::BTreeMap, sync::Arc, sync::atomic::Ordering::Relaxed, time::Duration};

use gateway_domain::{DownstreamFault, Error, Subject};
use gateway_openapi::{
    curation::{Curation, Matcher},
    downstream::Report,
    engine::{Argument, BuildConfig, Credential, Override, RateLimit, Secret},
    ir::{Listing, Location, Method, Operation, Param, Requirement, SchemeUse, SecurityScheme, Skipped},
    source::SourceError,
};

use crate::support::{Scene, call, get, invalid, listed, some_looks};

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
async fn a_source_that_cannot_be_had_for_a_moment_is_tried_again() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let session = scene.open().await.unwrap();
    let gone = SourceError::Unreadable { source_name: "shop.yaml".into(), reason: "timed out".into() };
    scene.source.set(Err(gone));
    some_looks().await;
    assert_eq!((listed(&session).await.0.len(), scene.observer.changes()), (1, 0));
    scene.source.set_unnoticed(Ok(vec![get("a"), get("b")].into()));
    some_looks().await;
    assert_eq!((listed(&session).await.0.len(), scene.observer.changes()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_learns_from_reading_on_what_it_depends_has_not_changed() {
    let scene = Scene::new(vec![get("a")], |_| {});
    scene.source.learns.store(true, Relaxed);
    let session = scene.open().await.unwrap();
    let loads = scene.source.loads.load(Relaxed);
    some_looks().await;
    assert_eq!((scene.observer.changes(), scene.source.loads.load(Relaxed)), (0, loads));
    scene.source.learns.store(true, Relaxed);
    scene.source.set(Ok(vec![get("b")].into()));
    some_looks().await;
    some_looks().await;
    assert_eq!((listed(&session).await.0, scene.observer.changes()), (vec!["b".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn limits_go_on_when_the_source_is_read_again() {
    let scene = Scene::new(vec![get("a")], |config| {
        config.build =
            Arc::new(|build| BuildConfig { limit: RateLimit { per_second: 1e-6, burst: 1 }, ..build });
    });
    let session = scene.open().await.unwrap();
    call(&session, Subject::tool("a"), "{}").await.unwrap();
    scene.source.set(Ok(vec![get("b"), get("a")].into()));
    some_looks().await;
    assert_eq!(listed(&session).await.0, ["b", "a"]);
    for (tool, requests) in [("a", 1), ("b", 2)] {
        call(&session, Subject::tool(tool), "{}").await.unwrap();
        assert_eq!(scene.api.requests.load(Relaxed), requests, "{tool}");
    }
}

#[tokio::test]
async fn a_reading_that_nobody_waits_for_any_more_is_not_begun_again_and_not_lost() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let held = scene.source.held.lock().await;
    tokio::select! {
        _ = scene.open() => panic!("it is held"),
        () = scene.source.is_read(1) => {}
    }
    let release = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        drop(held);
    };
    let (opened, ()) = tokio::join!(scene.open(), release);
    assert_eq!(listed(&opened.unwrap()).await.0, ["a"]);
    assert_eq!(scene.source.loads.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_source_for_ever() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let held = scene.source.held.lock().await;
    let wait = async {
        scene.source.is_read(1).await;
        tokio::time::advance(Duration::from_secs(61)).await;
    };
    let (opened, ()) = tokio::join!(scene.open(), wait);
    let refused = fault(opened.err().unwrap()).to_string();
    assert!(refused.ends_with("its description could not be read within 60s"), "{refused}");
    drop(held);
    assert!(scene.open().await.is_ok());
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
fn an_override_names_an_operation_by_id_by_the_sources_id_or_by_path() {
    for (name, expected) in
        [("repos_get", "mine"), ("repos/get", "mine"), ("GET /repos_get", "mine"), ("repos", "repos_get")]
    {
        let report = report(vec![get("repos_get")], |config| {
            let given = Override { name: Some("mine".into()), ..Override::default() };
            config.build = Arc::new(move |build| BuildConfig {
                overrides: BTreeMap::from([(name.to_owned(), given.clone())]),
                ..build
            });
        });
        assert_eq!(report.taken[0].tool, expected, "{name}");
        assert_eq!(report.notes.is_empty(), expected == "mine", "{name}: {:?}", report.notes);
    }
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

#[test]
fn what_several_names_say_of_an_operation_is_put_together() {
    let report = report(vec![get("repos_get")], |config| {
        let overrides = ["repos/get", "repos_get", "repos.get"].map(|name| {
            let arguments = BTreeMap::from([(name.to_owned(), Argument::Hidden)]);
            (name.to_owned(), Override { arguments, ..Override::default() })
        });
        let overrides = BTreeMap::from(overrides);
        config.build = Arc::new(move |build| BuildConfig { overrides: overrides.clone(), ..build });
    });
    // None of the three is an input.
    let reason = "arguments are configured that it does not have: `repos.get`, `repos/get`, `repos_get`";
    assert_eq!(report.skipped[0].reason, reason);
}

#[test]
fn an_operation_whose_arguments_are_not_those_that_are_configured_is_skipped() {
    let hidden = |name: &str| {
        let arguments = BTreeMap::from([("tenant".to_owned(), Argument::Hidden)]);
        (name.to_owned(), Override { arguments, ..Override::default() })
    };
    let with_tenant = |id: &str| Operation { params: vec![Param::new("tenant", Location::Query)], ..get(id) };
    let report = report(vec![with_tenant("a"), get("b")], |config| {
        config.build = Arc::new(move |build| BuildConfig {
            overrides: BTreeMap::from([hidden("a"), hidden("b")]),
            ..build
        });
    });
    assert_eq!(report.taken.iter().map(|taken| &*taken.id).collect::<Vec<_>>(), ["a"]);
    let [skipped] = &*report.skipped else { panic!("{:?}", report.skipped) };
    assert_eq!(skipped.id.as_deref(), Some("b"));
    assert_eq!(skipped.reason, "arguments are configured that it does not have: `tenant`");
}

#[test]
fn a_name_that_another_operation_has_is_not_given() {
    let report = report(vec![get("a"), get("b")], |config| {
        let given = Override { name: Some("b".into()), ..Override::default() };
        config.build = Arc::new(move |build| BuildConfig {
            overrides: BTreeMap::from([("a".to_owned(), given.clone())]),
            ..build
        });
    });
    assert_eq!(report.taken.iter().map(|taken| &*taken.tool).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(report.taken[0].notes, ["it is not called `b`: another operation is"]);
}

#[tokio::test]
async fn a_rule_that_can_match_nothing_keeps_the_api_from_being_offered() {
    let scene = Scene::new(vec![get("a")], |config| {
        config.curation.exclude = vec![Matcher::method("TRACE"), Matcher::tag("")];
    });
    let refused = fault(scene.open().await.err().unwrap()).to_string();
    assert!(refused.contains("method `TRACE` matches nothing: "), "{refused}");
    assert!(refused.ends_with("; tag `` matches nothing: it is empty"), "{refused}");
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
