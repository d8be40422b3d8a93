//! C-79: tools that are kept for workflows. To clients they are as unknown as any other word.

use std::sync::Arc;

use gateway_catalog::{Resolve, Source, ToolFilter};
use gateway_domain::{
    Call, Caller, CallerError, Directory, Dispatcher, DownstreamObserver, Error, ListKind, Origin, Params,
    Subject, Target, View,
};

use crate::{
    fake::{Lists, Scene, Script, config, define, exchange, ms, names_on, tools, view},
    resolve::Recorder,
};

fn hides(source: &mut Source) {
    source.filter =
        ToolFilter::new(&[], &["denied".into()]).with_workflows(&["inner*".into(), "denied".into()]);
}

async fn scene() -> Scene {
    let scripts = [("d", Script::tools(&["inner", "outer", "denied"]))];
    let scene = Scene::with(config(), scripts, hides);
    scene.catalog.settled(ms(10)).await;
    scene
}

/// The downstream's own name that a call reaches, of a client or of a step of a workflow.
async fn call(
    scene: &Scene,
    view: View,
    caller: &Caller,
    is_inner: bool,
    name: &str,
) -> Result<String, Error> {
    let recorder = Recorder::default();
    let targets = recorder.0.clone();
    let target = Target::Exposed { view, subject: Subject::tool(name) };
    let (caller, exchange) = (caller.clone(), exchange(caller));
    let [workflow, run, step] = ["w", "run", "s"].map(Arc::from);
    let origin = is_inner.then_some(Origin { workflow, run, step });
    let call = Call { target, params: Params::empty(), follow_up: None, origin, caller, exchange };
    Resolve::new(scene.catalog.clone(), recorder).dispatch(call).await?;
    match targets.lock().unwrap().pop() {
        Some(Target::Downstream { subject: Subject::Tool { name, .. }, .. }) => Ok(name.to_string()),
        other => panic!("not resolved: {other:?}"),
    }
}

fn unknown(name: &str) -> Result<String, Error> {
    Err(CallerError::UnknownTool { name: name.to_owned() }.into())
}

fn is_inner_tool(scene: &Scene, view: &View, caller: &Caller, name: &str) -> bool {
    let origin = Origin::before(&"w".into());
    scene.catalog.inner_tool(view, caller, &exchange(caller).session, &origin, name).is_some()
}

