//! What happens to calls when records cannot be written (P-59, P-60, P-65, P-W9 to P-W11).

use gateway_domain::{
    Call, Caller, Decision, Dispatcher, DoorAudit as _, DoorRefusal, DownstreamFault, DownstreamName,
};
use tokio::time::timeout;
use tracing::Level;

use super::*;
use crate::testing::{Fake, Log, call, complete};

/// Answers tools by their names: `denied`, `redacted` and whatever else.
fn rules() -> Fake {
    Fake::now(|call| {
        let notes = &call.exchange.notes;
        match crate::ending::Purpose::of(crate::ending::subject(&call.target)).name {
            Some("denied") => {
                notes.decided(Decision::Denied);
                Err(unknown("denied"))
            }
            Some("redacted") => {
                notes.redacted(1);
                complete("{}")
            }
            _ => complete("{}"),
        }
    })
}

/// A stage whose sink hangs, with this many records of success in its queue.
async fn wedged(config: &AuditConfig, filled: usize) -> (AuditLog, Memory, Arc<Audit<Arc<Fake>>>, Arc<Fake>) {
    let (log, memory) = started(config);
    memory.wedge(true);
    let inner = Arc::new(rules());
    let stage = Arc::new(Audit::new(log.clone(), inner.clone()));
    for _ in 0..filled {
        stage.dispatch(call("fine")).await.unwrap();
    }
    // The writer has taken some of them, and hangs.
    sleep(100 * MILLI).await;
    (log, memory, stage, inner)
}

