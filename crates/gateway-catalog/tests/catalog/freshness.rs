//! How long lists hold, and what is shown when they do not.

use gateway_catalog::CatalogConfig;
use gateway_domain::{Directory, DownstreamObserver, DownstreamState, Era, ListKind, View};
use tokio::time::Instant;

use crate::fake::{Lists, Scene, Script, config, ms, name, tools};

/// After how many milliseconds the list is read again by itself, if so.
async fn check(why: &str, script: Script, expected: Option<u128>) {
    let scene = Scene::start([("a", script)]);
    scene.catalog.settled(ms(100)).await;
    tokio::time::sleep(ms(1_000_000)).await;
    assert_eq!(scene.fake("a").pull_gaps().first().copied(), expected, "{why}");
}

#[tokio::test(start_paused = true)]
async fn g4_a_list_is_read_again_when_its_time_is_over() {
    let holding = |ttls: &[u64]| Script { ttls: ttls.to_vec(), ..Script::tools(&["t"]) };
    check("G-4: 900 s", holding(&[]), Some(900_000)).await;
    check("its own time", holding(&[120_000]), Some(120_000)).await;
    check("never longer than configured", holding(&[5_000_000]), Some(900_000)).await;
    check("short ones are not polled for", holding(&[59_999]), None).await;
    check("nor is zero", holding(&[0]), None).await;
    let paged = |ttls: &[u64]| Script {
        ttls: ttls.to_vec(),
        ..Script::lists(Lists::Pages(vec![tools(&["t"]), tools(&["u"])]))
    };
    check("the shortest of the pages", paged(&[300_000, 120_000]), Some(120_000)).await;
    check("whichever that is", paged(&[120_000, 300_000]), Some(120_000)).await;
    let legacy = Script { era: Era::Legacy, ..holding(&[120_000]) };
    check("legacy revisions have no such member", legacy, Some(900_000)).await;
}

#[tokio::test(start_paused = true)]
async fn gw4_gw5_an_old_list_is_shown_and_marked_while_it_is_read_once_for_all() {
    let script = Script { ttls: vec![0], page_delay: ms(200), ..Script::tools(&["t"]) };
    let scene = Scene::start([("a", script.clone())]);
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    assert_eq!(scene.remarks(&View::All).await, []);
    let a = scene.fake("a");
    tokio::time::sleep(ms(999)).await;
    scene.names(&View::All).await;
    tokio::time::sleep(ms(3_600_000)).await;
    assert_eq!(a.pulls(), 1, "held for a second; then nobody asked");

    a.follow(Script { lists: Lists::Pages(vec![tools(&["u"])]), ..script });
    let begun = Instant::now();
    for _ in 0..10 {
        assert_eq!(scene.remarks(&View::All).await, [("a".to_owned(), "ready", true, "stale")]);
        assert_eq!(scene.names(&View::All).await, ["a__t"]);
    }
    assert_eq!(begun.elapsed(), ms(0), "nobody waits for it");
    tokio::time::sleep(ms(100)).await;
    assert!(scene.status("a").is_stale);
    scene.names(&View::All).await;
    tokio::time::sleep(ms(101)).await;
    assert_eq!(scene.names(&View::All).await, ["a__u"]);
    assert_eq!((scene.remarks(&View::All).await, scene.status("a").is_stale), (vec![], false));
    tokio::time::sleep(ms(500)).await;
    assert_eq!(a.pulls(), 2);
}

