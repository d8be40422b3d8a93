//! What happens after the first list: changes, failures, recovery, lost sessions.

use gateway_catalog::CatalogConfig;
use gateway_domain::{
    CallerError, Directory, DownstreamObserver, DownstreamState, Error, ListKind, RawJson, View,
};
use tokio::time::Instant;

use crate::{
    fake::{Lists, Opening, Scene, Script, config, ms, tools, view},
    log::Log,
};

async fn first_page(scene: &Scene, view: &View) -> RawJson {
    scene.first(view).await.unwrap().items
}

fn address(page: RawJson) -> usize {
    page.into_bytes().as_ptr().addr()
}

#[tokio::test(start_paused = true)]
async fn a_list_that_did_not_change_keeps_generation_and_rendered_page() {
    let scene = Scene::start([("a", Script::tools(&["t", "u"])), ("b", Script::tools(&["v"]))]);
    let before = address(first_page(&scene, &View::All).await);
    assert_eq!(address(first_page(&scene, &View::All).await), before, "rendered once, shared by all");
    let (all, b) = (scene.catalog.generation(&View::All), scene.catalog.generation(&view("b")));
    let page_of_b = address(first_page(&scene, &view("b")).await);

    let a = scene.fake("a");
    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(2_000)).await;
    assert_eq!(a.refreshes(), 2);
    assert_eq!(scene.catalog.generation(&View::All), all);
    assert_eq!(address(first_page(&scene, &View::All).await), before);

    a.follow(Script::tools(&["u", "t"]));
    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(2_000)).await;
    assert_eq!(scene.catalog.generation(&View::All), all, "only the order changed, which nobody sees");

    a.follow(Script::tools(&["t", "w"]));
    a.signal.list_changed(ListKind::Tools);
    assert_eq!(scene.catalog.changed(&View::All, all).await, all + 1);
    assert_eq!(scene.names(&View::All).await, ["a__t", "a__w", "b__v"]);
    assert_eq!(scene.catalog.generation(&view("b")), b, "b shows what it showed");
    assert_eq!(address(first_page(&scene, &view("b")).await), page_of_b);
}

#[tokio::test(start_paused = true)]
async fn many_signals_are_one_refresh() {
    let scene = Scene::start([("a", Script { page_delay: ms(10), ..Script::tools(&["t"]) })]);
    scene.catalog.settled(ms(100)).await;
    tokio::time::sleep(ms(5_000)).await;
    let a = scene.fake("a");
    for _ in 0..40 {
        a.signal.list_changed(ListKind::Tools);
        tokio::time::sleep(ms(1)).await;
    }
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(a.refreshes(), 2);
    assert_eq!(a.gaps(), [5_060], "50 ms after the first signal");

    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(55)).await;
    assert_eq!(a.refreshes(), 3, "the list is being read");
    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(a.refreshes(), 4, "what changes while a list is read is not on it");
}

