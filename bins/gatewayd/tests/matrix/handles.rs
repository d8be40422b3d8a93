//! Handles that a client gave back changed, twice, late, or that are another's: refused, and no server hears of it.

use std::{sync::Arc, time::Duration};

use gateway_testkit::{
    Era,
    client::{
        Answer, HttpClient, Speaks,
        peer::{Manner, Peer},
    },
};
use serde_json::Value;

use crate::{cell::Wire, fake::Fake, gateway::Gateway, world::result};

/// Two callers in front of one server.
struct Scene {
    ada: Peer,
    bob: Peer,
    fake: Fake,
    gateway: Gateway,
    _folder: tempfile::TempDir,
}

const WAYS: [(Era, Wire); 4] = [
    (Era::Legacy, Wire::Http),
    (Era::Legacy, Wire::Stdio),
    (Era::Modern, Wire::Http),
    (Era::Modern, Wire::Stdio),
];

const CLIENTS: &str = "[clients.ada]\nkey = \"ada-0123456789abcdef\"\nallow = [\"*\"]\n[clients.bob]\nkey = \"bob-0123456789abcdef\"\nallow = [\"*\"]\n";
const TASKS: &str =
    r#"{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

impl Scene {
    async fn new((era, wire): (Era, Wire), speaks: &Speaks, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fake = Fake::new(wire, era, folder.path().join("record"), None, 0);
        let config = format!("{config}\n{CLIENTS}{}", fake.config("d"));
        std::fs::write(folder.path().join("gateway.toml"), config).unwrap();
        let gateway = Gateway::start(Wire::Http, folder.path()).await;
        let url = gateway.url().unwrap();
        let (ada, bob) = (peer(url, "ada", speaks).await, peer(url, "bob", speaks).await);
        for peer in [&ada, &bob] {
            let echoed = peer.tool("d__echo", "{}").await.unwrap();
            assert!(result(&echoed)["content"].is_array(), "{}\n{}", echoed.text, gateway.log());
        }
        Self { ada, bob, fake, gateway, _folder: folder }
    }

