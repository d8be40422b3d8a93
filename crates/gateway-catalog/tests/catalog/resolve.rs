//! From the name a client was shown to the downstream's own.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway_catalog::{CatalogConfig, MemoryStore, Resolve, ToolFilter};
use gateway_domain::{
    Call, Caller, CallerError, ClientCapabilities, Dispatcher, DownstreamFault, DownstreamObserver, Era,
    Error, Exchange, Outcome, Params, RawObject, SessionKey, Subject, Target, View,
};
use tokio::time::Instant;

use crate::fake::{Lists, Opening, Scene, Script, config, define, ms, name, tools, view};

/// Keeps the targets it was given.
#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Arc<Mutex<Vec<Target>>>);

#[async_trait]
impl gateway_domain::Sessions for Recorder {
    async fn end(&self, _: &SessionKey) {}
}

#[async_trait]
impl Dispatcher for Recorder {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.0.lock().unwrap().push(call.target);
        Ok(Outcome::Complete(RawObject::empty()))
    }
}

fn call(target: Target) -> Call {
    let session = SessionKey::Legacy { id: "s".into() };
    let exchange = Exchange::quiet(Era::Modern, session, ClientCapabilities::none());
    Call {
        target,
        params: Params::empty(),
        follow_up: None,
        origin: None,
        caller: Caller::anonymous(),
        exchange,
    }
}

/// What reaches the next stage: downstream, own name, names of mirrored arguments.
async fn resolve(scene: &Scene, view: View, name: &str) -> Result<(String, String, Vec<String>), Error> {
    let recorder = Recorder::default();
    let targets = recorder.0.clone();
    let target = Target::Exposed { view, subject: Subject::tool(name) };
    Resolve::new(scene.catalog.clone(), recorder).dispatch(call(target)).await?;
    let target = targets.lock().unwrap().pop();
    let Some(Target::Downstream { downstream, subject: Subject::Tool { name, headers, .. } }) = target else {
        panic!("not resolved: {target:?}")
    };
    Ok((downstream.to_string(), name.to_string(), headers.iter().map(|h| h.name.to_string()).collect()))
}

fn found(downstream: &str, name: &str) -> Result<(String, String, Vec<String>), Error> {
    Ok((downstream.to_owned(), name.to_owned(), Vec::new()))
}

fn unknown(name: &str) -> Result<(String, String, Vec<String>), Error> {
    Err(CallerError::UnknownTool { name: name.to_owned() }.into())
}

/// The downstream's own error, for a call that has not run.
fn fails(downstream: &str, fault: DownstreamFault) -> Result<(String, String, Vec<String>), Error> {
    Err(fault.before(&name(downstream)))
}

fn unreachable(reason: &str) -> DownstreamFault {
    DownstreamFault::Unreachable { reason: reason.to_owned() }
}

const STARTING: &str = "it is starting and has not been listed yet";

