//! Nobody waits for the slowest (P-W1): when the first list is answered, to the millisecond.

use gateway_catalog::CatalogConfig;
use gateway_domain::{Directory, DownstreamObserver, ListKind, View};
use tokio::time::Instant;

use crate::fake::{Lists, Scene, Script, ms, view};

/// How long the first list takes with these downstreams, and how many tools it has.
async fn check(why: &str, scripts: &[(&'static str, Script)], expected: (u64, usize)) {
    let scene = Scene::start(scripts.iter().cloned());
    let begun = Instant::now();
    let names = scene.names(&View::All).await;
    assert_eq!((begun.elapsed(), names.len()), (ms(expected.0), expected.1), "{why}: {names:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_list_waits_for_what_comes_soon_and_no_longer() {
    let one = || Script::tools(&["t"]);
    let crowd = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|name| (name, one().after(300)));
    check("no downstreams", &[], (0, 0)).await;
    check("all at once, not one after the other", &crowd, (300, 10)).await;
    check("all settled: at once", &[("a", one().after(40)), ("b", Script::failing("x").after(60))], (60, 1))
        .await;
    check("none ready, all settled", &[("a", Script::failing("x").after(250))], (250, 0)).await;
    check("none ready: the budget", &[("a", Script::hanging())], (5_000, 0)).await;
    check("only a failure", &[("a", Script::hanging()), ("b", Script::failing("x"))], (5_000, 0)).await;
    check("one ready: settle", &[("a", one().after(100)), ("b", Script::hanging())], (600, 1)).await;
    check(
        "settle after the last arrival, failures are none",
        &[
            ("a", one().after(100)),
            ("b", one().after(500)),
            ("c", one().after(900)),
            ("d", Script::failing("x").after(1_200)),
            ("e", Script::hanging()),
        ],
        (1_400, 3),
    )
    .await;
    let steady = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
    let steady: Vec<_> = (1..).zip(steady).map(|(n, name)| (name, one().after(n * 400))).collect();
    check("arrivals without an end: the budget", &steady, (5_000, 12)).await;
    let stuck = Script::lists(Lists::HangAfterOne(Vec::new()));
    check("a list that hangs is like a start that hangs", &[("a", one()), ("b", stuck)], (500, 1)).await;
}

#[tokio::test(start_paused = true)]
async fn who_asks_later_waits_for_what_is_left_of_it() {
    let scene = Scene::start([("a", Script::tools(&["t"]).after(100)), ("b", Script::hanging())]);
    tokio::time::sleep(ms(400)).await;
    for waited in [200, 0, 0] {
        let begun = Instant::now();
        assert_eq!(scene.names(&View::All).await, ["a__t"]);
        assert_eq!(begun.elapsed(), ms(waited));
    }
    let scene = Scene::start([("a", Script::hanging())]);
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(scene.names(&View::All).await, [""; 0]);
        assert_eq!(begun.elapsed(), ms(5_000), "the budget is each request's own");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ready_downstream_that_changes_does_not_prolong_the_wait() {
    let restless = Script { restless: true, ..Script::tools(&["t"]) };
    let scene = Scene::start([("a", restless), ("b", Script::hanging())]);
    let begun = Instant::now();
    scene.names(&View::All).await;
    assert!(scene.fake("a").refreshes() > 2, "it was refreshed meanwhile");
    assert_eq!(begun.elapsed(), ms(500));
}

#[tokio::test(start_paused = true)]
async fn the_view_of_one_waits_for_that_one() {
    let scene = Scene::start([("a", Script::tools(&["t"]).after(70)), ("b", Script::hanging())]);
    let begun = Instant::now();
    assert_eq!(scene.names(&view("a")).await, ["t"]);
    assert_eq!(begun.elapsed(), ms(70));
    assert_eq!(scene.names(&view("b")).await, [""; 0]);
    assert_eq!(begun.elapsed(), ms(5_070));
}

#[tokio::test(start_paused = true)]
async fn the_rest_follows_and_wakes_those_who_wait_for_a_change() {
    let scene = Scene::start([("a", Script::tools(&["t"])), ("b", Script::tools(&["u"]).after(7_000))]);
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    let seen = scene.catalog.generation(&View::All);
    let (first, second) =
        tokio::join!(scene.catalog.changed(&View::All, seen), scene.catalog.changed(&View::All, seen));
    assert_eq!((begun.elapsed(), first), (ms(7_000), second));
    assert!(first > seen);
    assert_eq!(scene.names(&View::All).await, ["a__t", "b__u"]);
    let late = scene.catalog.changed(&View::All, seen).await;
    assert_eq!((late, begun.elapsed()), (first, ms(7_000)), "a change that is over is reported at once");
    let a = view("a");
    let own = scene.catalog.changed(&a, scene.catalog.generation(&a));
    assert!(
        tokio::time::timeout(ms(60_000), own).await.is_err(),
        "another downstream's change is none of this view's"
    );
}

#[tokio::test(start_paused = true)]
async fn settling_is_waited_for_within_a_bound() {
    let scene = Scene::start([("a", Script::tools(&["t"]).after(80)), ("b", Script::failing("x").after(90))]);
    let begun = Instant::now();
    scene.catalog.settled(ms(1_000)).await;
    assert_eq!(begun.elapsed(), ms(90));
    assert_eq!(scene.catalog.generation(&View::All), 1);
    let scene = Scene::start([("a", Script::hanging())]);
    let begun = Instant::now();
    scene.catalog.settled(ms(1_000)).await;
    assert_eq!(begun.elapsed(), ms(1_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_has_settled_is_on_the_list() {
    // With threads that run at the same time, unlike in paused time.
    for round in 0..150 {
        let crowd = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| (name, Script::tools(&["t"])));
        let scene = Scene::start(crowd);
        scene.catalog.settled(ms(60_000)).await;
        assert_eq!(scene.names(&View::All).await.len(), 8, "in round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn budget_and_settle_are_configurable() {
    let config = CatalogConfig { budget: ms(900), settle: ms(30), ..CatalogConfig::default() };
    let scene = Scene::with(config.clone(), [("a", Script::hanging())], |_| {});
    let begun = Instant::now();
    scene.names(&View::All).await;
    assert_eq!(begun.elapsed(), ms(900));
    let scene = Scene::with(config, [("a", Script::tools(&["t"])), ("b", Script::hanging())], |_| {});
    let begun = Instant::now();
    scene.names(&View::All).await;
    assert_eq!(begun.elapsed(), ms(30));
}

#[tokio::test(start_paused = true)]
async fn a_closed_catalogue_keeps_what_it_has_and_nobody_waits() {
    let scene = Scene::start([("a", Script::tools(&["t"])), ("b", Script::hanging())]);
    assert_eq!(scene.names(&view("a")).await, ["t"]);
    let begun = Instant::now();
    let (page, ()) =
        tokio::join!(async { scene.first(&view("b")).await }, async { scene.catalog.close().await });
    assert_eq!((page.unwrap().items.as_str(), begun.elapsed()), ("[]", ms(0)));
    scene.fake("a").signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(3_600_000)).await;
    assert_eq!(scene.fake("a").refreshes(), 1);
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_asks_for_a_session_once_the_catalogue_is_closed() {
    let scene = Scene::start([("a", Script::hanging())]);
    let a = scene.fake("a");
    tokio::time::sleep(ms(10)).await;
    assert_eq!(std::sync::Arc::strong_count(&a), 3, "ours, the scene's, and who waits for a session");
    scene.catalog.close().await;
    assert_eq!(std::sync::Arc::strong_count(&a), 2);
    scene.catalog.close().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_clone_ends_the_background() {
    let Scene { catalog, fakes } =
        Scene::start([("a", Script::hanging()), ("b", Script::failing("x")), ("c", Script::tools(&["t"]))]);
    catalog.settled(ms(100)).await;
    let clone = catalog.clone();
    drop(catalog);
    tokio::time::sleep(ms(10)).await;
    assert!(std::sync::Arc::strong_count(&fakes) > 1, "a clone still shares it");
    drop(clone);
    tokio::time::sleep(ms(10)).await;
    assert_eq!(std::sync::Arc::strong_count(&fakes), 1);
}