    /// Refused with this code, without a word to the server.
    async fn refused(&self, peer: &Peer, method: &str, params: &str, why: &str) {
        let before = self.fake.work().len();
        let answer = once(peer, method, params).await;
        assert_eq!(answer.error_code(), Some(-32602), "{why}: {}\n{}", answer.text, self.gateway.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
        let came = self.fake.work();
        assert_eq!(came.len(), before, "{why}: the server heard {:?}", &came[before..]);
    }
}

async fn peer(url: &str, name: &str, speaks: &Speaks) -> Peer {
    let key = format!("Bearer {name}-0123456789abcdef");
    let manner = Manner::willing(speaks.clone()).declaring(TASKS);
    let speaks = match speaks {
        Speaks::Modern(_) => Speaks::Modern(TASKS.to_owned()),
        legacy => legacy.clone(),
    };
    let client = HttpClient::new(url, speaks).unwrap().with_header("authorization", &key).declaring(TASKS);
    Peer::over(Arc::new(client), manner).await.unwrap()
}

/// One request, which is not come back to.
async fn once(peer: &Peer, method: &str, params: &str) -> Answer {
    peer.begin(method, params).await.unwrap().finish().await.unwrap()
}

const ANSWER: &str = r#"{"action":"accept","content":{"name":"Ada"}}"#;

/// The parameters that answer what `asked` asks, with this state.
fn retry(tool: &str, arguments: &str, asked: &Value, state: &str) -> String {
    let key = asked["inputRequests"].as_object().and_then(|all| all.keys().next()).unwrap();
    let state = Value::String(state.to_owned());
    format!(
        r#"{{"name":"{tool}","arguments":{arguments},"inputResponses":{{"{key}":{ANSWER}}},"requestState":{state}}}"#
    )
}

async fn asked(peer: &Peer) -> (Value, String) {
    let asked = result(&once(peer, "tools/call", r#"{"name":"d__ask_form","arguments":{}}"#).await);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let state = asked["requestState"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    (asked, state)
}

/// As it is, with one letter changed at the start, in the middle, at the end; cut; and none of ours.
fn altered(handle: &str) -> Vec<String> {
    let flip = |at: usize| {
        let mut letters: Vec<char> = handle.chars().collect();
        let at = at.min(letters.len() - 1);
        letters[at] = if letters[at] == 'A' { 'B' } else { 'A' };
        letters.into_iter().collect::<String>()
    };
    let middle = handle.len() / 2;
    let cut = handle[..handle.len() - 4].to_owned();
    vec![
        flip(0),
        flip(middle),
        flip(handle.len() - 5),
        cut,
        format!("{handle}AAAA"),
        String::new(),
        "x".to_owned(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_state_is_good_for_its_caller_its_request_and_its_server_only() {
    for way in WAYS {
        let scene = Scene::new(way, &Speaks::modern(), "").await;
        let (asked, state) = asked(&scene.ada).await;
        let with = |tool: &str, arguments: &str, state: &str| retry(tool, arguments, &asked, state);
        for bad in altered(&state) {
            let params = with("d__ask_form", "{}", &bad);
            scene.refused(&scene.ada, "tools/call", &params, &format!("{way:?} altered {bad}")).await;
        }
        let good = with("d__ask_form", "{}", &state);
        scene.refused(&scene.bob, "tools/call", &good, &format!("{way:?} another caller")).await;
        let other = with("d__ask_twice", "{}", &state);
        scene.refused(&scene.ada, "tools/call", &other, &format!("{way:?} another tool")).await;
        let other = with("d__ask_form", r#"{"more":1}"#, &state);
        scene.refused(&scene.ada, "tools/call", &other, &format!("{way:?} other arguments")).await;
        let prompt = with("d__personal", "{}", &state);
        scene.refused(&scene.ada, "prompts/get", &prompt, &format!("{way:?} another method")).await;
        let url = format!("{}/d", scene.gateway.url().unwrap());
        let elsewhere = peer(&url, "ada", &Speaks::modern()).await;
        let view = with("ask_form", "{}", &state);
        scene.refused(&elsewhere, "tools/call", &view, &format!("{way:?} another endpoint")).await;
        // None of this has used it up.
        let answer = once(&scene.ada, "tools/call", &good).await;
        assert!(result(&answer)["structuredContent"].to_string().contains("Ada"), "{way:?}: {}", answer.text);
        if way.0 == Era::Legacy {
            // Behind it was a call that waited, which is over.
            scene.refused(&scene.ada, "tools/call", &good, &format!("{way:?} a second time")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_state_expires() {
    for way in WAYS {
        let scene = Scene::new(way, &Speaks::modern(), "[questions]\ntime = \"1s\"").await;
        let (asked, state) = asked(&scene.ada).await;
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let late = retry("d__ask_form", "{}", &asked, &state);
        scene.refused(&scene.ada, "tools/call", &late, &format!("{way:?} late")).await;
        if way.0 == Era::Legacy {
            let answers = scene.fake.answers();
            assert_eq!(answers.len(), 1, "{way:?}: the server waits for ever");
            assert_eq!(answers[0]["action"], "cancel", "{way:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_id_is_good_for_its_caller_only() {
    for way in WAYS {
        let scene = Scene::new(way, &Speaks::modern(), "").await;
        let created =
            once(&scene.ada, "tools/call", r#"{"name":"d__slow_task","arguments":{"ms":60000}}"#).await;
        let id = result(&created)["taskId"].as_str().unwrap_or_else(|| panic!("{}", created.text)).to_owned();
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let of =
                |id: &str| format!(r#"{{"taskId":{},"inputResponses":{{}}}}"#, Value::String(id.to_owned()));
            scene.refused(&scene.bob, method, &of(&id), &format!("{way:?} {method} another caller")).await;
            for bad in altered(&id).iter().filter(|bad| !bad.is_empty()) {
                scene.refused(&scene.ada, method, &of(bad), &format!("{way:?} {method} {bad}")).await;
            }
            let inner = format!("task-{}-1", std::process::id());
            scene
                .refused(&scene.ada, method, &of(&inner), &format!("{way:?} {method} the server's own"))
                .await;
        }
    }
}

/// A cursor names a place in the caller's own list and nothing else, so that one that was altered can do no more than
/// name another place there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_shows_no_more_than_the_list_and_reaches_no_server() {
    for speaks in [Speaks::modern(), Speaks::legacy()] {
        let scene = Scene::new(WAYS[0], &speaks, "[lists]\npage_size = 2").await;
        let cursor = result(&once(&scene.ada, "tools/list", "{}").await)["nextCursor"].clone();
        let cursor = cursor.as_str().unwrap().to_owned();
        let of = |cursor: &str| format!(r#"{{"cursor":{}}}"#, Value::String(cursor.to_owned()));
        for bad in altered(&cursor) {
            let (before, lists) = (scene.fake.work().len(), scene.fake.saw("tools/list").len());
            let answer = once(&scene.ada, "tools/list", &of(&bad)).await;
            if answer.error_code() != Some(-32602) {
                let tools = result(&answer)["tools"].as_array().unwrap().clone();
                let own = |tool: &Value| tool["name"].as_str().is_some_and(|name| name.starts_with("d__"));
                assert!(tools.len() <= 2 && tools.iter().all(own), "{speaks:?} {bad}: {}", answer.text);
            }
            assert_eq!(scene.fake.work().len(), before, "{speaks:?} {bad}");
            assert_eq!(scene.fake.saw("tools/list").len(), lists, "{speaks:?} {bad}");
        }
        for bad in ["no such page", "\u{e9}"] {
            scene.refused(&scene.ada, "tools/list", &of(bad), &format!("{speaks:?} {bad:?}")).await;
        }
        let answer = once(&scene.ada, "tools/list", &of(&cursor)).await;
        assert!(result(&answer)["tools"].is_array(), "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_good_for_its_caller_only() {
    for way in WAYS {
        let scene = Scene::new(way, &Speaks::legacy(), "").await;
        let session = scene.ada.as_http().unwrap().session().unwrap();
        let bob = scene.bob.as_http().unwrap();
        let own = bob.session().unwrap();
        let mut bad = altered(&session);
        bad.push(session.clone());
        for id in bad.iter().filter(|id| !id.is_empty()) {
            bob.use_session(Some(id));
            let before = scene.fake.work().len();
            let answer = bob.call("77", "d__echo", "{}").await.unwrap();
            assert_eq!(answer.status, 404, "{way:?} {id}: {}", answer.text);
            assert_eq!(bob.listen().await.unwrap().status, 404, "{way:?} {id}");
            assert_eq!(bob.delete().await.unwrap().status, 404, "{way:?} {id}");
            assert_eq!(scene.fake.work().len(), before, "{way:?} {id}: the server heard of it");
        }
        bob.use_session(Some(&own));
        for (peer, id) in [(&scene.bob, "78"), (&scene.ada, "79")] {
            let answer = peer.as_http().unwrap().call(id, "d__echo", "{}").await.unwrap();
            assert!(answer.result().is_some(), "{way:?}: {}", answer.text);
        }
    }
}
