//! Every call is heard of, however it ends (E-28, E-W13).

use std::{future::pending, time::Duration};

use bytes::Bytes;
use gateway_domain::RawJson;
use gateway_openapi::{
    engine::{CallError, RateLimit},
    ir::{Location, Method, Param},
};
use http::Response;
use tokio::time::{advance, sleep, timeout};

use crate::{
    api::{Api, Step, answer},
    router::Router,
    shop::{Shop, said},
};

#[tokio::test(start_paused = true)]
async fn an_event_says_what_was_called_and_for_how_long() {
    let router = Router::new(|_| async {
        sleep(Duration::from_secs(7)).await;
        Response::new(Bytes::from("ok"))
    });
    let shop = Shop::new(
        "http://in.process",
        router,
        |_| {},
        |operation, _| {
            operation.path = "/things/{id}".into();
            operation.params = vec![Param::new("id", Location::Path)];
            operation.method = Method::Delete;
        },
    );
    shop.call_with(r#"{"id":"private"}"#).await;
    let event = shop.events().remove(0);
    assert_eq!(
        (event.operation_id.as_str(), event.method, event.path.as_str()),
        ("things", Method::Delete, "/things/{id}")
    );
    assert_eq!((event.status, event.error, event.duration), (200, None, Duration::from_secs(7)));
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_refused_are_heard_of_too() {
    let router = Router::new(|_| async { Response::new(Bytes::new()) });
    let shop = Shop::new(
        "http://in.process",
        router,
        |_| {},
        |_, config| {
            config.limit = RateLimit { per_second: 0.5, burst: 1 };
        },
    );
    shop.call().await;
    assert_eq!(shop.said().await, ("rate limited; try again in 2 s".to_owned(), true));
    advance(Duration::from_secs(2)).await;
    shop.call().await;
    let limited = "rate limited; try again in 2 s".to_owned();
    assert_eq!(shop.heard(), [(200, String::new()), (0, limited), (200, String::new())]);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_heard_of_and_not_sent() {
    let api = Api::that(answer(200, "", "")).await;
    let shop = Shop::at(&api.url(), |operation, _| {
        let schema = RawJson::parse(r#"{"type":"integer"}"#).ok();
        operation.params = vec![Param { schema, required: true, ..Param::new("n", Location::Query) }];
    });
    for (arguments, reason) in [("{}", "missing: n"), (r#"{"n":"x"}"#, "`n` must be integer")] {
        let (text, is_error) = said(&shop.call_with(arguments).await);
        assert_eq!((text.as_str(), is_error), (format!("invalid arguments: {reason}").as_str(), true));
        assert_eq!(shop.heard().pop(), Some((0, text)));
    }
    assert_eq!(api.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_is_heard_of_and_frees_its_place() {
    let router = Router::new(|_| pending());
    let shop = Shop::new("http://in.process", router, |_| {}, |_, config| config.max_concurrent = 1);
    for _ in 0..2 {
        assert!(timeout(Duration::from_secs(3), shop.call()).await.is_err());
    }
    for event in shop.events() {
        assert_eq!(
            (event.status, event.error, event.duration),
            (0, Some(CallError::Cancelled), Duration::from_secs(3))
        );
    }
    assert_eq!(shop.events().len(), 2);
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_its_connection() {
    let api = Api::that(vec![Step::Hang]).await;
    let shop = Shop::at(&api.url(), |_, _| {});
    assert!(timeout(Duration::from_millis(100), shop.call()).await.is_err());
    api.left(1).await;
    assert_eq!(shop.heard(), [(0, "the call was given up".to_owned())]);
}
