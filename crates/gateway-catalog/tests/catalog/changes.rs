//! Downstreams that come, change and go while the catalogue runs.

use std::sync::Arc;

use gateway_catalog::ToolFilter;
use gateway_domain::{Directory, DownstreamObserver, DownstreamState, ListKind, View};
use tokio::{task::JoinSet, time::Instant};

use crate::fake::{Scene, Script, config, ms, name, view};

#[tokio::test(start_paused = true)]
async fn one_that_is_added_is_listed_and_announced() {
    let scene = Scene::start([("b", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    let (seen, of_b) = (scene.catalog.generation(&View::All), scene.catalog.generation(&view("b")));
    let source = scene.add("a", Script::tools(&["t"]).after(300));
    assert!(!scene.catalog.has_view(&view("a")));
    let begun = Instant::now();
    scene.catalog.insert(source).await;
    assert!(scene.catalog.has_view(&view("a")));
    assert_eq!(begun.elapsed(), ms(0), "nobody waits for it here");
    assert_eq!(scene.names(&view("a")).await, ["t"], "who wants it waits for it");
    assert_eq!(scene.catalog.changed(&View::All, seen).await, seen + 1);
    assert_eq!(begun.elapsed(), ms(300));
    assert_eq!(scene.names(&View::All).await, ["a__t", "b__t"]);
    let states: Vec<_> = scene.catalog.downstreams().iter().map(|s| s.name.to_string()).collect();
    assert_eq!(states, ["a", "b"]);
    assert_eq!(
        (scene.catalog.generation(&view("b")), scene.fake("b").refreshes()),
        (of_b, 1),
        "b is left alone"
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_is_removed_is_gone_with_its_tools_its_view_and_its_task() {
    let scene = Scene::start([("a", Script::tools(&["t"])), ("b", Script::hanging())]);
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
    let (seen, of_a) = (scene.catalog.generation(&View::All), scene.catalog.generation(&view("a")));
    let (a, b) = (scene.fake("a"), scene.fake("b"));
    let waiting = Arc::strong_count(&b);
    assert!(scene.catalog.remove(&name("a")).await);
    assert!(scene.catalog.remove(&name("b")).await);
    assert!(!scene.catalog.remove(&name("a")).await, "there is none");
    assert_eq!(Arc::strong_count(&b), waiting - 1, "nobody waits for its session any more");
    assert_eq!(scene.catalog.changed(&View::All, seen).await, seen + 1);
    assert_ne!(scene.catalog.changed(&view("a"), of_a).await, of_a);
    assert_eq!((scene.names(&View::All).await, scene.catalog.downstreams().len()), (vec![], 0));
    assert!(!scene.catalog.has_view(&view("a")));
    assert!(scene.first(&view("a")).await.is_err());
    a.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(1_000_000)).await;
    assert_eq!(a.refreshes(), 1);

    // One of the same name is a new one; who missed that it was gone sees a change, before there is a list too.
    let source = scene.add("a", Script::hanging());
    scene.catalog.insert(source).await;
    assert!(scene.catalog.generation(&view("a")) > of_a);
    let source = scene.add("a", Script::tools(&["t"]));
    scene.catalog.insert(source).await;
    scene.catalog.settled(ms(10)).await;
    assert_eq!(scene.names(&view("a")).await, ["t"]);
    assert!(scene.catalog.generation(&view("a")) > of_a);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_what_is_not_there_any_more() {
    let flushed = Script { page_delay: ms(3_000), ..Script::tools(&["t"]) };
    for (script, starts) in [(Script::hanging(), true), (flushed, false)] {
        let scene = Scene::start([("a", script.clone()), ("b", Script::tools(&["t"]))]);
        if !starts {
            tokio::time::sleep(ms(4_000)).await;
            scene.catalog.flush(Some(&name("a")));
        }
        let begun = Instant::now();
        let removal = async {
            tokio::time::sleep(ms(100)).await;
            scene.catalog.remove(&name("a")).await
        };
        let (names, removed) = tokio::join!(scene.names(&View::All), removal);
        assert_eq!((names, removed, begun.elapsed()), (vec!["b__t".to_owned()], true, ms(100)), "{starts}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_at_the_same_address_shows_the_old_list_until_its_own_is_read() {
    let scene = Scene::start([("a", Script::tools(&["t", "denied"]))]);
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(1_000)).await;
    let old = scene.fake("a");
    let mut source = scene.add("a", Script::tools(&["new", "denied"]).after(400));
    source.filter = ToolFilter::new(&[], &["denied".into()]);
    let begun = Instant::now();
    scene.catalog.insert(source).await;
    assert_eq!(scene.names(&View::All).await, ["a__t"], "as far as it is still offered");
    assert_eq!(scene.remarks(&View::All).await, [("a".to_owned(), "starting", true, "starting")]);
    let seen = scene.catalog.generation(&View::All);
    scene.catalog.changed(&View::All, seen).await;
    assert_eq!((begun.elapsed(), scene.names(&View::All).await), (ms(400), vec!["a__new".to_owned()]));
    assert_eq!((scene.status("a").state, scene.fake("a").pulls()), (DownstreamState::Ready, 1));
    old.signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(10_000)).await;
    assert_eq!((old.refreshes(), scene.fake("a").refreshes()), (1, 1), "the old one is not listened to");
}

#[tokio::test(start_paused = true)]
async fn one_that_keeps_its_sessions_is_as_well_as_it_was() {
    let good = || Script::tools(&["t", "denied"]);
    let scripts = [("a", good()), ("dead", Script::failing("x")), ("own", good())];
    let scene = Scene::with(config(), scripts, |source| source.is_public = source.name.as_str() != "own");
    scene.catalog.settled(ms(10)).await;
    for text in ["a", "dead", "own"] {
        let signal = scene.fake(text).signal.clone();
        let mut source = scene.add(text, good().after(400));
        (source.signal, source.required, source.is_public) = (signal, true, text != "own");
        source.filter = ToolFilter::new(&[], &["denied".into()]);
        scene.catalog.insert(source).await;
    }
    let (a, dead, own) = (scene.status("a"), scene.status("dead"), scene.status("own"));
    assert_eq!((a.state, a.tools, a.required), (DownstreamState::Ready, 1, true));
    assert_eq!((dead.state, own.state), (DownstreamState::Broken, DownstreamState::Ready));
    assert_eq!(scene.names(&view("a")).await, ["t"]);
    assert_eq!(scene.remarks(&view("a")).await, [("a".to_owned(), "ready", true, "stale")]);
    tokio::time::sleep(ms(500)).await;
    assert_eq!(scene.remarks(&View::All).await, []);

    // Nothing has been listed for everybody yet.
    let signal = scene.fake("own").signal.clone();
    let mut source = scene.add("own", Script::hanging());
    source.signal = signal;
    scene.catalog.insert(source).await;
    assert_eq!(scene.status("own").state, DownstreamState::Starting);
}

#[tokio::test(start_paused = true)]
async fn gw13_at_another_address_the_old_list_goes_at_once() {
    let scene = Scene::start([("a", Script::tools(&["t"])), ("b", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    let seen = scene.catalog.generation(&View::All);
    let mut source = scene.add("a", Script::hanging());
    source.address = "elsewhere".to_owned();
    scene.catalog.insert(source).await;
    assert_ne!(scene.catalog.generation(&View::All), seen);
    assert_eq!(scene.names(&View::All).await, ["b__t"]);

    // Back at the first address: its list is read, not remembered.
    let source = scene.add("a", Script::tools(&["back"]));
    scene.catalog.insert(source).await;
    assert_eq!(scene.names(&View::All).await, ["a__back", "b__t"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_switched_off_shows_nothing() {
    let scene = Scene::start([("a", Script::tools(&["t"]))]);
    scene.catalog.settled(ms(10)).await;
    let mut source = scene.add("a", Script::tools(&["t"]));
    source.enabled = false;
    scene.catalog.insert(source).await;
    assert_eq!((scene.names(&View::All).await, scene.status("a").state), (vec![], DownstreamState::Disabled));
    assert!(!scene.catalog.has_view(&view("a")));
    tokio::time::sleep(ms(10_000)).await;
    assert_eq!(scene.fake("a").refreshes(), 0);
    let source = scene.add("a", Script::tools(&["t"]));
    scene.catalog.insert(source).await;
    assert_eq!(scene.names(&View::All).await, ["a__t"]);
}

#[tokio::test(start_paused = true)]
async fn changes_at_the_same_time_are_made_one_after_the_other() {
    let scene = Scene::start([("a", Script::tools(&["t"]))]);
    let sources: Vec<_> = ["a", "b", "c"].map(|name| scene.add(name, Script::tools(&["t"]))).into();
    let (again, keep) = (name("a"), scene.catalog.clone());
    let changes = sources.into_iter().map(|source| {
        let catalog = keep.clone();
        tokio::spawn(async move { catalog.insert(source).await })
    });
    for change in changes.collect::<Vec<_>>() {
        change.await.unwrap();
    }
    keep.remove(&again).await;
    assert_eq!(scene.names(&View::All).await, ["b__t", "c__t"]);
    scene.catalog.close().await;
    let source = scene.add("d", Script::tools(&["t"]));
    scene.catalog.insert(source).await;
    assert!(!scene.catalog.has_view(&view("d")), "nothing is begun once it is closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_there_in_the_end_is_listed_whatever_happened_before() {
    // With threads that run at the same time, unlike in paused time.
    let scene = Arc::new(Scene::start([("a", Script::tools(&["t"])), ("b", Script::tools(&["t"]))]));
    for round in 0..100 {
        let mut tasks = JoinSet::new();
        for turn in 0..6 {
            let scene = scene.clone();
            tasks.spawn(async move {
                match turn {
                    0 | 1 => drop(scene.catalog.remove(&name("a")).await),
                    2 => drop(scene.catalog.flush(None)),
                    3 => scene.fake("b").signal.list_changed(ListKind::Tools),
                    _ => scene.catalog.insert(scene.add("a", Script::tools(&["t"]))).await,
                }
                assert!(scene.names(&View::All).await.contains(&"b__t".to_owned()), "b is always there");
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        scene.catalog.insert(scene.add("a", Script::tools(&["u"]))).await;
        scene.catalog.flush(Some(&name("a")));
        scene.catalog.settled(ms(60_000)).await;
        let listed = async {
            while scene.names(&View::All).await != ["a__u", "b__t"] {
                tokio::time::sleep(ms(1)).await;
            }
        };
        let listed = tokio::time::timeout(ms(60_000), listed).await;
        assert!(listed.is_ok(), "in round {round}: {:?}", scene.names(&View::All).await);
    }
}