#[tokio::test(start_paused = true)]
async fn calls_carry_the_original_name_and_the_mirrored_arguments() {
    let annotated =
        define(r#"{"name":"fly","inputSchema":{"properties":{"to":{"type":"string","x-mcp-header":"To"}}}}"#);
    let crowd = [tools(&["web query", "a__b", "caf\u{e9}"]), vec![annotated]].concat();
    let scene = Scene::start([("d", Script::lists(Lists::Pages(vec![crowd])))]);
    scene.catalog.settled(ms(100)).await;
    assert_eq!(resolve(&scene, View::All, "d__web_query_mg6v98").await, found("d", "web query"));
    assert_eq!(resolve(&scene, view("d"), "web query").await, found("d", "web query"));
    assert_eq!(resolve(&scene, view("d"), "a__b").await, found("d", "a__b"));
    assert_eq!(resolve(&scene, view("d"), "caf\u{e9}").await, found("d", "caf\u{e9}"));
    let flown = ("d".to_owned(), "fly".to_owned(), vec!["To".to_owned()]);
    assert_eq!(resolve(&scene, View::All, "d__fly").await, Ok(flown));
    for gone in ["d__web query", "d__a__b", "a__b", "fly", "d__", "__fly", "D__fly", ""] {
        assert_eq!(resolve(&scene, View::All, gone).await, unknown(gone));
    }
}

#[tokio::test(start_paused = true)]
async fn denied_hidden_and_unknown_are_the_same() {
    let scripts = [("d", Script::tools(&["ok", "denied"])), ("off", Script::tools(&["ok"]))];
    let scene = Scene::with(CatalogConfig::default(), scripts, |source| {
        source.filter = ToolFilter::new(&[], &["denied".into()]);
        source.enabled = source.name.as_str() == "d";
    });
    assert_eq!(resolve(&scene, View::All, "d__ok").await, found("d", "ok"));
    for (view, name) in [
        (View::All, "d__denied"),
        (View::All, "d__nothing"),
        (View::All, "off__ok"),
        (view("d"), "denied"),
        (view("off"), "ok"),
        (view("gone"), "ok"),
    ] {
        assert_eq!(resolve(&scene, view, name).await, unknown(name));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_before_the_downstream_is_there_waits_within_bounds() {
    let scripts = || {
        let soon = Script::tools(&["t"]).after(300);
        [("soon", soon), ("late", Script::tools(&["t"]).after(2_000)), ("never", Script::hanging())]
    };
    for (view, name, expected, waited) in [
        (View::All, "soon__t", found("soon", "t"), 300),
        // Whoever has the name is waited for, however long ago the others were ready.
        (View::All, "late__t", found("late", "t"), 2_000),
        (View::All, "never__t", fails("never", unreachable(STARTING)), 5_000),
        (view("soon"), "t", found("soon", "t"), 300),
        (View::All, "soon__u", unknown("soon__u"), 300),
        (View::All, "nobody__t", unknown("nobody__t"), 800),
        (view("never"), "t", fails("never", unreachable(STARTING)), 5_000),
        (view("gone"), "t", unknown("t"), 0),
    ] {
        let scene = Scene::start(scripts());
        let begun = Instant::now();
        assert_eq!(resolve(&scene, view.clone(), name).await, expected);
        assert_eq!(begun.elapsed(), ms(waited), "for {name} of {view:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_be_on_a_list_that_is_not_known_fails_with_its_downstream() {
    let opening = |opening| Script { opening, ..Script::tools(&["t"]) };
    let silent = Script { page_delay: ms(60_000), ..Script::tools(&["t"]) };
    let broken = DownstreamFault::Broken { retry_in: ms(2_500), reason: "exit status 1".into() };
    let handshake = DownstreamFault::Handshake { reason: "no".into() };
    for (script, after, expected) in [
        (Script::failing("refused"), 500, unreachable("refused")),
        (opening(Opening::Broken("exit status 1", 3_000)), 500, broken),
        (opening(Opening::FailsWith(handshake)), 500, unreachable("did not open a session: no")),
        (silent, 10_500, unreachable("did not answer within 10s")),
        (
            Script::panicking(),
            500,
            unreachable("reading its list panicked in the gateway (1 times so far); please report it"),
        ),
    ] {
        let scene = Scene::with(config(), [("d", script), ("ok", Script::tools(&["t"]))], |source| {
            source.filter = ToolFilter::new(&[], &["denied".into()]);
        });
        tokio::time::sleep(ms(after)).await;
        let begun = Instant::now();
        for (view, name) in [(View::All, "d__t"), (View::All, "d__denied"), (view("d"), "t"), (view("d"), "")]
        {
            assert_eq!(resolve(&scene, view, name).await, fails("d", expected.clone()), "for {name}");
        }
        assert_eq!(resolve(&scene, View::All, "ok__u").await, unknown("ok__u"), "a list that is known");
        assert_eq!(resolve(&scene, View::All, "d").await, unknown("d"), "nobody's name");
        assert_eq!(begun.elapsed(), ms(0), "nobody waits for what has failed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_hears_at_once_how_the_list_fares() {
    let elsewhere = |scene: &Scene, script| {
        let mut source = scene.add("d", script);
        source.address = "elsewhere".into();
        source
    };
    for (what, expected) in [
        ("fails", fails("d", unreachable("exit status 1"))),
        ("removed", unknown("d__t")),
        ("replaced", found("d", "t")),
        ("closed", fails("d", unreachable(STARTING))),
    ] {
        let fails = Script::failing("exit status 1").after(100);
        let scene = Scene::start([("d", if what == "fails" { fails } else { Script::hanging() })]);
        let change = async {
            tokio::time::sleep(ms(100)).await;
            match what {
                "fails" => {}
                "removed" => drop(scene.catalog.remove(&name("d")).await),
                "replaced" => scene.catalog.insert(elsewhere(&scene, Script::tools(&["t"]))).await,
                _ => scene.catalog.close().await,
            }
        };
        let begun = Instant::now();
        let (resolved, ()) = tokio::join!(resolve(&scene, View::All, "d__t"), change);
        assert_eq!((resolved, begun.elapsed()), (expected, ms(100)), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_replacement_a_name_is_unknown_only_by_the_new_list() {
    let (kept, gone) = ("address of d", "elsewhere");
    for (address, script, name, expected, waited) in [
        (kept, Script::tools(&["t", "new"]).after(300), "d__t", found("d", "t"), 0),
        (kept, Script::tools(&["t", "new"]).after(300), "d__new", found("d", "new"), 300),
        (kept, Script::tools(&["t", "new"]).after(300), "d__u", unknown("d__u"), 300),
        (kept, Script::failing("refused"), "d__u", fails("d", unreachable("refused")), 0),
        (gone, Script::tools(&["t"]).after(300), "d__t", found("d", "t"), 300),
        (gone, Script::hanging(), "d__t", fails("d", unreachable(STARTING)), 5_000),
        (gone, Script::failing("refused"), "d__t", fails("d", unreachable("refused")), 0),
    ] {
        let scene = Scene::start([("d", Script::tools(&["t"]))]);
        scene.catalog.settled(ms(10)).await;
        let mut source = scene.add("d", script);
        source.address = address.into();
        scene.catalog.insert(source).await;
        let begun = Instant::now();
        assert_eq!(resolve(&scene, View::All, name).await, expected, "{name} at {address}");
        assert_eq!(begun.elapsed(), ms(waited), "{name} at {address}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_from_before_is_known_whatever_became_of_its_downstream() {
    let store = Arc::new(MemoryStore::default());
    let start = |script| Scene::stored(config(), store.clone(), [("d", script)], |_| {});
    let scene = start(Script::tools(&["t"]));
    scene.catalog.settled(ms(10)).await;
    tokio::time::sleep(ms(1_000)).await;
    scene.fake("d").follow(Script::failing("refused"));
    scene.fake("d").signal.session_lost("refused");
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(resolve(&scene, View::All, "d__t").await, found("d", "t"));
    assert_eq!(resolve(&scene, View::All, "d__u").await, unknown("d__u"));

    let scene = start(Script::failing("refused"));
    scene.catalog.settled(ms(10)).await;
    assert_eq!(resolve(&scene, View::All, "d__t").await, found("d", "t"));
    assert_eq!(resolve(&scene, View::All, "d__u").await, unknown("d__u"), "it is in the store");
}

#[tokio::test(start_paused = true)]
async fn what_is_resolved_already_passes() {
    let scene = Scene::start([("never", Script::hanging())]);
    let recorder = Recorder::default();
    let targets = recorder.0.clone();
    let target = Target::Downstream { downstream: name("other"), subject: Subject::tool("t") };
    Resolve::new(scene.catalog.clone(), recorder).dispatch(call(target)).await.unwrap();
    let passed = targets.lock().unwrap().pop();
    assert!(matches!(passed, Some(Target::Downstream { downstream, .. }) if downstream == name("other")));
}
