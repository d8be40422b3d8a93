//! Which scopes things need is decided once it is known what they are.

use std::sync::{Arc, Mutex};

use gateway_catalog::{Profile, Resolve, ToolFilter};
use gateway_domain::{
    Act, Asker, Call, Caller, CallerError, Directory, Dispatcher, Error, FollowUp, Origin, RawObject,
    Reference, ScopeRules, State, Subject, Subscriptions, Target, TaskAct, View,
};

use crate::{
    fake::{Scene, exchange, ms, name, view},
    rules::{Words, script, user},
    uris::{Told, World, call_of, completion, prompt, resource},
};

/// One name that needs scopes, and what was asked.
#[derive(Default)]
struct Locked(Mutex<&'static str>, Mutex<Vec<Act>>);

impl ScopeRules for Locked {
    fn missing(&self, _: &Caller, act: Act, names: &[&str]) -> Option<Vec<String>> {
        self.1.lock().unwrap().push(act);
        names.contains(&*self.0.lock().unwrap()).then(|| vec!["s".to_owned()])
    }
}

fn scene(locked: &Arc<Locked>) -> Scene {
    let desk = Profile {
        name: name("desk"),
        downstreams: Vec::new(),
        tools: ToolFilter::default(),
        renames: [("d__open".to_owned(), "opened".to_owned())].into(),
        workflows: Vec::new(),
        instructions: None,
    };
    Scene::built(
        [("d", script())],
        |_| {},
        |builder| builder.with_scopes(locked.clone()).with_profiles(vec![desk]),
    )
}

fn lacking() -> Error {
    CallerError::InsufficientScope { scopes: vec!["s".to_owned()] }.into()
}

#[tokio::test(start_paused = true)]
async fn by_whatever_name_something_is_called_it_needs_its_scopes() {
    let locked = Arc::new(Locked::default());
    let scene = scene(&locked);
    scene.catalog.settled(ms(100)).await;
    let prompt_of = |name: &str| Subject::Completion(Reference::Prompt(name.into()));
    let desk = || View::Profile(name("desk"));
    let task = || Subject::Task { id: "t".into(), act: TaskAct::Get, tool: None };
    let other = || Subject::Other { method: "x/y".into() };
    for (locks, act, on, subject) in [
        ("d__open", Act::Call, View::All, Subject::tool("d__open")),
        ("d__open", Act::Call, view("d"), Subject::tool("open")),
        ("d__open", Act::Call, desk(), Subject::tool("opened")),
        ("d__open", Act::Get, View::All, prompt("d__open")),
        ("d__open", Act::Get, view("d"), prompt("open")),
        ("d__open", Act::Complete, view("d"), prompt_of("open")),
        ("x:open", Act::Read, View::All, resource("x:open")),
        ("x:open", Act::Read, View::All, resource("x:d__open")),
        ("x:open", Act::Read, desk(), resource("x:d__open")),
        ("x:d__open", Act::Read, view("d"), resource("x:open")),
        ("d__x:open", Act::Read, View::All, resource("x:open")),
        ("y:1", Act::Read, View::All, resource("y:1")),
        ("y:d__1", Act::Read, View::All, resource("y:1")),
        ("x:open/{a}", Act::Complete, View::All, completion("x:d__open/{a}")),
        ("x:open/{a}", Act::Complete, view("d"), completion("x:open/{a}")),
        ("d__", Act::Call, view("d"), task()),
        ("x/y", Act::Other, view("d"), other()),
        ("d__x/y", Act::Other, view("d"), other()),
    ] {
        let world = World::default();
        let resolve = Resolve::new(scene.catalog.clone(), world.clone());
        let call = || call_of(&user(), on.clone(), subject.clone());
        *locked.0.lock().unwrap() = locks;
        let row = format!("{locks}: {subject:?} on {on:?}");
        locked.1.lock().unwrap().clear();
        assert_eq!(resolve.dispatch(call()).await.map(drop), Err(lacking()), "{row}");
        assert!(world.heard().is_empty(), "{row}");
        assert_eq!(*locked.1.lock().unwrap(), [act], "{row}");
        let origin = Some(Origin { workflow: "w".into(), run: "r".into(), step: "s".into() });
        assert!(resolve.dispatch(Call { origin, ..call() }).await.is_ok(), "{row}: a step");
        *locked.0.lock().unwrap() = "";
        assert!(resolve.dispatch(call()).await.is_ok(), "{row}: others");
    }
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_needs_its_scopes_again() {
    let locked = Arc::new(Locked::default());
    let scene = scene(&locked);
    scene.catalog.settled(ms(100)).await;
    let world = World::default();
    let resolve = Resolve::new(scene.catalog.clone(), world.clone());
    let follow_up = || FollowUp {
        asker: Asker::Downstream(name("d")),
        responses: RawObject::empty(),
        state: State::Afresh,
    };
    let task = Subject::Task { id: "t".into(), act: TaskAct::Get, tool: None };
    let given = Target::Downstream { downstream: name("d"), subject: task.clone() };
    for (locks, call) in [
        (
            "x:open",
            Call { follow_up: Some(follow_up()), ..call_of(&user(), View::All, resource("x:d__open")) },
        ),
        (
            "d__open",
            Call { follow_up: Some(follow_up()), ..call_of(&user(), view("d"), Subject::tool("open")) },
        ),
        ("d__", Call { target: given, ..call_of(&user(), View::All, task) }),
    ] {
        *locked.0.lock().unwrap() = locks;
        assert_eq!(resolve.dispatch(call.clone()).await.map(drop), Err(lacking()), "{locks}");
        *locked.0.lock().unwrap() = "";
        assert!(resolve.dispatch(call).await.is_ok(), "{locks}");
    }
    assert_eq!(world.heard().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_watched_needs_scopes_before_anybody_is_asked() {
    let locked = Arc::new(Locked::default());
    let scene = scene(&locked);
    scene.catalog.settled(ms(100)).await;
    for (locks, on, uri) in [
        ("x:open", View::All, "x:open"),
        ("x:open", View::All, "x:d__open"),
        ("x:open", view("d"), "x:open"),
        ("y:1", View::All, "y:1"),
        ("y:d__1", View::All, "y:1"),
    ] {
        let world = World::default();
        let resolve = Resolve::new(scene.catalog.clone(), world.clone());
        let subscribe = async || {
            let target = Target::Exposed { view: on.clone(), subject: resource(uri) };
            let (caller, updates) = (user(), Arc::new(Told::default()));
            resolve.subscribe(target, &caller, &exchange(&caller), updates).await.map(drop)
        };
        *locked.0.lock().unwrap() = locks;
        assert_eq!(subscribe().await, Err(lacking()), "{locks}: {uri} on {on:?}");
        assert!(world.heard().is_empty(), "{locks}: {uri} on {on:?}");
        *locked.0.lock().unwrap() = "";
        assert_eq!(subscribe().await, Ok(()), "{uri} on {on:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_hidden_is_as_missing_whatever_scopes_it_needs() {
    let locked = Arc::new(Locked::default());
    let rules = Words::of(&["allow * *", "deny * d__shut"]);
    let scene = Scene::built(
        [("d", script())],
        |_| {},
        |builder| builder.with_scopes(locked.clone()).with_decider(rules.clone()),
    );
    scene.catalog.settled(ms(100)).await;
    *locked.0.lock().unwrap() = "d__shut";
    let resolve = Resolve::new(scene.catalog.clone(), World::default());
    let call = call_of(&user(), View::All, Subject::tool("d__shut"));
    let unknown = CallerError::UnknownTool { name: "d__shut".into() };
    assert_eq!(resolve.dispatch(call).await.map(drop), Err(unknown.into()));
    assert_eq!(scene.catalog.missing_scopes(&user(), Act::Call, &["d__shut"]), Some(vec!["s".to_owned()]));
    assert_eq!(scene.catalog.missing_scopes(&user(), Act::Call, &["d__open"]), None);
}
