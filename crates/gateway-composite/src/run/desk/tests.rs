use std::{sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time::timeout};

use super::*;

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn ask(desk: &Arc<Desk>, label: &'static str, requests: &str) -> JoinHandle<RawObject> {
    let (desk, requests) = (desk.clone(), object(requests));
    tokio::spawn(async move { desk.ask(label, &requests).await })
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn questions_are_keyed_by_their_step_and_answers_as_the_step_keyed_them() {
    let desk = Arc::new(Desk::new());
    let one = ask(&desk, "a", r#"{"x":{"q":1},"y":{"q":2}}"#);
    settle().await;
    let other = ask(&desk, "loop[3]", r#"{"x":{"q":3}}"#);
    settle().await;
    let open = r#"{"a.x":{"q":1},"a.y":{"q":2},"loop[3].x":{"q":3}}"#;
    assert_eq!(desk.slips().requests().as_str(), open);
    desk.answer(&object(r#"{"a.y":"Y","x":"nobody's","loop[3].x":"X"}"#));
    assert_eq!(other.await.unwrap().as_str(), r#"{"x":"X"}"#);
    assert_eq!(desk.slips().requests().as_str(), r#"{"a.x":{"q":1}}"#);
    desk.answer(&object(r#"{"a.y":"too late","a.x":"X"}"#));
    assert_eq!(one.await.unwrap().as_str(), r#"{"x":"X","y":"Y"}"#);
    assert!(desk.slips().is_empty());
}

#[tokio::test]
async fn a_step_that_gives_up_takes_its_questions_back() {
    let desk = Arc::new(Desk::new());
    let gone = ask(&desk, "a", r#"{"x":1}"#);
    let stays = ask(&desk, "b", r#"{"x":2}"#);
    settle().await;
    gone.abort();
    let _ = gone.await;
    assert_eq!(desk.slips().requests().as_str(), r#"{"b.x":2}"#);
    desk.answer(&object(r#"{"a.x":0,"b.x":0}"#));
    assert_eq!(stays.await.unwrap().as_str(), r#"{"x":0}"#);
}

#[tokio::test]
async fn questions_under_one_label_are_told_apart() {
    let desk = Arc::new(Desk::new());
    let one = ask(&desk, "a", r#"{"x":1}"#);
    let other = ask(&desk, "a", r#"{"x":2}"#);
    settle().await;
    assert_eq!(desk.slips().requests().as_str(), r#"{"a.x":1,"a#1.x":2}"#);
    desk.answer(&object(r#"{"a#1.x":"other","a.x":"one"}"#));
    assert_eq!(one.await.unwrap().as_str(), r#"{"x":"one"}"#);
    assert_eq!(other.await.unwrap().as_str(), r#"{"x":"other"}"#);
}

#[tokio::test]
async fn sixteen_questions_are_open_at_once_and_others_wait_for_their_turn() {
    let desk = Arc::new(Desk::new());
    let many: Vec<_> = (0..20).map(|_| ask(&desk, "a", r#"{"x":1}"#)).collect();
    settle().await;
    assert_eq!(desk.slips().requests().len(), 16);
    many[0].abort();
    settle().await;
    assert_eq!(desk.slips().requests().len(), 16);
    for _ in 0..2 {
        let answers = desk.slips().requests();
        desk.answer(&answers);
        settle().await;
    }
    for (at, asked) in many.into_iter().enumerate() {
        assert_eq!(asked.await.is_ok(), at != 0);
    }
}

#[tokio::test(start_paused = true)]
async fn more_than_all_places_are_asked_alone() {
    let desk = Arc::new(Desk::new());
    let members: Vec<_> = (0..30).map(|at| format!(r#""{at}":0"#)).collect();
    let large: &str = &format!("{{{}}}", members.join(","));
    let small = ask(&desk, "small", r#"{"x":1}"#);
    settle().await;
    let large = ask(&desk, "large", large);
    settle().await;
    assert_eq!(desk.slips().requests().len(), 1);
    desk.answer(&object(r#"{"small.x":0}"#));
    small.await.unwrap();
    settle().await;
    let answers = desk.slips().requests();
    assert_eq!(answers.len(), 30);
    desk.answer(&answers);
    assert_eq!(timeout(Duration::from_secs(1), large).await.unwrap().unwrap().len(), 30);
}

#[tokio::test(start_paused = true)]
async fn who_asks_nothing_waits_for_nothing() {
    let desk = Desk::new();
    let answers = timeout(Duration::from_secs(1), desk.ask("a", &RawObject::empty())).await;
    assert!(answers.unwrap().is_empty());
}

#[tokio::test]
async fn who_was_asked_looks_again_when_there_is_nothing_left_or_something_else() {
    let desk = Arc::new(Desk::new());
    assert!(desk.slips().has_moved_on(&Shown::default()));
    let a = ask(&desk, "a", r#"{"x":1,"y":2}"#);
    settle().await;
    let shown = desk.slips().shown();
    assert!(!desk.slips().has_moved_on(&shown));
    let b = ask(&desk, "b", r#"{"x":3}"#);
    settle().await;
    assert!(!desk.slips().has_moved_on(&shown), "what only comes on top can wait");
    desk.answer(&object(r#"{"a.x":0}"#));
    assert!(desk.slips().has_moved_on(&shown), "one is answered, another has come");
    let shown = desk.slips().shown();
    b.abort();
    settle().await;
    assert!(!desk.slips().has_moved_on(&shown), "one of two is still open");
    desk.answer(&object(r#"{"a.y":0}"#));
    assert!(desk.slips().has_moved_on(&shown));
    a.await.unwrap();
    let _again = ask(&desk, "a", r#"{"x":1,"y":2}"#);
    settle().await;
    assert!(desk.slips().has_moved_on(&shown), "the same question once more is another");
}
