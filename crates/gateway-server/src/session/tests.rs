use std::time::Duration;

use gateway_domain::{Caller, DownstreamName};
use tokio::time::advance;

use super::*;
use crate::in_flight::Stopped;

fn principal(name: &str) -> Arc<Principal> {
    Principal::new(Caller::client(name))
}

fn table(limits: Limits) -> SessionTable {
    SessionTable::new(limits, Counter::default())
}

fn open(table: &SessionTable, principal: &Arc<Principal>) -> Arc<Session> {
    let (session, evicted) = table.open(principal, &View::All, Revision::V2025_11_25.into()).unwrap();
    if let Some(evicted) = evicted {
        evicted.end();
    }
    session
}

fn is_there(table: &SessionTable, session: &Session) -> bool {
    table.find(session.id(), &session.principal, &View::All).is_some()
}

#[tokio::test(start_paused = true)]
async fn ids_are_long_visible_and_different() {
    let (table, desk) = (table(Limits::default()), principal("desk"));
    let ids: std::collections::HashSet<_> = (0..100).map(|_| open(&table, &desk).id().to_owned()).collect();
    assert_eq!(ids.len(), 100);
    for id in ids {
        assert!(id.len() >= 22 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_there_only_for_its_caller_on_its_path() {
    let (table, desk, lab) = (table(Limits::default()), principal("desk"), principal("lab"));
    let session = open(&table, &desk);
    let files = View::Downstream(DownstreamName::parse("files").unwrap());
    assert!(table.find(session.id(), &desk, &View::All).is_some());
    assert!(table.find(session.id(), &lab, &View::All).is_none());
    assert!(table.find(session.id(), &desk, &files).is_none());
    assert!(table.find("x", &desk, &View::All).is_none());
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_expire_and_used_ones_do_not_until_their_life_is_over() {
    let (table, desk) = (table(Limits::default()), principal("desk"));
    let (idle, touched, busy) = (open(&table, &desk), open(&table, &desk), open(&table, &desk));
    let in_use = busy.enter();
    advance(Duration::from_secs(29 * 60)).await;
    drop(touched.enter());
    advance(Duration::from_secs(60)).await;
    assert_eq!([&idle, &touched, &busy].map(|s| is_there(&table, s)), [false, true, true]);
    assert_eq!(table.take_expired().len(), 1);
    assert_eq!(table.len(), 2);
    advance(Duration::from_secs(29 * 60)).await;
    assert_eq!([&touched, &busy].map(|s| is_there(&table, s)), [false, true]);
    advance(Duration::from_secs(24 * 60 * 60)).await;
    assert!(!is_there(&table, &busy), "the absolute lifetime holds for busy sessions too");
    drop(in_use);
    assert_eq!(table.take_expired().len(), 2);
    assert_eq!(desk.sessions.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_session_makes_room_and_busy_ones_never() {
    let limits = Limits { sessions_per_caller: 2, sessions: 3, ..Limits::default() };
    let (table, desk, lab) = (table(limits), principal("desk"), principal("lab"));
    let first = open(&table, &desk);
    advance(Duration::from_secs(1)).await;
    let second = open(&table, &desk);
    let other = open(&table, &lab);
    advance(Duration::from_secs(1)).await;
    drop(first.enter());

    // Over the caller's own limit: its own longest idle one goes, although others are as old.
    let third = open(&table, &desk);
    assert_eq!([&first, &second, &other, &third].map(|s| is_there(&table, s)), [true, false, true, true]);
    assert!(*second.ended().borrow());

    // Over the limit in all: whoever has been idle for longest.
    let fourth = open(&table, &lab);
    assert_eq!([&first, &other, &third, &fourth].map(|s| is_there(&table, s)), [true, false, true, true]);

    let _busy = [first.enter(), third.enter()];
    let full = table.open(&desk, &View::All, Revision::V2025_11_25.into());
    assert_eq!(full.err(), Some(Refusal::SessionsFull));
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_stream_at_a_time() {
    let session = open(&table(Limits::default()), &principal("desk"));
    let stream = session.stream().unwrap();
    assert_eq!(session.stream().err(), Some(Refusal::StreamTaken));
    drop(stream);
    assert!(session.stream().is_ok());
}

#[tokio::test(start_paused = true)]
async fn no_call_begins_in_a_session_that_has_ended() {
    let session = open(&table(Limits::default()), &principal("desk"));
    let id = gateway_protocol::RequestId::from(1);
    let before = session.calls().enter(&id).unwrap();
    session.end();
    assert_eq!(before.run(std::future::pending::<()>()).await, Err(Stopped::Ended));
    assert_eq!(session.calls().enter(&id).err(), Some(Refusal::SessionUnknown));
}

#[tokio::test(start_paused = true)]
async fn sessions_of_nobody_in_particular_are_bounded_in_all_only() {
    let limits = Limits { sessions_per_caller: 1, sessions: 2, ..Limits::default() };
    let table = table(limits);
    let anybody = &Principal::everybody();
    let first = open(&table, anybody);
    advance(Duration::from_secs(1)).await;
    let second = open(&table, anybody);
    assert_eq!([&first, &second].map(|s| is_there(&table, s)), [true, true]);
    let third = open(&table, anybody);
    assert_eq!([&first, &second, &third].map(|s| is_there(&table, s)), [false, true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_guesses_find_nothing() {
    let (table, desk) = (table(Limits::default()), principal("desk"));
    let sessions: Vec<_> = (0..50).map(|_| open(&table, &desk)).collect();
    let known: std::collections::HashSet<_> =
        sessions.iter().map(|session| session.id().to_owned()).collect();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut guesses = 0;
    // Each id with each of its characters replaced by each other one: as near as can be.
    for id in &known {
        for at in 0..id.len() {
            for other in alphabet {
                let mut guess = id.clone().into_bytes();
                guess[at] = *other;
                let guess = String::from_utf8(guess).unwrap();
                if !known.contains(&guess) {
                    guesses += 1;
                    assert!(table.find(&guess, &desk, &View::All).is_none(), "{guess} for {id}");
                }
            }
        }
        for guess in
            [&id[1..], &id[..id.len() - 1], "", &format!("{id} "), &format!("{id}="), &id.to_uppercase()]
        {
            assert!(table.find(guess, &desk, &View::All).is_none(), "{guess} for {id}");
        }
    }
    for _ in 0..20_000 {
        guesses += 1;
        assert!(table.find(&new_name().unwrap(), &desk, &View::All).is_none());
    }
    assert!(guesses >= 100_000, "{guesses}");
    assert!(sessions.iter().all(|session| is_there(&table, session)), "nothing has ended for that");
}
