//! Views under paths of their own.

use gateway_testkit::client::{HttpClient, Speaks};

use crate::{
    support::{Folder, Serving, fake, has, until},
    world::{at, call, client, connect, eras, good, tools},
};

const PROFILES: &str = r#"
[profiles.small]
downstreams = ["d"]
tools = { allow = ["d__e*", "d__add", "d__blob"], deny = ["d__e?d"] }
rename = { d__echo = "say" }
workflows = ["flow"]
instructions = "Say little."
[workflows.flow]
description = "Adds"
parameters = { type = "object" }
[[workflows.flow.steps]]
id = "one"
tool = "d__add"
arguments = { a = 1, b = 2 }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_has_what_it_selects_under_names_of_its_own() {
    // Rules go by the names on /mcp.
    let clients = [
        client("all", "allow = [\"*\"]"),
        client("some", "allow = [\"d__echo\", \"d__counter\", \"flow\"]"),
        client("fooled", "allow = [\"say\"]"),
    ];
    let config = [fake("d", &[]), fake("e", &[]), clients.concat(), PROFILES.to_owned()];
    let serving = Serving::start(&Folder::with(&config.concat()), &[]);
    let small = format!("{}/small", serving.url);
    let first = at(&serving, "all", Speaks::modern()).await;
    until("flow", &serving, async || has(&first, "flow").await && has(&first, "e__echo").await).await;
    for speaks in eras() {
        let all = connect(&small, "all", speaks.clone()).await;
        let mut names = tools(&all).await;
        names.sort();
        assert_eq!(names, ["d__add", "d__blob", "flow", "say"], "{speaks:?}");
        good(&call(&all, "say", r#"{"text":"x"}"#).await);
        good(&call(&all, "d__add", r#"{"a":1,"b":2}"#).await);
        good(&call(&all, "flow", "{}").await);
        for hidden in ["d__echo", "d__counter", "e__echo", "echo"] {
            let answer = call(&all, hidden, "{}").await;
            assert!(answer.error().is_some(), "{hidden} {speaks:?}: {}", answer.text);
        }
        let some = connect(&small, "some", speaks.clone()).await;
        assert_eq!(tools(&some).await, ["say"], "{speaks:?}");
        good(&call(&some, "say", "{}").await);
        assert!(call(&some, "d__add", r#"{"a":1,"b":2}"#).await.error().is_some());
        // Who may use nothing of it is told that there is no such path.
        let fooled = HttpClient::new(&small, speaks.clone())
            .unwrap()
            .with_header("authorization", &format!("Bearer {}", crate::world::key("fooled")));
        assert_eq!(call(&fooled, "say", "{}").await.status, 404, "{speaks:?}");
        let main = at(&serving, "all", speaks.clone()).await;
        assert!(has(&main, "d__echo").await && !has(&main, "say").await);

        // No key, no view; and paths that nobody has configured are none.
        let stranger = HttpClient::new(&small, speaks.clone()).unwrap();
        assert_eq!(call(&stranger, "say", "{}").await.status, 401);
        let lost = HttpClient::new(&format!("{}/smaller", serving.url), speaks.clone())
            .unwrap()
            .with_header("authorization", &format!("Bearer {}", crate::world::key("all")));
        assert_eq!(call(&lost, "say", "{}").await.status, 404, "{speaks:?}");
    }
    let said = connect(&small, "all", Speaks::legacy()).await.shake_hands().await.unwrap();
    assert!(said.text.contains("Say little."), "{}", said.text);
}

#[test]
fn a_profile_that_cannot_be_stops_the_start() {
    for (profile, expected) in [
        ("[profiles.d]\n", "a downstream has this name"),
        ("[profiles.p]\nrename = { d__echo = \"d__add\" }\n", "d__add"),
        ("[profiles.p]\nrename = { d__echo = \"x\", d__add = \"x\" }\n", "x"),
        ("[profiles.\"a/b\"]\n", "a/b"),
    ] {
        let folder = Folder::with(&[&fake("d", &[]), profile].concat());
        let output = folder.run(&["serve", "--listen", "127.0.0.1:0"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{profile}: {err}");
        assert!(err.contains(expected), "{profile}: {err}");
    }
}
