//! The peer and the fake with the whole protocol agree with each other and with the published schemas.
#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed")]

use std::time::Duration;

use gateway_testkit::{
    Era, MODERN, Profile,
    client::{
        Speaks,
        peer::{Manner, Peer, Said},
    },
    http::HttpFake,
    schema::{Writer, audit},
    stdio,
    transcript::{self, Line, Recording},
};

/// A fake and a peer in front of it.
struct Pair {
    peer: Peer,
    http: Option<HttpFake>,
    record: tempfile::TempDir,
}

impl Pair {
    async fn new(modern: bool, over_http: bool, manner: impl Fn(Speaks) -> Manner) -> Self {
        let (era, speaks) = match modern {
            true => (Era::Modern, Speaks::modern()),
            false => (Era::Legacy, Speaks::legacy()),
        };
        let record = tempfile::tempdir().unwrap();
        let manner = manner(speaks);
        if over_http {
            let fake = HttpFake::start(Profile { record: Recording::Kept, ..Profile::whole(era) });
            let peer = Peer::http(&fake.url(), manner).await.unwrap();
            return Self { peer, http: Some(fake), record };
        }
        let file = record.path().join("record");
        let era = if modern { "modern" } else { "legacy" };
        let argv = stdio::command(["--whole", "--era", era, "--record", file.to_str().unwrap()]);
        let mut command = tokio::process::Command::new(&argv[0]);
        command.args(&argv[1..]);
        let peer = Peer::stdio(command, manner).await.unwrap();
        Self { peer, http: None, record }
    }

    fn record(&self) -> Vec<Line> {
        match &self.http {
            Some(fake) => fake.transcript(),
            None => transcript::read(&self.record.path().join("record")),
        }
    }

    fn judge(&self, name: &str) {
        let revision = self.peer.revision();
        let peer = audit(&self.peer.transcript(), Writer::Server, &revision);
        assert!(peer.is_empty(), "{name}: the fake wrote {peer:#?}");
        let fake = audit(&self.record(), Writer::Client, &revision);
        assert!(fake.is_empty(), "{name}: the peer wrote {fake:#?}");
        assert!(self.peer.faults().is_empty(), "{name}: {:?}", self.peer.faults());
    }
}

const WAYS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

