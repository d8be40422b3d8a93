//! How long, how often and how many at once.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use gateway_openapi::engine::{Override, RateLimit};
use http::Response;
use tokio::time::{Instant, advance, sleep};

use crate::{router::Router, shop::Shop};

const BASE: &str = "http://in.process";

#[tokio::test(start_paused = true)]
async fn a_call_takes_as_long_as_it_may_and_no_longer() {
    let own = |timeout| Override { timeout: Some(timeout), ..Override::default() };
    for (of_all, own, expected) in [
        (None, None, 30),
        (Some(5), None, 5),
        (Some(5), Some(own(Duration::from_secs(90))), 90),
        (None, Some(own(Duration::from_secs(1))), 1),
    ] {
        let shop = Shop::new(
            BASE,
            Router::new(|_| pending()),
            |_| {},
            |_, config| {
                config.timeout = of_all.map(Duration::from_secs);
                config.overrides.extend(own.map(|own| ("things".into(), own)));
            },
        );
        let begun = Instant::now();
        assert_eq!(shop.said().await, (format!("upstream call failed: no answer within {expected}s"), true));
        assert_eq!(begun.elapsed(), Duration::from_secs(expected));
    }
    // A time that no clock can hold is none.
    let router = Router::new(|_| async {
        sleep(Duration::from_secs(100_000)).await;
        Response::new(Bytes::from("at last"))
    });
    let shop = Shop::new(BASE, router, |_| {}, |_, config| config.timeout = Some(Duration::MAX));
    assert_eq!(shop.said().await, ("at last".to_owned(), false));
}

#[tokio::test(start_paused = true)]
async fn only_so_many_calls_are_under_way_at_once() {
    let router = Router::new(|_| async {
        sleep(Duration::from_secs(1)).await;
        Response::new(Bytes::from("ok"))
    });
    let shop = Shop::new(BASE, router, |_| {}, |_, config| config.max_concurrent = 2);
    let (one, two, three) = tokio::join!(shop.said(), shop.said(), shop.said());
    let ok = ("ok".to_owned(), false);
    assert_eq!((one, two), (ok.clone(), ok.clone()));
    assert_eq!(three, ("too many calls of this tool at once; the limit is 2".to_owned(), true));
    assert_eq!(shop.said().await, ok);
}

#[tokio::test(start_paused = true)]
async fn an_api_that_asks_to_be_left_alone_is() {
    for (status, retry_after, until_next) in [
        (429, "20", 20),
        (503, "20", 20),
        (503, "100000", 300),
        (429, "0", 0),
        (500, "20", 0),
        (200, "20", 0),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&count);
        let router = Router::new(move |_| {
            counting.fetch_add(1, Ordering::SeqCst);
            async move {
                let response = Response::builder().status(status).header("retry-after", retry_after);
                response.body(Bytes::from("later")).unwrap()
            }
        });
        let shop = Shop::new(BASE, router, |_| {}, |_, _| {});
        shop.call().await;
        if until_next > 0 {
            assert_eq!(shop.said().await, (format!("rate limited; try again in {until_next} s"), true));
            assert_eq!(count.load(Ordering::SeqCst), 1, "for {status}");
            advance(Duration::from_secs(until_next)).await;
        }
        shop.call().await;
        assert_eq!(count.load(Ordering::SeqCst), 2, "for {status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_have_limits_of_its_own() {
    let shop = Shop::new(
        BASE,
        Router::new(|_| async { Response::new(Bytes::from("x".repeat(99))) }),
        |_| {},
        |_, config| {
            let own = Override {
                rate_limit: Some(RateLimit { per_second: 1.0, burst: 2 }),
                max_response_bytes: Some(50),
                ..Override::default()
            };
            config.overrides.insert("GET /things".into(), own);
        },
    );
    assert!(shop.said().await.0.ends_with(" of 99 bytes shown]"));
    assert!(!shop.said().await.1);
    assert_eq!(shop.said().await, ("rate limited; try again in 1 s".to_owned(), true));
}
