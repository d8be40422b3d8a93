use std::{sync::Arc, time::Duration};

use gateway_domain::{DownstreamFault, Era, Execution, Factory, Session};

use crate::support::*;

#[tokio::test]
async fn nothing_is_left_after_close() {
    for switches in [
        "",
        "--ignore-eof",
        "--ignore-eof --ignore-term",
        "--grandchild",
        "--grandchild --ignore-eof",
        "--grandchild --ignore-eof --ignore-term",
        "--stop-reading --ignore-eof",
        "--stderr-flood unlimited --ignore-eof",
    ] {
        let marker = marker("left");
        let (factory, ear) = factory(config(&format!("{switches} --marker {marker}"), |_| {}));
        let session = factory.open(&profile(Era::Legacy)).await.unwrap();
        assert_eq!(processes(&marker).len(), if switches.contains("grandchild") { 2 } else { 1 });
        let begun = tokio::time::Instant::now();
        session.close().await;
        assert_eq!(processes(&marker), <[std::path::PathBuf; 0]>::default(), "for {switches}");
        assert!(begun.elapsed() < Duration::from_secs(3), "for {switches}: {:?}", begun.elapsed());
        assert!(!std::path::Path::new(&format!("/proc/{}", session.pid())).exists(), "it was not reaped");
        assert!(!session.is_open());
        assert!(ear.losses.lock().unwrap().is_empty(), "a close is no loss");
        let error = fault(call(&session, "echo", "{}").await);
        assert_eq!((error.fault, error.execution), (DownstreamFault::Closed, Execution::NotStarted));
    }
}

#[tokio::test]
async fn concurrent_closes_wait_for_the_same_end() {
    let marker = marker("concurrent");
    let switches = format!("--ignore-eof --ignore-term --marker {marker}");
    let session = Arc::new(open(Era::Modern, &switches).await);
    let closers: Vec<_> = (0..3)
        .map(|_| {
            let (session, marker) = (Arc::clone(&session), marker.clone());
            tokio::spawn(async move {
                session.close().await;
                processes(&marker).len()
            })
        })
        .collect();
    for closer in closers {
        assert_eq!(closer.await.unwrap(), 0);
    }
    session.close().await;
}

#[tokio::test]
async fn helpers_of_a_server_that_crashed_are_ended() {
    let marker = marker("crashed");
    let session = open(Era::Legacy, &format!("--grandchild --crash-on echo --marker {marker}")).await;
    let error = fault(call(&session, "echo", "{}").await);
    assert!(error.to_string().contains("killed by signal 6"), "{error}");
    until("the grandchild is gone", || processes(&marker).is_empty()).await;
    session.close().await;
}

#[tokio::test]
async fn a_dropped_session_ends_its_processes() {
    let marker = marker("dropped-session");
    drop(open(Era::Modern, &format!("--grandchild --ignore-eof --ignore-term --marker {marker}")).await);
    until("all are gone", || processes(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_dropped_opening_ends_its_processes() {
    let marker = marker("dropped-opening");
    let switches = format!("--silent --grandchild --ignore-eof --ignore-term --marker {marker}");
    let (factory, _) = factory(config(&switches, |_| {}));
    let profile = profile(Era::Modern);
    let wanted = || processes(&marker).len() == 2;
    tokio::select! {
        _ = factory.open(&profile) => panic!("a silent server opened a session"),
        () = until("both have started", wanted) => {}
    }
    until("all are gone", || processes(&marker).is_empty()).await;
}

#[test]
fn a_runtime_that_goes_down_takes_the_processes_with_it() {
    let marker = marker("runtime");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let switches = format!("--grandchild --ignore-eof --ignore-term --marker {marker}");
    let session = runtime.block_on(open(Era::Legacy, &switches));
    assert_eq!(processes(&marker).len(), 2);
    drop(runtime);
    let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    waiting.block_on(async {
        session.close().await;
        until("all are gone", || processes(&marker).is_empty()).await;
    });
}

/// Their time to end in order would be longer than the test waits.
#[test]
fn a_runtime_that_goes_down_right_behind_what_was_dropped_leaves_nothing() {
    type End = fn(tokio::runtime::Runtime);
    let ends: [(&str, End); 3] = [
        ("drop", drop),
        ("timeout", |runtime| runtime.shutdown_timeout(SOON)),
        ("background", tokio::runtime::Runtime::shutdown_background),
    ];
    for (how, end) in ends {
        let marker = marker(&format!("down-{how}"));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let switches = format!("--grandchild --ignore-eof --ignore-term --marker {marker}");
        let (opening, _) = factory(config(&format!("--silent {switches}"), |c| c.terminate = 9 * SOON));
        let (opened, _) = factory(config(&switches, |c| c.terminate = 9 * SOON));
        let both = || processes(&marker).len() == 4;
        runtime.block_on(async {
            let session = opened.open(&profile(Era::Legacy)).await.unwrap();
            let profile = profile(Era::Modern);
            tokio::select! {
                _ = opening.create(&profile) => panic!("a silent server opened a session"),
                () = until("all have started", both) => {}
            }
            drop(session);
        });
        end(runtime);
        let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        waiting.block_on(until("all are gone", || processes(&marker).is_empty()));
    }
}

#[tokio::test]
async fn what_was_given_up_can_be_waited_for() {
    let marker = marker("given-up");
    let switches = format!("--silent --grandchild --ignore-eof --ignore-term --marker {marker}");
    let (factory, _) = factory(config(&switches, |_| {}));
    factory.wound_up().await;
    let profile = profile(Era::Modern);
    let started = async {
        until("it has started", || processes(&marker).len() == 2).await;
        // One that is given up while it is being launched is killed on the spot.
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    tokio::select! {
        _ = factory.create(&profile) => panic!("a silent server opened a session"),
        () = started => {}
    }
    assert_eq!(processes(&marker).len(), 2, "it is not gone yet");
    factory.wound_up().await;
    assert!(processes(&marker).is_empty());
}