#[tokio::test(start_paused = true)]
async fn a_downstream_that_never_rests_is_listed_less_and_less_often() {
    let scene = Scene::start([("a", Script { restless: true, ..Script::tools(&["t"]) })]);
    tokio::time::sleep(ms(60_000)).await;
    let a = scene.fake("a");
    assert_eq!(a.gaps(), [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]);

    a.follow(Script::tools(&["t"]));
    tokio::time::sleep(ms(60_000)).await;
    let before = a.refreshes();
    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(51)).await;
    assert_eq!(a.refreshes(), before + 1, "after a rest it is listed promptly again");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_read_again_when_it_is_old() {
    let config = CatalogConfig { ttl: ms(60_000), ..CatalogConfig::default() };
    let scene = Scene::with(config, [("a", Script::tools(&["t"]))], |_| {});
    scene.catalog.settled(ms(100)).await;
    scene.fake("a").follow(Script::tools(&["u"]));
    tokio::time::sleep(ms(180_001)).await;
    assert_eq!(scene.fake("a").gaps(), [60_000, 60_000, 60_000]);
    assert_eq!(scene.names(&View::All).await, ["a__u"]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_downstream_keeps_its_last_list_and_is_retried() {
    let scene = Scene::start([("a", Script::tools(&["t"])), ("b", Script::tools(&["u"]))]);
    assert_eq!(scene.names(&View::All).await, ["a__t", "b__u"]);
    let generation = scene.catalog.generation(&View::All);
    tokio::time::sleep(ms(5_000)).await;
    let a = scene.fake("a");
    a.follow(Script::failing("connection refused"));
    a.signal.session_lost("exit status 1");
    tokio::time::sleep(ms(46_000)).await;
    assert_eq!(a.gaps(), [5_050, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    let status = scene.status("a");
    assert_eq!((status.state, status.tools), (DownstreamState::Broken, 1));
    assert_eq!(
        status.reason.as_deref(),
        Some("cannot be reached: connection refused"),
        "the reason is the operator's"
    );
    assert_eq!(scene.names(&View::All).await, ["a__t", "b__u"]);
    assert_eq!(scene.catalog.generation(&View::All), generation);
    assert_eq!(scene.status("b").state, DownstreamState::Ready);

    a.follow(Script::tools(&["t", "new"]));
    scene.catalog.changed(&View::All, generation).await;
    assert_eq!(scene.names(&View::All).await, ["a__new", "a__t", "b__u"]);
    let status = scene.status("a");
    assert_eq!((status.state, status.reason), (DownstreamState::Ready, None));

    a.follow(Script::failing("again"));
    tokio::time::sleep(ms(60_000)).await;
    let before = a.refreshes();
    a.signal.session_lost("exit status 1");
    tokio::time::sleep(ms(1_100)).await;
    assert_eq!(a.refreshes(), before + 2, "after a success the delay begins small again");
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_nothing_for_good() {
    let scene = Scene::start([("a", Script::tools(&["t"])), ("b", Script::panicking())]);
    scene.catalog.settled(ms(10)).await;
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    assert_eq!(begun.elapsed(), ms(0), "nobody waits for what is broken");
    let b = scene.fake("b");
    tokio::time::sleep(ms(23_000)).await;
    assert_eq!(b.gaps(), [1_000, 2_000, 4_000, 8_000]);
    let status = scene.status("b");
    let reason = "reading its list panicked in the gateway (5 times so far); please report it";
    assert_eq!((status.state, status.reason.as_deref()), (DownstreamState::Broken, Some(reason)));
    b.follow(Script::tools(&["u"]));
    tokio::time::sleep(ms(8_000)).await;
    assert_eq!(scene.names(&View::All).await, ["a__t", "b__u"]);
    assert_eq!((scene.status("b").state, scene.status("b").reason), (DownstreamState::Ready, None));
    b.follow(Script::panicking());
    b.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(100)).await;
    assert_eq!(scene.names(&View::All).await, ["a__t", "b__u"], "its last list stays");
}

#[tokio::test(start_paused = true)]
async fn what_the_supervisor_says_of_a_broken_downstream_is_what_broke_it() {
    let scene = Scene::start([(
        "a",
        Script { opening: Opening::Broken("exit status 1", 1_000), ..Script::tools(&[]) },
    )]);
    scene.catalog.settled(ms(10)).await;
    assert_eq!(scene.status("a").reason.as_deref(), Some("exit status 1"));
}

#[tokio::test(start_paused = true)]
async fn failures_are_warned_of_by_their_kind() {
    let (log, _recording) = Log::start();
    let scene = Scene::start([("a", Script::failing("first"))]);
    scene.catalog.settled(ms(10)).await;
    assert_eq!(log.warnings(), 1);
    scene.fake("a").follow(Script::failing("other words"));
    tokio::time::sleep(ms(300_000)).await;
    assert_eq!(log.warnings(), 1, "the kind is the same");
    scene.fake("a").follow(Script { opening: Opening::Broken("x", 1_000), ..Script::tools(&[]) });
    tokio::time::sleep(ms(300_000)).await;
    assert_eq!(log.warnings(), 1, "that it is left alone is no news");
    scene.fake("a").follow(Script::lists(Lists::Endless { with_tools: false }));
    tokio::time::sleep(ms(300_000)).await;
    assert_eq!(log.warnings(), 2, "another kind");
    scene.fake("a").follow(Script::tools(&["t"]));
    tokio::time::sleep(ms(300_000)).await;
    scene.fake("a").follow(Script::lists(Lists::Endless { with_tools: false }));
    scene.fake("a").signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(log.warnings(), 3, "it was well in between");
}

#[tokio::test(start_paused = true)]
async fn how_long_changes_are_gathered_is_configurable() {
    let config = CatalogConfig { gather: ms(300), ..CatalogConfig::default() };
    let scene = Scene::with(config, [("a", Script::tools(&["t"]))], |_| {});
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    scene.fake("a").signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(scene.fake("a").gaps(), [5_300]);
}

#[tokio::test(start_paused = true)]
async fn a_change_announced_while_a_failed_downstream_waits_is_not_lost() {
    let scene = Scene::start([("a", Script::failing("x"))]);
    scene.catalog.settled(ms(100)).await;
    assert_eq!(scene.status("a").state, DownstreamState::Broken);
    let a = scene.fake("a");
    tokio::time::sleep(ms(200)).await;
    a.follow(Script::tools(&["t"]));
    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(799)).await;
    assert_eq!(a.refreshes(), 1, "a signal does not shorten the delay");
    tokio::time::sleep(ms(60_000)).await;
    assert_eq!(a.gaps(), [1_000], "the retry has answered it");
    assert_eq!(scene.names(&View::All).await, ["a__t"]);

    // During a refresh that fails: the next one comes anyway.
    a.follow(Script::failing("x").after(100));
    a.signal.session_lost("gone");
    tokio::time::sleep(ms(100)).await;
    a.signal.list_changed(ListKind::Tools);
    a.follow(Script::tools(&["t", "u"]));
    tokio::time::sleep(ms(2_000)).await;
    assert_eq!(scene.names(&View::All).await, ["a__t", "a__u"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_replaced_and_its_list_read_again() {
    let scene = Scene::start([("a", Script::tools(&["t"]))]);
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    tokio::time::sleep(ms(3_000)).await;
    scene.fake("a").follow(Script::tools(&["u"]));
    let (seen, begun) = (scene.catalog.generation(&View::All), Instant::now());
    scene.fake("a").signal.session_lost("exit status 1");
    scene.catalog.changed(&View::All, seen).await;
    assert_eq!(begun.elapsed(), ms(50));
    assert_eq!(scene.names(&View::All).await, ["a__u"]);
    assert_eq!(scene.status("a").state, DownstreamState::Ready);
}

#[tokio::test(start_paused = true)]
async fn disabled_and_unknown_downstreams_have_no_view() {
    let scripts = [("on", Script::tools(&["t"])), ("off", Script::tools(&["t"]))];
    let scene = Scene::with(CatalogConfig::default(), scripts, |source| {
        source.enabled = source.name.as_str() == "on"
    });
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["on__t"]);
    scene.fake("off").signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(scene.fake("off").refreshes(), 0);
    let states: Vec<_> = scene
        .catalog
        .downstreams()
        .iter()
        .map(|s| (s.name.to_string(), s.state, s.reason.is_some()))
        .collect();
    assert_eq!(
        states,
        [
            ("off".to_owned(), DownstreamState::Disabled, true),
            ("on".to_owned(), DownstreamState::Ready, false)
        ]
    );
    assert!(scene.catalog.has_view(&View::All) && scene.catalog.has_view(&view("on")));
    for unknown in ["off", "gone"] {
        assert!(!scene.catalog.has_view(&view(unknown)));
        let error = scene.first(&view(unknown)).await.unwrap_err();
        assert_eq!(error, Error::from(CallerError::UnknownDownstream { name: unknown.to_owned() }));
        assert!(scene.tool(&view(unknown), "t").is_none());
        assert_eq!(scene.catalog.generation(&view(unknown)), 0);
    }
    assert_eq!(begun.elapsed(), ms(5_000), "nobody waited for them");
}

#[tokio::test(start_paused = true)]
async fn the_status_says_what_was_listed() {
    let scripts = [("a", Script { page_delay: ms(30), ..Script::tools(&["t"]) }.after(20))];
    let scene = Scene::with(CatalogConfig::default(), scripts, |source| source.required = true);
    let status = scene.status("a");
    assert_eq!((status.state, status.started, status.required), (DownstreamState::Starting, None, true));
    scene.catalog.settled(ms(1_000)).await;
    let status = scene.status("a");
    assert_eq!((status.state, status.started), (DownstreamState::Ready, Some(ms(50))));
    assert_eq!((status.protocol.as_deref(), status.tools), (Some("2026-07-28"), tools(&["t"]).len()));
}

#[tokio::test(start_paused = true)]
async fn g31_a_list_that_meets_a_forgotten_session_is_read_from_another_once() {
    let scene =
        Scene::with(config(), [("a", Script::tools(&["t"])), ("own", Script::tools(&["t"]))], |source| {
            source.is_public = source.name.as_str() == "a"
        });
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    let a = scene.fake("a");
    a.forget(1);
    a.signal.session_lost("404");
    tokio::time::sleep(ms(60)).await;
    assert_eq!((a.pulls(), scene.status("a").state), (3, DownstreamState::Ready), "nobody has noticed");
    assert_eq!(scene.remarks(&view("a")).await, []);
    a.forget(2);
    a.signal.session_lost("404");
    tokio::time::sleep(ms(200)).await;
    assert_eq!((a.pulls(), scene.status("a").state), (5, DownstreamState::Broken), "twice is a failure");

    let own = scene.fake("own");
    own.forget(1);
    assert_eq!((scene.names(&view("own")).await, own.pulls()), (vec!["t".to_owned()], 2));
    own.forget(2);
    assert_eq!((scene.names(&view("own")).await, own.pulls()), (vec![], 4));
}
