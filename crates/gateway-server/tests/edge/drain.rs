use std::{sync::atomic::Ordering, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{post, start, until};

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
async fn what_does_not_finish_in_time_is_told_so() {
    let mut server = start(|config| config.limits.drain = Duration::from_millis(60)).await;
    let (world, client) = (server.world.clone(), server.modern());
    let legacy = server.legacy("2025-11-25").await;
    let stop = server.stop.take();
    let drain = async {
        world.reaches(&world.begun, 3).await;
        drop(stop);
    };
    let streamed = r#"{"name":"files__progress_then_hang","_meta":{"progressToken":1}}"#;
    let (whole, stream, session, ()) = tokio::join!(
        client.call("1", "files__hang", "{}"),
        client.request("2", "tools/call", streamed),
        legacy.call("3", "files__hang", "{}"),
        drain
    );
    let (whole, stream, session) = (whole.unwrap(), stream.unwrap(), session.unwrap());
    assert_eq!([whole.status, stream.status, session.status], [503, 200, 200]);
    assert_eq!(stream.before.len(), 1);
    for (id, answer) in [("1", whole), ("2", stream), ("3", session)] {
        assert_eq!((answer.id().as_deref(), answer.error_code()), (Some(id), Some(-32603)));
        let data = r#""data":{"kind":"shutting_down","retryable":true,"may_have_executed":true}"#;
        assert!(answer.error().unwrap().contains(data), "{}", answer.text);
    }
    assert!(!server.served.await.unwrap());
    world.reaches(&world.dropped, 3).await;
}

#[tokio::test]
async fn a_client_that_does_not_hear_the_end_is_not_waited_for() {
    let mut server = start(|config| config.limits.drain = Duration::from_millis(60)).await;
    // A request whose body never comes is no call.
    let head =
        post(server.addr, "Expect: 100-continue\r\n", "").replace("Content-Length: 0", "Content-Length: 9");
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 64];
    assert!(stream.read(&mut answer).await.unwrap() > 0);
    drop(server.stop.take());
    let served = tokio::time::timeout(Duration::from_secs(4), server.served).await;
    assert!(!served.expect("still serving").unwrap());
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