#[tokio::test(start_paused = true)]
async fn a_success_does_not_wait_for_a_wedged_sink_and_is_shed_beyond_the_mark() {
    let (log, memory, stage, _) = wedged(&room(4, 2), 0).await;
    let begun = Instant::now();
    for _ in 0..1000 {
        stage.dispatch(call("fine")).await.unwrap();
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(counts(&log), [0, 996, 0, 0]);
    memory.wedge(false);
    log.close().await;
    assert_eq!(counts(&log), [4, 996, 0, 0]);
    assert_eq!(memory.records().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn security_records_have_the_whole_queue_and_then_calls_are_refused_in_time() {
    let config = AuditConfig { security_wait: 250 * MILLI, ..room(4, 2) };
    let (log, memory, stage, inner) = wedged(&config, 10).await;
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(error(stage.dispatch(call("denied")).await), unknown("denied"));
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
    let made = inner.count();
    for name in ["denied", "redacted", "fine"] {
        let begun = Instant::now();
        assert_eq!(error(stage.dispatch(call(name)).await), unrecorded(false), "{name}");
        assert_eq!(begun.elapsed(), 250 * MILLI, "{name}");
    }
    assert_eq!(inner.count(), made, "P-W9: none of them was made");
    assert_eq!(counts(&log), [0, 6, 3, 0]);
    memory.wedge(false);
    sleep(100 * MILLI).await;
    stage.dispatch(call("fine")).await.unwrap();
    log.close().await;
    assert_eq!(counts(&log), [7, 6, 3, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_room_is_made_when_there_is_some() {
    let (log, memory, stage, _) = wedged(&room(1, 1), 1).await;
    error(stage.dispatch(call("denied")).await);
    let unwedge = async {
        sleep(200 * MILLI).await;
        memory.wedge(false);
    };
    let (result, ()) = tokio::join!(stage.dispatch(call("fine")), unwedge);
    result.unwrap();
    log.close().await;
    assert_eq!(counts(&log), [3, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_redactions_has_its_place_before_the_call_is_made() {
    let (log, memory, stage, _) = wedged(&room(4, 3), 10).await;
    for _ in 0..3 {
        stage.dispatch(call("redacted")).await.unwrap();
    }
    assert_eq!(error(stage.dispatch(call("redacted")).await), unrecorded(false));
    memory.wedge(false);
    log.close().await;
    assert_eq!(memory.text("redactions"), ["0", "0", "0", "0", "1", "1", "1"]);
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_hold_places_and_give_them_back() {
    let (log, _) = started(&AuditConfig { security_wait: 250 * MILLI, ..room(1, 1) });
    let slow = Fake::new(|_| async {
        sleep(1000 * MILLI).await;
        complete("{}")
    });
    let stage = Audit::new(log.clone(), slow);
    let third = async {
        sleep(MILLI).await;
        stage.dispatch(call("third")).await
    };
    let (first, second, third) =
        tokio::join!(stage.dispatch(call("first")), stage.dispatch(call("second")), third);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(error(third), unrecorded(false));
    for _ in 0..4 {
        assert!(timeout(MILLI, stage.dispatch(call("dropped"))).await.is_err());
        sleep(100 * MILLI).await;
    }
    stage.dispatch(call("after")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_do_not_keep_out_records_of_success() {
    let (log, memory) = started(&room(2, 3));
    memory.wedge(true);
    let hung = Audit::new(log.clone(), Fake::new(|_| std::future::pending()));
    let fine = Audit::new(log.clone(), rules());
    let calls = async {
        fine.dispatch(call("fine")).await.unwrap();
        fine.dispatch(call("fine")).await.unwrap();
    };
    tokio::select! {
        biased;
        _ = hung.dispatch(call("t")) => {}
        _ = hung.dispatch(call("t")) => {}
        () = calls => {}
    }
    assert_eq!(log.counts().shed, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_waits_for_room_is_counted() {
    let (log, _, stage, inner) = wedged(&room(1, 1), 1).await;
    error(stage.dispatch(call("denied")).await);
    let made = inner.count();
    assert!(timeout(MILLI, stage.dispatch(call("fine"))).await.is_err());
    assert_eq!((inner.count(), counts(&log)), (made, [0, 0, 1, 0]));
}

#[tokio::test(start_paused = true)]
async fn blocking_is_bounded_and_ends_with_room_or_the_log() {
    let config = AuditConfig { overflow: Overflow::Block(400 * MILLI), ..room(1, 5) };
    let (log, memory, stage, _) = wedged(&config, 1).await;
    let begun = Instant::now();
    stage.dispatch(call("fine")).await.unwrap();
    assert_eq!(begun.elapsed(), 400 * MILLI, "P-W11");
    assert_eq!(counts(&log), [0, 1, 0, 0]);
    assert!(timeout(MILLI, stage.dispatch(call("fine"))).await.is_err(), "its client is gone");
    assert_eq!(counts(&log), [0, 2, 0, 0]);
    let unwedge = async {
        sleep(100 * MILLI).await;
        memory.wedge(false);
    };
    let (result, ()) = tokio::join!(stage.dispatch(call("fine")), unwedge);
    result.unwrap();
    sleep(100 * MILLI).await;
    assert_eq!(counts(&log), [2, 2, 0, 0], "it waited and was written");
    memory.wedge(true);
    stage.dispatch(call("fine")).await.unwrap();
    sleep(100 * MILLI).await;
    let begun = Instant::now();
    let close = async {
        sleep(10 * MILLI).await;
        timeout(Duration::ZERO, log.close()).await
    };
    let (result, _) = tokio::join!(stage.dispatch(call("fine")), close);
    result.unwrap();
    assert_eq!(begun.elapsed(), 10 * MILLI, "a shutdown is not held up");
}

/// A call that is answered when the log has been closed.
async fn across_the_close(answer: fn(Call) -> Result<Outcome, Error>) -> (Result<Outcome, Error>, [u64; 4]) {
    let (log, _) = started(&AuditConfig::default());
    let closing = log.clone();
    let inner = Fake::new(move |call| {
        let closing = closing.clone();
        async move {
            closing.close().await;
            answer(call)
        }
    });
    (Audit::new(log.clone(), inner).dispatch(call("t")).await, counts(&log))
}

#[tokio::test]
async fn after_the_close_a_security_record_fails_the_call() {
    let (result, found) = across_the_close(|call| {
        call.exchange.notes.decided(Decision::Denied);
        Err(unknown("t"))
    })
    .await;
    assert_eq!((error(result), found), (unrecorded(false), [0, 0, 1, 0]));
    let (result, found) = across_the_close(|call| {
        call.exchange.notes.redacted(1);
        complete("{}")
    })
    .await;
    assert_eq!((error(result), found), (unrecorded(true), [0, 0, 1, 0]), "P-W9, P-W10");
    let files = || DownstreamName::parse("files").unwrap();
    for (executed, fault) in
        [(false, DownstreamFault::Closed.before(&files())), (true, DownstreamFault::Closed.during(&files()))]
    {
        let (log, _) = started(&AuditConfig::default());
        let closing = log.clone();
        let inner = Fake::new(move |call| {
            let (closing, fault) = (closing.clone(), fault.clone());
            async move {
                closing.close().await;
                call.exchange.notes.redacted(1);
                Err(fault)
            }
        });
        assert_eq!(error(Audit::new(log, inner).dispatch(call("t")).await), unrecorded(executed));
    }
    let (result, found) = across_the_close(|_| complete("{}")).await;
    assert!(result.is_ok(), "a success stands");
    assert_eq!(found, [0, 1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn no_call_begins_after_the_close() {
    let (log, _) = started(&AuditConfig::default());
    log.close().await;
    let inner = Arc::new(rules());
    let begun = Instant::now();
    let result = Audit::new(log.clone(), inner.clone()).dispatch(call("fine")).await;
    assert_eq!((error(result), inner.count()), (unrecorded(false), 0));
    assert_eq!((begun.elapsed(), counts(&log)), (Duration::ZERO, [0, 0, 1, 0]));
}

#[tokio::test(start_paused = true)]
async fn the_door_neither_waits_nor_takes_the_places_of_calls() {
    let (log, memory, stage, _) = wedged(&room(3, 1), 1).await;
    let told = Arc::new(Log::default());
    let _telling = tracing::subscriber::set_default(told.clone());
    let caller = Caller::anonymous();
    let refusal =
        DoorRefusal { caller: Some(&caller), peer: None, method: None, name: None, reason: "unauthorized" };
    for _ in 0..100 {
        log.refused(&refusal);
    }
    assert_eq!(counts(&log), [0, 0, 99, 0]);
    assert_eq!(told.of(Level::ERROR).len(), 1, "logged once");
    assert_eq!(error(stage.dispatch(call("denied")).await), unknown("denied"), "the reserve is untouched");
    memory.wedge(false);
    sleep(100 * MILLI).await;
    assert_eq!(told.of(Level::INFO).len(), 1, "and when it is over");
    memory.wedge(true);
    for _ in 0..100 {
        log.refused(&refusal);
        sleep(MILLI).await;
    }
    assert_eq!(told.of(Level::ERROR).len(), 2, "and when it begins again");
}

#[tokio::test(start_paused = true)]
async fn a_flood_at_the_door_leaves_records_of_success_their_places() {
    let (log, memory, stage, _) = wedged(&room(40, 2), 0).await;
    let refusal = DoorRefusal { caller: None, peer: None, method: None, name: None, reason: "unauthorized" };
    for _ in 0..10_000 {
        log.refused(&refusal);
    }
    for _ in 0..37 {
        stage.dispatch(call("fine")).await.unwrap();
    }
    assert_eq!(counts(&log), [0, 1, 9996, 0], "36 of 40 places were left to calls");
    memory.wedge(false);
    sleep(100 * MILLI).await;
    assert_eq!(counts(&log), [40, 1, 9996, 0]);
    log.refused(&refusal);
    log.close().await;
    assert_eq!(counts(&log), [41, 1, 9996, 0], "what is written makes room at the door again");
}
