//! Many who ask at the same time, and many downstreams.

use gateway_domain::{DownstreamObserver, ListKind, View};
use tokio::{task::JoinSet, time::Instant};

use crate::fake::{Scene, Script, ms, name};

const NAMES: [&str; 16] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"];

/// What 1,000 callers at the same time are shown, and how long the slowest waited in milliseconds.
async fn crowd(scene: &std::sync::Arc<Scene>) -> (usize, u128) {
    let (mut callers, begun) = (JoinSet::new(), Instant::now());
    for _ in 0..1_000 {
        let scene = scene.clone();
        callers.spawn(async move { scene.names(&View::All).await.len() });
    }
    let shown = callers.join_all().await;
    assert!(shown.iter().all(|tools| *tools == shown[0]), "all are shown the same");
    (shown[0], begun.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn g2_g7_gw4_a_thousand_callers_are_one_pull_per_downstream() {
    let slow = || Script { page_delay: ms(50), ..Script::tools(&["t", "u"]) };
    let scripts = NAMES.map(|name| (name, if name == "p" { Script::hanging() } else { slow() }));
    let scene = std::sync::Arc::new(Scene::start(scripts));
    assert_eq!(crowd(&scene).await, (30, 550), "cold: all but the silent one, at the same time");
    assert_eq!(crowd(&scene).await, (30, 0), "warm: nothing is waited for");
    let pulls = |name| scene.fake(name).pulls();
    assert!(NAMES.iter().all(|name| pulls(name) == usize::from(*name != "p")));

    // Expired, flushed and emptied lists are read once too.
    assert_eq!(scene.catalog.flush(None), 15);
    let (shown, waited) = crowd(&scene).await;
    assert_eq!((shown, waited), (30, 50), "the silent one has no list, and is not waited for again");
    assert!(NAMES[..15].iter().all(|name| pulls(name) == 2));
    scene.fake("a").follow(Script { page_delay: ms(50), ..Script::tools(&[]) });
    scene.fake("a").signal.list_changed(ListKind::Tools);
    tokio::time::sleep(ms(2_000)).await;
    let before = pulls("a");
    assert_eq!(crowd(&scene).await, (28, 50));
    assert_eq!(pulls("a"), before + 1);
    assert!(NAMES[1..15].iter().all(|name| pulls(name) == 2));
    assert_eq!(scene.status("p").name, name("p"));
}
