//! How often and how many at once.

use std::time::{Duration, Instant};

use gateway_testkit::client::Speaks;

use crate::{
    support::{Folder, Serving, fake, has, until},
    world::{Files as _, at, call, client, eras, good, json, kind},
};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_the_rate_is_told_when_to_come_again() {
    let rates = r#"
[rates]
per_caller_and_tool = { per_second = 0.01, burst = 2 }
tools = { "d__coun*" = { per_second = 0.01, burst = 1 } }
"#;
    for speaks in eras() {
        let config = [
            fake("d", &[]),
            client("a", "allow = [\"*\"]"),
            client("b", "allow = [\"*\"]"),
            rates.to_owned(),
        ];
        let serving = Serving::start(&Folder::with(&config.concat()), &[]);
        let [a, b] = [at(&serving, "a", speaks.clone()).await, at(&serving, "b", speaks.clone()).await];
        until("echo", &serving, async || has(&a, "d__echo").await).await;
        for client in [&a, &b] {
            good(&call(client, "d__echo", "{}").await);
            good(&call(client, "d__echo", "{}").await);
            let over = call(client, "d__echo", "{}").await;
            assert_eq!(
                (over.status, kind(&over).as_str()),
                (429, "rate_limited"),
                "{speaks:?}: {}",
                over.text
            );
            let retry: u64 = over.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=100).contains(&retry), "{retry}");
            // Another tool is another matter.
            good(&call(client, "d__add", r#"{"a":1,"b":2}"#).await);
        }
        // Of one tool for all.
        good(&call(&a, "d__counter", "{}").await);
        assert_eq!(call(&b, "d__counter", "{}").await.status, 429, "{speaks:?}");
        // Lists are no calls.
        assert!(has(&a, "d__echo").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_count_as_calls_do_once_each() {
    let rates = r#"
[rates]
per_caller = { per_second = 0.01, burst = 4 }
[audit]
sink = "file:audit.jsonl"
flush = { max_interval = "5ms" }
"#;
    for speaks in eras() {
        let config = [
            fake("d", &[]),
            client("a", "allow = [\"*\"]\ndeny = [\"d__add\"]"),
            client("b", "allow = [\"*\"]"),
            rates.to_owned(),
        ];
        let folder = Folder::with(&config.concat());
        let serving = Serving::start(&folder, &[]);
        let [a, b] = [at(&serving, "a", speaks.clone()).await, at(&serving, "b", speaks.clone()).await];
        until("echo", &serving, async || has(&a, "d__echo").await).await;
        good(&call(&a, "d__echo", "{}").await);
        for guess in ["d__nono", "d__add", "nobody__has"] {
            assert_eq!(kind(&call(&a, guess, "{}").await), "unknown_tool", "{speaks:?}: {guess}");
        }
        // Nobody's, denied, and there.
        for tool in ["d__more", "d__add", "d__echo"] {
            let over = call(&a, tool, "{}").await;
            assert_eq!((over.status, kind(&over).as_str()), (429, "rate_limited"), "{}", over.text);
            let retry: u64 = over.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=100).contains(&retry), "{retry}");
        }
        // It is nobody else's bucket.
        good(&call(&b, "d__echo", "{}").await);
        let file = folder.file("audit.jsonl");
        let lines = || std::fs::read_to_string(&file).unwrap_or_default();
        until("the records", &serving, async || lines().lines().count() >= 8).await;
        let records: Vec<_> = lines().lines().map(json).collect();
        assert_eq!(records.len(), 8, "{records:#?}");
        for record in &records[4..7] {
            assert_eq!(
                (&record["error"], &record["decision"]),
                (&"rate_limited".into(), &"denied_default".into()),
                "{record}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_more_than_may_run_waits_and_one_more_than_may_wait_is_refused() {
    let rates = "[rates]\nqueue = 1\nqueue_timeout = \"10s\"\nconcurrent = { per_tool = 1 }\n";
    for speaks in eras() {
        let serving = Serving::start(&Folder::with(&[&fake("d", &[]), rates].concat()), &[]);
        let client = at(&serving, "", speaks.clone()).await;
        until("sleep", &serving, async || has(&client, "d__sleep_ms").await).await;
        let begun = Instant::now();
        let slow = || call(&client, "d__sleep_ms", r#"{"ms":400}"#);
        let after = async |ms, work| {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            let answer: gateway_testkit::client::Answer = {
                let work: std::pin::Pin<Box<dyn Future<Output = _>>> = work;
                work.await
            };
            (answer, begun.elapsed())
        };
        let (first, second, third) = tokio::join!(
            after(0, Box::pin(slow())),
            after(100, Box::pin(slow())),
            after(200, Box::pin(slow()))
        );
        good(&first.0);
        good(&second.0);
        assert!(second.1 >= Duration::from_millis(800), "one after the other: {:?}", second.1);
        assert!(third.0.error().is_some(), "{speaks:?}: {}", third.0.text);
        assert!([429, 503].contains(&third.0.status), "{}", third.0.status);
        assert!(third.0.headers.contains_key("retry-after"));
        assert!(third.1 < Duration::from_millis(390), "refused at once: {:?}", third.1);
        good(&call(&client, "d__echo", "{}").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_too_long_is_refused() {
    let rates = "[rates]\nqueue_timeout = \"100ms\"\nconcurrent = { per_downstream = 1 }\n";
    let serving = Serving::start(&Folder::with(&[&fake("d", &[]), rates].concat()), &[]);
    let client = at(&serving, "", Speaks::modern()).await;
    until("sleep", &serving, async || has(&client, "d__sleep_ms").await).await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        call(&client, "d__echo", "{}").await
    };
    let (slow, late) = tokio::join!(call(&client, "d__sleep_ms", r#"{"ms":600}"#), late);
    good(&slow);
    assert!([429, 503].contains(&late.status), "{} {}", late.status, late.text);
}