#[tokio::test(start_paused = true)]
async fn a_hidden_tool_is_as_unknown_to_clients_as_one_that_is_not_there() {
    let (scene, anybody) = (scene().await, Caller::anonymous());
    assert_eq!(scene.names(&View::All).await, ["d__outer"]);
    assert_eq!(scene.names(&view("d")).await, ["outer"]);
    assert_eq!(scene.status("d").tools, 1, "what clients are offered is counted");
    for (view, name) in [(View::All, "d__inner"), (view("d"), "inner"), (View::All, "d__nothing")] {
        assert!(scene.tool(&view, name).is_none(), "{name}");
        assert_eq!(call(&scene, view, &anybody, false, name).await, unknown(name));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_denied_is_for_no_workflow_either() {
    let (scene, anybody) = (scene().await, Caller::anonymous());
    for (view, name) in [(View::All, "d__denied"), (view("d"), "denied"), (view("d"), "d__inner")] {
        assert!(!is_inner_tool(&scene, &view, &anybody, name), "{name}");
        assert_eq!(call(&scene, view, &anybody, true, name).await, unknown(name));
    }
}

#[tokio::test(start_paused = true)]
async fn a_workflow_reaches_hidden_tools_and_those_that_clients_are_shown() {
    let (scene, anybody) = (scene().await, Caller::anonymous());
    for (exposed, own) in [("d__inner", "inner"), ("d__outer", "outer")] {
        assert!(is_inner_tool(&scene, &View::All, &anybody, exposed), "{exposed}");
        assert!(is_inner_tool(&scene, &view("d"), &anybody, own), "{own}");
        assert_eq!(call(&scene, View::All, &anybody, true, exposed).await, Ok(own.to_owned()));
        assert_eq!(call(&scene, view("d"), &anybody, true, own).await, Ok(own.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn names_are_unique_among_shown_and_hidden_tools() {
    let scripts = [("d", Script::tools(&["inner x", "inner_x_89x4wd", "outer", "outer"]))];
    let scene = Scene::with(config(), scripts, hides);
    scene.catalog.settled(ms(10)).await;
    let status = scene.status("d");
    let [(alias, original)] = status.aliases.as_slice() else { panic!("{:?}", status.aliases) };
    assert_eq!(original, "inner x");
    assert_eq!(status.dropped.len(), 1, "the second `outer`");
    assert_eq!(call(&scene, View::All, &Caller::anonymous(), true, alias).await, Ok("inner x".to_owned()));
    assert_eq!(scene.names(&View::All).await, ["d__outer"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_hidden_tools_alone_is_a_change_where_workflows_are_and_nowhere_else() {
    let (scene, d) = (scene().await, View::Downstream(crate::fake::name("d")));
    let lists = |definition: &str| {
        let hidden = define(format!(r#"{{"name":"inner","description":"{definition}"}}"#));
        Script::lists(Lists::Pages(vec![[tools(&["outer"]), vec![hidden]].concat()]))
    };
    for (script, changes) in [
        (Script::tools(&["outer", "inner", "inner_2"]), true),
        (Script::tools(&["inner_2", "outer", "inner"]), false),
        (Script::tools(&["outer", "inner"]), true),
        (lists("one"), true),
        (lists("one"), false),
        (lists("two"), true),
        (Script::tools(&["outer"]), true),
    ] {
        let before = [&View::All, &d].map(|view| scene.catalog.generations(view));
        let page = scene.page(&View::All).await;
        let fake = scene.fake("d");
        fake.follow(script);
        let pulls = fake.pulls();
        fake.signal.list_changed(ListKind::Tools);
        while fake.pulls() == pulls {
            tokio::time::sleep(ms(100)).await;
        }
        tokio::time::sleep(ms(20_000)).await;
        let after = [&View::All, &d].map(|view| scene.catalog.generations(view));
        assert_eq!(after[0].tools > before[0].tools, changes);
        assert_eq!(
            (after[0].prompts, after[0].resources),
            (before[0].prompts, before[0].resources),
            "tools alone"
        );
        assert_eq!(after[1], before[1], "no workflow is on the view of one downstream");
        assert_eq!(scene.page(&View::All).await, page, "clients see no difference");
    }
}

#[tokio::test(start_paused = true)]
async fn another_filter_hides_and_shows_at_once() {
    let (scene, anybody) = (scene().await, Caller::anonymous());
    let seen = |name| scene.tool(&View::All, name).is_some();
    let mut source = scene.add("d", Script::hanging());
    source.filter = ToolFilter::default();
    scene.catalog.insert(source).await;
    assert!(seen("d__inner") && seen("d__outer"), "from the list that was read before");
    let mut source = scene.add("d", Script::hanging());
    source.filter = ToolFilter::default().with_workflows(&["*".into()]);
    scene.catalog.insert(source).await;
    assert!(!seen("d__inner") && !seen("d__outer"));
    assert!(is_inner_tool(&scene, &View::All, &anybody, "d__inner"));
    assert_eq!(call(&scene, View::All, &anybody, true, "d__inner").await, Ok("inner".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_workflow_reaches_only_what_its_own_caller_could_of_a_list_that_is_not_for_everybody() {
    let (root, user) = (Caller::client("root"), Caller::client("user"));
    let privileged = vec![(root.clone(), tools(&["inner_drop", "inner", "outer"]))];
    let scripts = [("p", Script { privileged, ..Script::tools(&["inner", "outer"]) })];
    let scene = Scene::with(config(), scripts, |source| {
        hides(source);
        source.is_public = false;
    });
    scene.catalog.settled(ms(10)).await;
    assert!(!is_inner_tool(&scene, &View::All, &user, "p__inner"), "it was shown nothing yet");
    for caller in [&root, &user] {
        assert_eq!(names_on(&scene.first_for(&View::All, caller).await.unwrap().items), ["p__outer"]);
        assert_eq!(call(&scene, View::All, caller, false, "p__inner").await, unknown("p__inner"));
        assert_eq!(call(&scene, View::All, caller, true, "p__inner").await, Ok("inner".to_owned()));
        assert!(is_inner_tool(&scene, &view("p"), caller, "inner"));
    }
    assert_eq!(call(&scene, View::All, &root, true, "p__inner_drop").await, Ok("inner_drop".to_owned()));
    assert_eq!(call(&scene, View::All, &user, true, "p__inner_drop").await, unknown("p__inner_drop"));
    assert!(!is_inner_tool(&scene, &View::All, &user, "p__inner_drop"));
}
