//! G-10: lists that are not for everybody reach nobody else.

use std::sync::Arc;

use gateway_catalog::{CatalogConfig, Resolve, ToolFilter};
use gateway_domain::{
    Call, Caller, CallerError, Directory, Dispatcher, DownstreamObserver, Error, ListKind, Params, Subject,
    Target, View,
};
use tokio::time::Instant;

use crate::{
    fake::{Opening, Scene, Script, config, exchange, ms, names_on, tools, view},
    resolve::Recorder,
};

fn root() -> Caller {
    Caller::client("root")
}

fn user() -> Caller {
    Caller::client("user")
}

/// `p` shows more to root than to others; `s` shows the same to all.
fn scene_with(config: CatalogConfig) -> Scene {
    let private =
        Script { privileged: vec![(root(), tools(&["drop_table", "read"]))], ..Script::tools(&["read"]) };
    let scripts = [("p", private), ("s", Script::tools(&["t"]))];
    Scene::with(config, scripts, |source| source.is_public = source.name.as_str() != "p")
}

fn scene() -> Scene {
    scene_with(config())
}

async fn names(scene: &Scene, view: &View, caller: &Caller) -> Vec<String> {
    names_on(&scene.first_for(view, caller).await.unwrap().items)
}

/// The downstream's own name that a call reaches.
async fn call(scene: &Scene, view: View, caller: &Caller, name: &str) -> Result<String, Error> {
    let recorder = Recorder::default();
    let targets = recorder.0.clone();
    let target = Target::Exposed { view, subject: Subject::tool(name) };
    let (caller, exchange) = (caller.clone(), exchange(caller));
    let call = Call { target, params: Params::empty(), follow_up: None, origin: None, caller, exchange };
    Resolve::new(scene.catalog.clone(), recorder).dispatch(call).await?;
    match targets.lock().unwrap().pop() {
        Some(Target::Downstream { subject: Subject::Tool { name, .. }, .. }) => Ok(name.to_string()),
        other => panic!("not resolved: {other:?}"),
    }
}

fn unknown(name: &str) -> Error {
    CallerError::UnknownTool { name: name.to_owned() }.into()
}

#[tokio::test(start_paused = true)]
async fn g10_each_caller_is_shown_its_own_list_whoever_asked_before() {
    let scene = scene();
    let p = scene.fake("p");
    scene.catalog.settled(ms(10)).await;
    assert_eq!(p.pulls(), 0, "nobody has asked; that it can be used is known all the same");
    assert_eq!(scene.status("p").state.as_str(), "ready");
    for round in 1..=3 {
        assert_eq!(names(&scene, &View::All, &root()).await, ["p__drop_table", "p__read", "s__t"]);
        assert_eq!(names(&scene, &View::All, &user()).await, ["p__read", "s__t"]);
        assert_eq!(names(&scene, &view("p"), &root()).await, ["drop_table", "read"]);
        assert_eq!(names(&scene, &view("p"), &user()).await, ["read"]);
        assert_eq!(p.pulls(), 4 * round, "pulled for each request");
    }
    assert!(scene.first_for(&View::All, &user()).await.unwrap().is_private);
    assert!(!scene.first_for(&view("s"), &user()).await.unwrap().is_private);
    assert_eq!(scene.fake("s").pulls(), 1);
    assert_eq!(scene.status("p").tools, 0, "the shared catalogue knows nothing of it");
}

#[tokio::test(start_paused = true)]
async fn g10_pages_are_the_callers_own() {
    let scene = scene_with(CatalogConfig { page_size: 1, ..config() });
    let page = async |caller: &Caller, cursor: Option<&str>| {
        scene.catalog.list(ListKind::Tools, &View::All, caller, &exchange(caller), cursor).await.unwrap()
    };
    let first = page(&root(), None).await;
    assert_eq!(names_on(&first.items), ["p__drop_table"]);
    let cursor = first.next_cursor.unwrap();
    assert_eq!(names_on(&page(&root(), Some(&cursor)).await.items), ["p__read"]);
    let stolen = page(&user(), Some(&cursor)).await;
    assert_eq!(names_on(&stolen.items), ["p__read"], "a cursor is a place, not a list");
    assert_eq!(names_on(&page(&user(), None).await.items), ["p__read"]);
}