#[tokio::test(flavor = "multi_thread")]
async fn every_question_is_asked_answered_and_told() {
    let rows = [
        ("ask_form", 1, r#"{"name":"Ada"}"#),
        ("ask_url", 1, r#""consent":{"action":"accept"}"#),
        ("ask_twice", 2, r#"{"age":36}"#),
        ("ask_two", 2, "hello"),
        ("ask_stateless", 1, r#"{"name":"Ada"}"#),
        ("come_again", 0, "{}"),
        ("sample", 1, "hello"),
        ("sample_tools", 1, "toolUse"),
        ("roots", 1, "file:///home/ada"),
    ];
    for (modern, over_http) in WAYS {
        let pair = Pair::new(modern, over_http, Manner::willing).await;
        let mut asked = 0;
        for (tool, questions, told) in rows {
            let name = format!("{tool}, modern {modern}, http {over_http}");
            let answer = pair.peer.tool(tool, "{}").await.unwrap();
            assert!(answer.text.contains(told), "{name}: {}", answer.text);
            asked += questions;
            assert_eq!(pair.peer.asked().len(), asked, "{name}");
        }
        pair.judge(&format!("modern {modern}, http {over_http}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_declared_is_refused_and_what_is_refused_is_told() {
    for (modern, over_http) in WAYS {
        let name = format!("modern {modern}, http {over_http}");
        let pair = Pair::new(modern, over_http, Manner::mute).await;
        for tool in ["ask_form", "ask_url", "sample", "sample_tools", "roots"] {
            let answer = pair.peer.tool(tool, "{}").await.unwrap();
            match modern {
                true => assert_eq!(answer.error_code(), Some(-32021), "{name} {tool}: {}", answer.text),
                false => assert!(answer.text.contains(r#""isError":true"#), "{name} {tool}: {}", answer.text),
            }
        }
        pair.judge(&name);
        let pair = Pair::new(modern, over_http, |speaks| {
            Manner::willing(speaks).saying(|_| Said::Result(r#"{"action":"decline"}"#.to_owned()))
        })
        .await;
        let answer = pair.peer.tool("ask_form", "{}").await.unwrap();
        assert!(answer.text.contains("decline"), "{name}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_prompts_resources_and_completion() {
    let rows = [
        ("tools/list", "{}", "ask_form"),
        ("prompts/list", "{}", "greet"),
        ("resources/list", "{}", "note://one"),
        ("resources/templates/list", "{}", "note://{name}"),
        ("prompts/get", r#"{"name":"greet","arguments":{"name":"Ada"}}"#, "Greet Ada"),
        ("prompts/get", r#"{"name":"personal"}"#, "Ada"),
        ("prompts/get", r#"{"name":"nothing"}"#, "-32602"),
        ("resources/read", r#"{"uri":"note://one"}"#, r#""text":"one""#),
        ("resources/read", r#"{"uri":"note://personal"}"#, "Ada"),
        ("resources/read", r#"{"uri":"note://missing"}"#, "-32"),
        ("tools/call", r#"{"name":"everything"}"#, "resource_link"),
        ("tools/call", r#"{"name":"array"}"#, "two"),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}"#,
            r#"["Ada","Alan"]"#,
        ),
        ("vendor/echo", r#"{"say":"hi"}"#, r#""echo":"hi""#),
        ("vendor/nothing", "{}", "-32601"),
    ];
    for (modern, over_http) in WAYS {
        let name = format!("modern {modern}, http {over_http}");
        let pair = Pair::new(modern, over_http, Manner::willing).await;
        for (method, params, told) in rows {
            let answer = pair.peer.call(method, params).await.unwrap();
            assert!(answer.text.contains(told), "{name} {method} {params}: {}", answer.text);
        }
        pair.judge(&name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_reach_who_asked_for_them() {
    const FILTER: &str = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["note://one"]}"#;
    for (modern, over_http) in WAYS {
        let name = format!("modern {modern}, http {over_http}");
        let pair = Pair::new(modern, over_http, Manner::willing).await;
        let listening = match modern {
            true => Some(pair.peer.listen(FILTER).await.unwrap()),
            false => {
                pair.peer.open_stream().await.unwrap();
                pair.peer.call("resources/subscribe", r#"{"uri":"note://one"}"#).await.unwrap();
                None
            }
        };
        for (tool, method) in [
            ("touch_tools", "notifications/tools/list_changed"),
            ("touch_prompts", "notifications/prompts/list_changed"),
            ("touch_resources", "notifications/resources/list_changed"),
            ("update_resource", "notifications/resources/updated"),
        ] {
            pair.peer.tool(tool, "{}").await.unwrap();
            let heard = pair.peer.heard(method, Duration::from_secs(5), |_| true).await;
            assert!(heard.is_ok(), "{name} {method}: {heard:?}");
        }
        pair.peer.tool("update_resource", r#"{"uri":"note://two"}"#).await.unwrap();
        pair.peer.tool("echo", "{}").await.unwrap();
        assert_eq!(pair.peer.notifications("notifications/resources/updated").len(), 1, "{name}");
        pair.judge(&name);
        drop(listening);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_both_eras_run_ask_and_end() {
    for (modern, over_http) in WAYS {
        let name = format!("modern {modern}, http {over_http}");
        let pair = Pair::new(modern, over_http, |speaks| match modern {
            true => Manner::willing(speaks)
                .declaring(r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
            false => Manner::willing(speaks),
        })
        .await;
        let task = r#"{"name":"task_ask","task":{"ttl":60000}}"#;
        let created = pair.peer.call("tools/call", task).await.unwrap();
        let id = created.text.split(r#""taskId":""#).nth(1).unwrap().split('"').next().unwrap();
        let of = format!(r#"{{"taskId":"{id}"}}"#);
        let got = pair.peer.call("tasks/get", &of).await.unwrap();
        assert!(got.text.contains("input_required"), "{name}: {}", got.text);
        if modern {
            assert!(got.text.contains("inputRequests"), "{name}: {}", got.text);
            let answer = r#""inputResponses":{"name":{"action":"accept","content":{"name":"Ada"}}}"#;
            pair.peer.call("tasks/update", &format!(r#"{{"taskId":"{id}",{answer}}}"#)).await.unwrap();
            tokio::time::timeout(Duration::from_secs(5), async {
                while !pair.peer.call("tasks/get", &of).await.unwrap().text.contains("Ada") {}
            })
            .await
            .unwrap();
        } else {
            let result = pair.peer.call("tasks/result", &of).await.unwrap();
            assert!(result.text.contains("Ada"), "{name}: {}", result.text);
            let plain = pair.peer.tool("task_ask", "{}").await.unwrap();
            assert_eq!(plain.error_code(), Some(-32601), "{name}: {}", plain.text);
        }
        pair.judge(&name);
        assert_eq!(pair.peer.is_modern(), pair.peer.revision() == MODERN);
    }
}