#[tokio::test(start_paused = true)]
async fn g8_g9_an_empty_list_is_read_again_for_those_who_ask() {
    let scene = Scene::start([("a", Script::tools(&[])), ("b", Script::tools(&["t"]))]);
    let a = scene.fake("a");
    let begun = Instant::now();
    // Somebody asks ten times a second.
    for _ in 0..600 {
        assert_eq!(scene.names(&View::All).await, ["b__t"]);
        tokio::time::sleep(ms(100)).await;
    }
    assert_eq!(begun.elapsed(), ms(60_000));
    assert_eq!(a.pull_gaps(), [1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    assert_eq!(scene.fake("b").pulls(), 1);

    a.follow(Script { page_delay: ms(300), ..Script::tools(&["new"]) });
    tokio::time::sleep(ms(100_000)).await;
    assert_eq!(a.pulls(), 7, "nobody asked");
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__new", "b__t"], "who asks now waits for it");
    assert_eq!((begun.elapsed(), a.pulls()), (ms(300), 8));
    tokio::time::sleep(ms(100_000)).await;
    scene.names(&View::All).await;
    assert_eq!(a.pulls(), 8, "it is cached");
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_that_hangs_is_waited_for_within_one_budget() {
    let scene = Scene::start([("a", Script::tools(&[])), ("b", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(2_000)).await;
    scene.fake("a").follow(Script::lists(Lists::HangAfterOne(Vec::new())));
    for waited in [5_000, 0, 0] {
        let begun = Instant::now();
        assert_eq!(scene.names(&View::All).await, ["b__t"]);
        assert_eq!(begun.elapsed(), ms(waited));
    }
    assert_eq!(scene.fake("a").pulls(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_says_it_has_no_tools_is_not_asked() {
    let scene = Scene::start([("a", Script { declares_tools: false, ..Script::tools(&["t"]) })]);
    for _ in 0..5 {
        assert_eq!(scene.names(&View::All).await, [""; 0]);
        tokio::time::sleep(ms(20_000)).await;
    }
    let a = scene.fake("a");
    assert_eq!((a.refreshes(), a.pulls(), scene.status("a").state), (1, 0, DownstreamState::Ready));
    assert_eq!(scene.remarks(&View::All).await, []);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_that_nothing_announced_is_not_believed_at_once() {
    let scene = Scene::start([("a", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    let a = scene.fake("a");
    tokio::time::sleep(ms(5_000)).await;
    a.follow(Script::tools(&[]));
    a.signal.session_lost("exit status 1");
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!((scene.names(&View::All).await, a.pulls()), (vec!["a__t".to_owned()], 2));
    let status = scene.status("a");
    assert_eq!((status.state, status.is_stale, status.tools), (DownstreamState::Degraded, true, 1));
    assert!(status.reason.unwrap().contains("without tools"));
    assert_eq!(scene.remarks(&View::All).await, [("a".to_owned(), "degraded", true, "stale")]);

    // A hiccup is over when somebody asks again.
    a.follow(Script::tools(&["t"]));
    tokio::time::sleep(ms(5_000)).await;
    scene.names(&View::All).await;
    tokio::time::sleep(ms(10)).await;
    assert_eq!((scene.remarks(&View::All).await, scene.status("a").state), (vec![], DownstreamState::Ready));

    // What it stands by for as long as any list holds is so.
    a.follow(Script::tools(&[]));
    tokio::time::sleep(ms(5_000)).await;
    a.signal.session_lost("exit status 1");
    tokio::time::sleep(ms(890_000)).await;
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    tokio::time::sleep(ms(20_000)).await;
    scene.names(&View::All).await;
    tokio::time::sleep(ms(10)).await;
    assert_eq!(scene.names(&View::All).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_that_was_announced_is_believed() {
    for flushed in [false, true] {
        let scene = Scene::start([("a", Script::tools(&["t"]))]);
        scene.catalog.settled(ms(10)).await;
        tokio::time::sleep(ms(5_000)).await;
        let (a, seen) = (scene.fake("a"), scene.catalog.generation(&View::All));
        a.follow(Script::tools(&[]));
        match flushed {
            true => assert_eq!(scene.catalog.flush(Some(&name("a"))), 1),
            false => a.signal.list_changed(ListKind::Tools),
        }
        scene.catalog.changed(&View::All, seen).await;
        assert_eq!(scene.names(&View::All).await, [""; 0]);
        assert_eq!(scene.status("a").state, DownstreamState::Ready);
    }
}

#[tokio::test(start_paused = true)]
async fn g11_g19_a_flush_makes_the_next_call_read_it_once_more() {
    let script = Script { page_delay: ms(100), ..Script::tools(&["t"]) };
    let scene = Scene::start([("a", script.clone()), ("b", script), ("dead", Script::failing("x"))]);
    scene.names(&View::All).await;
    scene.names(&View::All).await;
    let (a, b) = (scene.fake("a"), scene.fake("b"));
    assert_eq!((a.pulls(), b.pulls()), (1, 1), "G-19: two calls, one pull");
    tokio::time::sleep(ms(5_000)).await;

    a.follow(Script { page_delay: ms(100), ..Script::tools(&["new"]) });
    assert_eq!(scene.catalog.flush(Some(&name("a"))), 1);
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__new", "b__t"]);
    assert_eq!((begun.elapsed(), a.pulls(), b.pulls()), (ms(100), 2, 1));
    scene.names(&View::All).await;
    assert_eq!(a.pulls(), 2);

    assert_eq!(scene.catalog.flush(Some(&name("nobody"))), 0);
    assert_eq!(scene.catalog.flush(None), 2, "the one that is broken has no list to flush");
    scene.names(&View::All).await;
    assert_eq!((a.pulls(), b.pulls()), (3, 2));

    // A refresh that began before is not the one that was asked for.
    assert_eq!(scene.catalog.flush(Some(&name("a"))), 1);
    tokio::time::sleep(ms(50)).await;
    a.follow(Script { page_delay: ms(100), ..Script::tools(&["newer"]) });
    assert_eq!(scene.catalog.flush(Some(&name("a"))), 1);
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__newer", "b__t"]);
    assert_eq!((begun.elapsed(), a.pulls()), (ms(150), 5));
    scene.catalog.close().await;
    assert_eq!(scene.catalog.flush(None), 0, "nothing is read any more");
    let begun = Instant::now();
    scene.names(&View::All).await;
    assert_eq!(begun.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn a_flushed_list_that_cannot_be_read_is_shown_as_a_stale_one_after_the_budget() {
    let config = CatalogConfig { budget: ms(800), ..config() };
    let scene = Scene::with(config, [("a", Script::tools(&["t"]))], |_| {});
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    scene.fake("a").follow(Script { page_delay: ms(2_000), ..Script::tools(&["new"]) });
    scene.catalog.flush(None);
    let begun = Instant::now();
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    assert_eq!(begun.elapsed(), ms(800));
    assert_eq!(scene.remarks(&View::All).await, [("a".to_owned(), "ready", true, "stale")]);
    let seen = scene.catalog.generation(&View::All);
    scene.catalog.changed(&View::All, seen).await;
    assert_eq!((begun.elapsed(), scene.names(&View::All).await), (ms(2_000), vec!["a__new".to_owned()]));

    scene.fake("a").follow(Script::failing("x"));
    scene.catalog.flush(None);
    assert_eq!(scene.names(&View::All).await, ["a__new"], "a list that is old is better than none");
    let unreachable = ("a".to_owned(), "broken", true, "downstream_unreachable");
    assert_eq!(scene.remarks(&View::All).await, [unreachable]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_the_budget_however_often_lists_are_flushed() {
    let config = CatalogConfig { budget: ms(800), ..config() };
    let scene = Scene::with(config, [("a", Script::tools(&["t"])), ("b", Script::tools(&["u"]))], |_| {});
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(5_000)).await;
    scene.fake("a").follow(Script { page_delay: ms(60_000), ..Script::tools(&["new"]) });
    scene.catalog.flush(Some(&name("a")));
    let flushes = async {
        for _ in 0..5 {
            tokio::time::sleep(ms(300)).await;
            scene.catalog.flush(None);
        }
    };
    let begun = Instant::now();
    let listed = async {
        assert_eq!(scene.names(&View::All).await, ["a__t", "b__u"]);
        begun.elapsed()
    };
    assert_eq!(tokio::join!(listed, flushes).0, ms(800));
}

#[tokio::test(start_paused = true)]
async fn a_flush_during_a_refresh_is_answered_by_the_next_one() {
    let slow = |names| Script { page_delay: ms(100), ..Script::tools(names) };
    let scene = Scene::start([("a", slow(&["t"]))]);
    scene.catalog.settled(ms(1_000)).await;
    tokio::time::sleep(ms(5_000)).await;
    let a = scene.fake("a");
    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(100)).await;
    assert_eq!(a.pulls(), 2, "one is being read");
    a.follow(slow(&[]));
    scene.catalog.flush(None);
    tokio::time::sleep(ms(60)).await;
    assert!(scene.status("a").is_stale, "what has just been read is not what was asked for");
    assert_eq!(scene.names(&View::All).await, [""; 0], "an empty list after a flush is believed");
    assert_eq!((a.pulls(), scene.status("a").is_stale), (3, false));
}