#[tokio::test(start_paused = true)]
async fn g10_calls_are_routed_by_the_callers_own_list() {
    let scene = scene();
    names(&scene, &View::All, &root()).await;
    let p = scene.fake("p");
    assert_eq!(call(&scene, View::All, &root(), "p__drop_table").await, Ok("drop_table".to_owned()));
    assert_eq!(call(&scene, view("p"), &root(), "drop_table").await, Ok("drop_table".to_owned()));
    assert_eq!(p.pulls(), 1, "by what it was last shown");
    // One who has never asked has the list pulled, and finds what it may see.
    assert_eq!(call(&scene, View::All, &user(), "p__read").await, Ok("read".to_owned()));
    assert_eq!(p.pulls(), 2);
    for (view, name) in [(View::All, "p__drop_table"), (view("p"), "drop_table"), (View::All, "p__nothing")] {
        assert_eq!(call(&scene, view, &user(), name).await, Err(unknown(name)), "as if there were none");
    }
    assert_eq!(p.pulls(), 2);
    let (user_key, root_key) = (exchange(&user()).session, exchange(&root()).session);
    let seen = |caller: &Caller, key| scene.catalog.tool(&View::All, caller, key, "p__drop_table").is_some();
    assert!(seen(&root(), &root_key));
    assert!(!seen(&user(), &user_key));
    assert!(!seen(&user(), &root_key) && !seen(&root(), &user_key), "another's key opens nothing");
    assert_eq!(call(&scene, View::All, &user(), "s__t").await, Ok("t".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn g10_what_a_caller_was_shown_is_forgotten_in_time_and_when_it_changes() {
    let scene = scene();
    let p = scene.fake("p");
    names(&scene, &View::All, &root()).await;
    tokio::time::sleep(ms(299_000)).await;
    call(&scene, View::All, &root(), "p__read").await.unwrap();
    assert_eq!(p.pulls(), 1);
    tokio::time::sleep(ms(2_000)).await;
    call(&scene, View::All, &root(), "p__read").await.unwrap();
    assert_eq!(p.pulls(), 2);

    p.follow(Script { privileged: vec![(root(), tools(&["read"]))], ..Script::tools(&["read"]) });
    let (all, own) = (scene.catalog.generation(&View::All), scene.catalog.generation(&view("p")));
    let other = scene.catalog.generation(&view("s"));
    p.signal.list_changed(ListKind::Tools);
    assert_ne!(scene.catalog.changed(&View::All, all).await, all, "clients are told");
    assert_ne!(scene.catalog.generation(&view("p")), own);
    assert_eq!(scene.catalog.generation(&view("s")), other);
    let gone = call(&scene, View::All, &root(), "p__drop_table").await;
    assert_eq!(gone, Err(unknown("p__drop_table")));
    assert_eq!(scene.catalog.flush(None), 1, "only the shared list");
    call(&scene, View::All, &root(), "p__read").await.unwrap();
    assert_eq!(p.pulls(), 4, "a flush forgets what sessions were shown");
}

#[tokio::test(start_paused = true)]
async fn g10_how_many_lists_are_remembered_is_bounded() {
    let scene = scene_with(CatalogConfig { private_lists: 2, ..config() });
    let p = scene.fake("p");
    for caller in ["a", "b", "c"] {
        names(&scene, &View::All, &Caller::client(caller)).await;
        tokio::time::sleep(ms(1)).await;
    }
    for (caller, pulls) in [("c", 3), ("b", 3), ("a", 4)] {
        call(&scene, View::All, &Caller::client(caller), "p__read").await.unwrap();
        assert_eq!(p.pulls(), pulls, "{caller}");
    }
}

#[tokio::test(start_paused = true)]
async fn g7_g10_a_private_list_that_cannot_be_read_costs_its_own_tools_within_the_budget() {
    let scene = scene();
    scene.catalog.settled(ms(10)).await;
    scene
        .fake("p")
        .follow(Script { opening: Opening::Fails("http://10.0.0.1 said no"), ..Script::tools(&[]) });
    let page = scene.first_for(&View::All, &user()).await.unwrap();
    assert_eq!(names_on(&page.items), ["s__t"]);
    assert_eq!((page.remarks.len(), page.remarks[0].kind), (1, "downstream_unreachable"));
    scene.fake("p").follow(Script::hanging());
    let begun = Instant::now();
    let page = scene.first_for(&View::All, &user()).await.unwrap();
    assert_eq!((begun.elapsed(), names_on(&page.items)), (ms(5_000), vec!["s__t".to_owned()]));
    assert_eq!(page.remarks[0].kind, "downstream_timeout");
    assert_eq!(scene.status("p").state.as_str(), "ready", "one caller's trouble is not everybody's");
}

#[tokio::test(start_paused = true)]
async fn gw6_strict_mode_names_private_ones_too() {
    let scene = scene_with(CatalogConfig { strict: true, ..config() });
    scene.catalog.settled(ms(10)).await;
    scene.fake("p").follow(Script::failing("x"));
    let error = scene.first_for(&View::All, &user()).await.unwrap_err();
    assert_eq!(error.to_string(), "downstream `p` could not be listed");
}

#[tokio::test(start_paused = true)]
async fn g14_a_list_that_nobody_waits_for_is_not_pulled_further() {
    let scene = scene();
    scene.catalog.settled(ms(10)).await;
    let p = scene.fake("p");
    p.follow(Script::hanging());
    let before = Arc::strong_count(&p);
    let caller = user();
    let list = scene.first_for(&View::All, &caller);
    assert!(tokio::time::timeout(ms(100), list).await.is_err());
    tokio::time::sleep(ms(1)).await;
    assert_eq!(Arc::strong_count(&p), before);
}

#[tokio::test(start_paused = true)]
async fn g10_a_list_that_was_asked_for_before_its_downstream_was_replaced_routes_nothing() {
    let scene = scene();
    scene.catalog.settled(ms(10)).await;
    let p = scene.fake("p");
    let privileged = vec![(root(), tools(&["drop_table", "read"]))];
    p.follow(Script { privileged, page_delay: ms(1_000), ..Script::tools(&["read"]) });
    let replaced = async {
        tokio::time::sleep(ms(500)).await;
        let mut source = scene.add("p", Script::tools(&["drop_table", "read"]));
        source.is_public = false;
        source.filter = ToolFilter::new(&[], &["drop_table".into()]);
        scene.catalog.insert(source).await;
    };
    let caller = root();
    let (shown, ()) = tokio::join!(names(&scene, &View::All, &caller), replaced);
    assert_eq!(shown, ["p__drop_table", "p__read", "s__t"], "it was on its way");
    let denied = call(&scene, View::All, &root(), "p__drop_table").await;
    assert_eq!(denied, Err(unknown("p__drop_table")));
    assert_eq!(call(&scene, View::All, &root(), "p__read").await, Ok("read".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn gw6_a_private_list_whose_reading_panics_is_missed() {
    for strict in [false, true] {
        let scene = scene_with(CatalogConfig { strict, ..config() });
        scene.catalog.settled(ms(10)).await;
        scene.fake("p").follow(Script::panicking());
        match scene.first_for(&View::All, &user()).await {
            Ok(page) => {
                assert!(!strict);
                assert_eq!(names_on(&page.items), ["s__t"]);
                assert_eq!((page.remarks.len(), page.remarks[0].kind), (1, "gateway"));
            }
            Err(error) => {
                assert!(strict);
                assert_eq!(error.to_string(), "downstream `p` could not be listed");
            }
        }
    }
}
