//! What supervision says of a downstream, and when one that failed is tried again.

use gateway_catalog::CatalogConfig;
use gateway_domain::{
    Caller, Directory, DownstreamFault, DownstreamObserver, DownstreamState, Error, ListKind, SessionCounts,
    View,
};
use tokio::time::Instant;

use crate::fake::{Lists, Opening, Scene, Script, config, ms, names_on, tools, view};

#[tokio::test(start_paused = true)]
async fn what_is_found_broken_is_marked_until_it_has_recovered() {
    let scene = Scene::start([("a", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    let a = scene.fake("a");
    a.follow(Script { opening: Opening::Broken("calls fail", 15_000), ..Script::tools(&[]) });
    a.signal.broken("calls fail");
    tokio::time::sleep(ms(1)).await;
    let status = scene.status("a");
    assert_eq!((status.state, status.reason.as_deref()), (DownstreamState::Broken, Some("calls fail")));
    assert_eq!(scene.names(&View::All).await, ["a__t"], "its tools stay");
    let broken = ("a".to_owned(), "broken", false, "downstream_broken");
    assert_eq!(scene.remarks(&View::All).await, [broken]);
    assert_eq!(a.refreshes(), 1, "it is left alone");

    tokio::time::sleep(ms(7_000)).await;
    a.follow(Script::tools(&["t", "new"]));
    let (seen, begun) = (scene.catalog.generation(&View::All), Instant::now());
    a.signal.recovered();
    scene.catalog.changed(&View::All, seen).await;
    assert_eq!(begun.elapsed(), ms(0), "read at once");
    assert_eq!(scene.names(&View::All).await, ["a__new", "a__t"]);
    assert_eq!((scene.status("a").state, scene.remarks(&View::All).await), (DownstreamState::Ready, vec![]));

    let before = a.refreshes();
    a.signal.recovered();
    tokio::time::sleep(ms(60_000)).await;
    assert_eq!(a.refreshes(), before, "that it is well is no news");
}

#[tokio::test(start_paused = true)]
async fn with_a_list_that_is_kept_it_is_broken_only_where_no_session_is_to_be_had() {
    use DownstreamFault as F;
    use DownstreamState::{Broken, Degraded};
    let opening = |fault| Script { opening: Opening::FailsWith(fault), ..Script::tools(&["t"]) };
    let reading = |fault| Script::lists(Lists::Fails(fault));
    let reason = || "x".to_owned();
    for (script, state, kind) in [
        (Script { page_delay: ms(60_000), ..Script::tools(&["t"]) }, Degraded, "downstream_timeout"),
        (Script::lists(Lists::Endless { with_tools: false }), Degraded, "downstream_invalid_answer"),
        (Script::panicking(), Degraded, "gateway"),
        (reading(F::Nonsense { reason: reason() }), Degraded, "downstream_invalid_answer"),
        (reading(F::TooLarge { limit: 1 }), Degraded, "downstream_answer_too_large"),
        (reading(F::Status { status: 500 }), Degraded, "downstream_status"),
        (opening(F::Exhausted { max: 1 }), Degraded, "downstream_pool_exhausted"),
        (reading(F::Ended { reason: reason() }), Broken, "downstream_ended"),
        (reading(F::Unauthorized { status: 401 }), Broken, "downstream_unauthorized"),
        (opening(F::TimedOut { after: ms(1) }), Broken, "downstream_timeout"),
        (opening(F::Handshake { reason: reason() }), Broken, "downstream_handshake"),
        (Script::failing("x"), Broken, "downstream_unreachable"),
        (Script { opening: Opening::Broken("x", 1_000), ..Script::tools(&[]) }, Broken, "downstream_broken"),
    ] {
        let scene = Scene::start([("a", Script::tools(&["t"])), ("new", script.clone())]);
        tokio::time::sleep(ms(11_000)).await;
        assert_eq!(scene.status("new").state, Broken, "{kind}: it has no list");
        scene.fake("a").follow(script);
        scene.fake("a").signal.list_changed(ListKind::Tools);
        tokio::time::sleep(ms(11_000)).await;
        let status = scene.status("a");
        assert_eq!((status.state, status.is_stale, status.tools), (state, true, 1), "{kind}");
        assert!(status.reason.is_some(), "{kind}");
        assert_eq!(scene.remarks(&view("a")).await, [("a".to_owned(), state.as_str(), true, kind)]);
        assert_eq!(scene.names(&view("a")).await, ["t"]);

        scene.fake("a").follow(Script::tools(&["t"]));
        tokio::time::sleep(ms(30_000)).await;
        let status = scene.status("a");
        assert_eq!((status.state, status.reason, status.is_stale), (DownstreamState::Ready, None, false));
        assert_eq!(scene.remarks(&view("a")).await, [], "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_found_broken_stays_so_while_its_list_fails_whatever_the_failure() {
    let scene = Scene::start([("a", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    let a = scene.fake("a");
    a.follow(Script::lists(Lists::Endless { with_tools: false }));
    a.signal.broken("calls fail");
    tokio::time::sleep(ms(40_000)).await;
    assert!(a.refreshes() > 2, "it has been tried");
    assert_eq!(scene.status("a").state, DownstreamState::Broken);
    a.signal.recovered();
    tokio::time::sleep(ms(15_000)).await;
    let status = scene.status("a");
    assert_eq!(
        (status.state, status.is_stale),
        (DownstreamState::Degraded, true),
        "calls are answered again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_degraded_list_is_not_read_whenever_somebody_asks() {
    let short = |lists| Script { ttls: vec![100], ..Script::lists(lists) };
    let scene = Scene::start([("a", short(Lists::Pages(vec![tools(&["t"])])))]);
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    let a = scene.fake("a");
    a.follow(short(Lists::Endless { with_tools: false }));
    for _ in 0..1_000 {
        assert_eq!(scene.names(&View::All).await, ["a__t"]);
        tokio::time::sleep(ms(10)).await;
    }
    assert_eq!(scene.status("a").state, DownstreamState::Degraded);
    assert_eq!(a.gaps()[1..], [1_000, 2_000, 4_000], "retries only");
}

#[tokio::test(start_paused = true)]
async fn one_whose_sessions_stay_is_broken_without_the_list_that_made_it_degraded() {
    for (address, state) in [("address of a", DownstreamState::Degraded), ("else", DownstreamState::Broken)] {
        let scene = Scene::start([("a", Script::tools(&["t"]))]);
        scene.catalog.settled(ms(10)).await;
        tokio::time::sleep(ms(1_000)).await;
        let signal = scene.fake("a").signal.clone();
        scene.fake("a").follow(Script::lists(Lists::Endless { with_tools: false }));
        signal.list_changed(ListKind::Tools);
        tokio::time::sleep(ms(100)).await;
        let mut source = scene.add("a", Script::hanging());
        (source.signal, source.address) = (signal, address.to_owned());
        scene.catalog.insert(source).await;
        assert_eq!(scene.status("a").state, state, "at {address}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_the_first_list_of_what_is_found_broken() {
    let scene = Scene::start([("a", Script::failing("x").after(1_000)), ("b", Script::hanging())]);
    let (page, waited) = {
        let begun = Instant::now();
        (scene.first(&view("a")).await.unwrap(), begun.elapsed())
    };
    assert_eq!((page.items.as_str(), waited), ("[]", ms(1_000)));
    assert_eq!(page.remarks[0].kind, "downstream_unreachable");
    scene.fake("a").signal.broken("exit status 1");
    tokio::time::sleep(ms(1)).await;
    assert_eq!(scene.status("a").reason.as_deref(), Some("exit status 1"));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_not_heard_of_again_is_tried_after_15_s() {
    let scene = Scene::start([("a", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    scene.fake("a").signal.broken("x");
    tokio::time::sleep(ms(14_900)).await;
    assert_eq!(scene.status("a").state, DownstreamState::Broken);
    tokio::time::sleep(ms(200)).await;
    assert_eq!(scene.status("a").state, DownstreamState::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_broken_downstream_is_tried_when_its_supervision_lets_it() {
    let broken = |retry_in| Script { opening: Opening::Broken("x", retry_in), ..Script::tools(&[]) };
    for (retry_in, gap) in [(3_000, 3_000), (100, 100), (0, 50), (600_000, 15_000)] {
        let scene = Scene::start([("a", Script::failing("x"))]);
        tokio::time::sleep(ms(31_000)).await;
        let a = scene.fake("a");
        assert_eq!(a.gaps(), [1_000, 2_000, 4_000, 8_000, 15_000], "the delay has grown");
        a.follow(broken(retry_in));
        tokio::time::sleep(ms(50_000)).await;
        let gaps = &a.gaps()[6..];
        assert!(gaps.iter().all(|found| *found == gap) && gaps.len() > 1, "{retry_in}: {gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_appears_later_is_listed_within_20_s() {
    let scene = Scene::start([("a", Script::failing("no such file"))]);
    tokio::time::sleep(ms(3_600_000)).await;
    let (seen, begun) = (scene.catalog.generation(&View::All), Instant::now());
    scene.fake("a").follow(Script::tools(&["t"]).after(2_000));
    scene.catalog.changed(&View::All, seen).await;
    assert!(begun.elapsed() <= ms(20_000), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_said_to_be_well_whenever_it_fails_is_not_hammered() {
    let scene = Scene::start([("a", Script::lists(Lists::Endless { with_tools: false }))]);
    scene.catalog.settled(ms(10)).await;
    let a = scene.fake("a");
    for _ in 0..1_000 {
        a.signal.recovered();
        tokio::time::sleep(ms(10)).await;
    }
    assert!((9..=11).contains(&a.refreshes()), "{}", a.refreshes());
}

#[tokio::test(start_paused = true)]
async fn the_status_counts_sessions_and_dates_the_list() {
    let scene = Scene::start([("a", Script::tools(&["t"])), ("b", Script::failing("x"))]);
    scene.catalog.settled(ms(10)).await;
    let counts = SessionCounts { opened: 7, lost: 2, ..SessionCounts::default() };
    scene.fake("a").count(counts);
    tokio::time::sleep(ms(2_500)).await;
    let (a, b) = (scene.status("a"), scene.status("b"));
    assert_eq!((a.sessions, a.list_age, a.is_stale), (counts, Some(ms(2_500)), false));
    assert_eq!((b.sessions, b.list_age, b.is_stale), (SessionCounts::default(), None, false));
}

#[tokio::test(start_paused = true)]
async fn gw6_what_is_not_on_a_list_is_named_there() {
    let scripts = [
        ("cut", Script::lists(Lists::Circle(tools(&["t"])))),
        ("dead", Script::failing("http://10.0.0.1 refused")),
        ("good", Script::tools(&["t"])),
        ("late", Script::hanging()),
        ("off", Script::tools(&["t"])),
    ];
    let scene = Scene::with(config(), scripts, |source| source.enabled = source.name.as_str() != "off");
    let said = |name: &str, state, kind| (name.to_owned(), state, false, kind);
    let expected = [
        said("cut", "degraded", "partial"),
        said("dead", "broken", "downstream_unreachable"),
        said("late", "starting", "starting"),
    ];
    assert_eq!(scene.remarks(&View::All).await, expected);
    assert_eq!(scene.remarks(&view("dead")).await, expected[1..2]);
    assert_eq!(scene.remarks(&view("good")).await, []);
    let page = scene.first(&View::All).await.unwrap();
    assert!(!page.is_private);
    assert!(!format!("{:?}", page.remarks).contains("10.0.0.1"), "reasons are the operator's");
}

#[tokio::test(start_paused = true)]
async fn gw6_in_strict_mode_a_partial_list_is_an_error_that_says_whose() {
    let strict = CatalogConfig { strict: true, ..config() };
    let scripts = [
        ("dead", Script::failing("http://10.0.0.1 refused")),
        ("good", Script::tools(&["t"])),
        ("late", Script::tools(&["t"]).after(6_000)),
        ("off", Script::failing("x")),
    ];
    let scene = Scene::with(strict, scripts, |source| source.enabled = source.name.as_str() != "off");
    let error = scene.first(&View::All).await.unwrap_err();
    assert!(matches!(error, Error::Unlisted(_)));
    assert_eq!(error.to_string(), "downstreams `dead`, `late` could not be listed");
    assert_eq!(
        names_on(&scene.first(&view("good")).await.unwrap().items),
        ["t"],
        "which concerns this view only"
    );
    tokio::time::sleep(ms(2_000)).await;
    let error = scene.first(&View::All).await.unwrap_err();
    assert_eq!(error.to_string(), "downstream `dead` could not be listed");
    scene.fake("dead").follow(Script::tools(&["t"]));
    tokio::time::sleep(ms(20_000)).await;
    let page = scene.first_for(&View::All, &Caller::client("desk")).await.unwrap();
    assert_eq!(names_on(&page.items), ["dead__t", "good__t", "late__t"]);
}
