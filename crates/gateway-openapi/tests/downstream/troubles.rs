//! An API that cannot be reached: its tools stay, and it is said so until it is back.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use gateway_domain::{Outcome, Subject};
use tokio::time::{Instant, sleep};

use crate::support::{Scene, call, get, listed, some_looks};

const REMARK: &str = "the API at https://api.example cannot be reached: connection refused";

fn down() -> Scene {
    let scene = Scene::new(vec![get("a")], |_| {});
    scene.api.is_down.store(true, Relaxed);
    scene
}

#[tokio::test(start_paused = true)]
async fn one_that_is_down_from_the_beginning_is_listed_with_a_remark_until_it_is_up() {
    let scene = down();
    let session = scene.open().await.unwrap();
    assert_eq!(listed(&session).await, (vec!["a".to_owned()], vec![REMARK.to_owned()]));
    assert_eq!(scene.observer.changes(), 1);
    session.ping().await.unwrap();
    sleep(Duration::from_secs(600)).await;
    let looks = scene.api.looks.load(Relaxed);
    assert!((40..=50).contains(&looks), "every 15 s in the end, {looks} times");
    assert_eq!(scene.observer.changes(), 0, "nothing new");
    scene.api.is_down.store(false, Relaxed);
    sleep(Duration::from_secs(16)).await;
    assert_eq!(scene.observer.changes(), 1);
    assert_eq!(listed(&session).await, (vec!["a".to_owned()], Vec::new()));
    let looks = scene.api.looks.load(Relaxed);
    some_looks().await;
    assert_eq!(scene.api.looks.load(Relaxed), looks, "one that is up is left alone");
}

#[tokio::test(start_paused = true)]
async fn a_ping_has_it_looked_at_and_is_answered_at_once() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let session = scene.open().await.unwrap();
    for (is_down, remarks) in [(true, vec![REMARK.to_owned()]), (false, vec![])] {
        scene.api.is_down.store(is_down, Relaxed);
        session.ping().await.unwrap();
        some_looks().await;
        assert_eq!(listed(&session).await.1, remarks);
        assert_eq!(scene.observer.changes(), 1);
    }
    scene.api.hangs.store(true, Relaxed);
    session.ping().await.unwrap();
    some_looks().await;
    session.ping().await.unwrap();
    assert_eq!(listed(&session).await.1, Vec::<String>::new(), "nothing is known");
}

#[tokio::test(start_paused = true)]
async fn opening_does_not_wait_long_for_an_api_that_hangs() {
    let scene = Scene::new(vec![get("a")], |_| {});
    scene.api.hangs.store(true, Relaxed);
    let begun = Instant::now();
    let session = scene.open().await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(3), "{:?}", begun.elapsed());
    let remark = "not known yet whether the API at https://api.example can be reached";
    assert_eq!(listed(&session).await, (vec!["a".to_owned()], vec![remark.to_owned()]));
    assert_eq!(scene.observer.changes(), 0);
    scene.api.hangs.store(false, Relaxed);
    call(&session, Subject::tool("a"), "{}").await.unwrap();
    assert_eq!(listed(&session).await, (vec!["a".to_owned()], Vec::new()));
    assert_eq!(scene.observer.changes(), 1, "the remark has gone");
}

#[tokio::test(start_paused = true)]
async fn calls_tell_as_much_as_looking_does() {
    let scene = Scene::new(vec![get("a")], |_| {});
    let session = scene.open().await.unwrap();
    for (is_down, remarks) in [(true, vec![REMARK.to_owned()]), (false, vec![])] {
        scene.api.is_down.store(is_down, Relaxed);
        let Ok(Outcome::Complete(result)) = call(&session, Subject::tool("a"), "{}").await else {
            panic!("E-29: it is a result")
        };
        assert_eq!(result.get("isError").and_then(|flag| flag.to_bool()).unwrap_or(false), is_down);
        if is_down {
            assert!(
                result.as_str().contains("upstream call failed: connection refused"),
                "{}",
                result.as_str()
            );
        }
        assert_eq!((listed(&session).await.1, scene.observer.changes()), (remarks, 1));
    }
}
