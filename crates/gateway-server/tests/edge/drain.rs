use std::{sync::atomic::Ordering, time::Duration};

use tokio::net::TcpStream;

use crate::support::{start, until};

#[tokio::test]
async fn requests_in_flight_finish_and_new_connections_are_not_taken() {
    let mut server = start(|_| {}).await;
    let (world, client) = (server.world.clone(), server.modern());
    let legacy = server.legacy("2025-11-25").await;
    let (stop, addr) = (server.stop.take(), server.addr);
    let drain = async {
        world.reaches(&world.begun, 1).await;
        drop(stop);
        let refused = async {
            while TcpStream::connect(addr).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(2)).await
            }
        };
        tokio::time::timeout(Duration::from_secs(5), refused).await.expect("still accepting");
        world.go.notify_one();
    };
    let (answer, ()) = tokio::join!(client.call("1", "files__slow", "{}"), drain);
    assert!(answer.unwrap().result().is_some());
    assert!(server.served.await.unwrap());
    assert!(legacy.call("2", "files__echo", "{}").await.is_err());
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut_off() {
    let mut server = start(|config| config.limits.drain = Duration::from_millis(60)).await;
    let (world, client) = (server.world.clone(), server.modern());
    let stop = server.stop.take();
    let drain = async {
        world.reaches(&world.begun, 1).await;
        drop(stop);
    };
    let (answer, ()) = tokio::join!(client.call("1", "files__hang", "{}"), drain);
    assert!(answer.is_err());
    assert!(!server.served.await.unwrap());
    world.reaches(&world.dropped, 1).await;
}

#[tokio::test]
async fn a_call_that_its_legacy_client_has_left_is_waited_for_too() {
    let mut server = start(|_| {}).await;
    let (world, client) = (server.world.clone(), server.legacy("2025-11-25").await);
    tokio::select! {
        _ = client.call("1", "files__slow", "{}") => panic!("this call waits"),
        () = world.reaches(&world.begun, 1) => {}
    }
    drop(server.stop.take());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!server.served.is_finished());
    world.go.notify_one();
    assert!(server.served.await.unwrap());
    assert_eq!(world.finished.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn dropping_the_server_drops_what_it_does() {
    let server = start(|_| {}).await;
    let (world, client) = (server.world.clone(), server.modern());
    let (answer, ()) = tokio::join!(client.call("1", "files__hang", "{}"), async {
        world.reaches(&world.begun, 1).await;
        server.served.abort();
    });
    assert!(answer.is_err());
    until(|| world.dropped.load(Ordering::SeqCst) == 1).await;
}
